import { LeaderElection, messageOf } from "../runtime/index.js";
import type { VirtualNodeContext } from "./context.js";
import { KubeletServer } from "./kubelet-api/kubelet-server.js";
import { NamespaceManager } from "./namespaces/namespace-manager.js";
import { NodeController } from "./node/node-controller.js";
import { EndedNodes } from "./pods/ended-nodes.js";
import { PodController } from "./pods/pod-controller.js";
import { EventReflector } from "./reflection/event-reflector.js";
import { NamespaceReflection } from "./reflection/namespace-reflection.js";
import { ServingCertificateManager, selfSignedCertificate } from "./serving-certificate/serving-certificate.js";

/** Elects, among all virtual nodes of one provider, the one that reflects what belongs to no node, and clears away what belonged to one that has ended. */
const REFLECTION_LEASE = "virtual-kubelet-leader-election";

/** A virtual node at work. */
export interface RunningVirtualNode {
  kubeletPort: number;
  stop(): Promise<void>;
}

/** Starts all parts of a virtual node. `onLost` is called when the right to reflect is lost. */
export async function startVirtualNode(
  context: VirtualNodeContext,
  signal: AbortSignal,
  onLost: () => void,
): Promise<RunningVirtualNode> {
  const { config, logger } = context;
  const namespaces = new NamespaceManager(context);
  const pods = new PodController(context, namespaces);
  const reflection = new NamespaceReflection(context);
  const endedNodes = new EndedNodes(context);
  const events = new EventReflector(
    context,
    (pair, kind, event) =>
      kind === "Pod"
        ? pods.podOfEvent(pair, event)
        : reflection.localObject(pair, kind, event.involvedObject.name ?? ""),
    { workers: config.reflection["event"]?.workers ?? 1, isBusy: () => pods.isBusy },
  );
  if (config.reflection["event"]?.workers !== 0) namespaces.add((pair) => events.open(pair));
  const certificate = selfSignedCertificate(config.nodeName, config.nodeIp);
  const server = new KubeletServer(context, namespaces, pods, certificate);
  const certificates = new ServingCertificateManager(context, (issued) => server.useCertificate(issued));
  const node = new NodeController(context);

  // Pods first: until their namespaces are known nothing is decided about them.
  await Promise.all([pods.start(), server.start()]);
  events.start();
  await namespaces.start();
  certificates.start();
  await node.start();

  const election = new LeaderElection(context.local, {
    namespace: config.tenantNamespace,
    name: REFLECTION_LEASE,
    identity: config.podName,
    logger,
  });
  const leading = lead(election, signal, onLost, async () => {
    await Promise.all([reflection.start(), endedNodes.start()]);
    namespaces.add((pair) => reflection.open(pair));
    namespaces.add((pair) => endedNodes.open(pair));
  });
  leading.catch((error: unknown) => {
    logger.error({ reason: messageOf(error) }, "reflection did not start");
    onLost();
  });

  return {
    kubeletPort: server.port,
    stop: async () => {
      await leading.catch(() => undefined);
      await Promise.all([node, certificates, server, events, pods].map((part) => part.stop()));
      await namespaces.stop();
      await Promise.all([reflection.stop(), endedNodes.stop()]);
      await election.release().catch((error: unknown) => logger.debug({ reason: messageOf(error) }, "lease kept"));
    },
  };
}

async function lead(
  election: LeaderElection,
  signal: AbortSignal,
  onLost: () => void,
  begin: () => Promise<void>,
): Promise<void> {
  if (await election.acquire(signal, onLost)) await begin();
}
