import {
  EventRecorder,
  KubeClient,
  LeaderElection,
  aborted,
  createLogger,
  logChanges,
  messageOf,
  type Logger,
} from "../runtime/index.js";
import { startHealthServer } from "../runtime/health.js";
import { parseVirtualNodeArguments, type VirtualNodeConfig } from "./arguments.js";
import { LiveState } from "./peer/live-state.js";
import { RemoteConnection } from "./peer/remote-connection.js";
import { ReflectionCounters } from "./reflection/reflection-counters.js";
import { startVirtualNode } from "./virtual-node.js";

/**
 * The virtual-node role: one process per VirtualNode, in the consumer's cluster. Resolves when it is told to end; rejects when a
 * lease is lost, as another process may then go on in its place.
 */
export async function runVirtualNode(argv: string[], signal: AbortSignal): Promise<void> {
  const config = parseVirtualNodeArguments(argv);
  const local = KubeClient.inCluster({ cluster: config.homeClusterId });
  await runVirtualNodeOf(config, local, createLogger("virtual-node"), signal);
}

/** As runVirtualNode, with everything that a process gets from its surroundings given. */
export async function runVirtualNodeOf(
  config: VirtualNodeConfig,
  local: KubeClient,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  signal.addEventListener("abort", () => ended.abort(), { once: true });
  let ready = false;
  const health = startHealthServer(() => ready, config.healthPort);

  logChanges(local.transport, logger);
  const connection = new RemoteConnection(local, config, logger);
  const state = new LiveState(local, config, logger);
  connection.start();
  const [remote] = await Promise.all([connection.whenReady(ended.signal), state.start(ended.signal)]);

  // Of several processes for one node, one works.
  const election = new LeaderElection(local, {
    namespace: config.tenantNamespace,
    name: config.nodeName,
    identity: config.podName,
    logger,
  });
  let lost = false;
  const onLost = (): void => {
    lost = true;
    ended.abort();
  };
  // One that waits for its turn is all that it can be: a roll-out goes on from there.
  const onStandby = (): void => {
    ready = true;
  };
  if (remote && (await election.acquire(ended.signal, onLost, onStandby))) {
    const recorder = new EventRecorder(local, "liqo-virtual-kubelet", logger);
    const counters = new ReflectionCounters();
    const metrics = await metricsServer(config, counters);
    const context = { config, local, remote, state, recorder, counters, logger };
    const virtualNode = await startVirtualNode(context, ended.signal, onLost);
    ready = true;
    logger.info({ node: config.nodeName, provider: config.foreignClusterId }, "virtual node started");
    await aborted(ended.signal);
    // A provider that is silent just now must not keep the process from giving its leases back before it is killed.
    remote.close();
    await virtualNode.stop();
    metrics?.close();
  }
  if (!lost)
    await election.release().catch((error: unknown) => logger.debug({ reason: messageOf(error) }, "lease kept"));
  health.close();
  await Promise.all([connection.stop(), state.stop()]);
  if (lost) throw new Error("another process has taken this node over");
}

/** Loaded only where it is wanted: most virtual nodes are small and many. */
async function metricsServer(
  config: VirtualNodeConfig,
  counters: ReflectionCounters,
): Promise<{ close(): unknown } | undefined> {
  if (!config.metricsAddress) return undefined;
  const { startMetricsServer } = await import("./metrics-server.js");
  return startMetricsServer(config.metricsAddress, config, counters);
}
