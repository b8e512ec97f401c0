import type { DaemonSet, Deployment } from "kubernetes-types/apps/v1";
import type { Pod } from "kubernetes-types/core/v1";
import { NamespaceOffloadingResource, NetworkResource, type Network } from "../../../agent/api/index.js";
import { Names } from "../../../agent/api/names.js";
import { InstallNames } from "../../../agent/install/names.js";
import { DaemonSetResource, DeploymentResource, PodResource } from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { messageOf } from "../../../agent/runtime/kube-error.js";
import { podsDenied } from "../../waits/pod-problems.js";
import { pause, waitForObjects, type WaitContext } from "./waiting.js";

const EXPLAIN_EVERY_MS = 3_000;

/** Waits until the agent works: controller up, webhooks answering, fabric on every node, ranges allocated, the API server's proxy up. */
export async function waitUntilReady(
  context: WaitContext,
  namespace: string,
  { networking, proxy }: { networking: boolean; proxy: boolean },
): Promise<void> {
  await whileExplaining(context, namespace, (explained) =>
    Promise.all([
      waitForObjects(explained, DeploymentResource, one(namespace, InstallNames.controller), (found) =>
        deploymentLacks(found, "the controller"),
      ),
      networking && waitForObjects(explained, DaemonSetResource, one(namespace, InstallNames.fabric), fabricLacks),
      proxy &&
        waitForObjects(explained, DeploymentResource, one(namespace, Names.proxy), (found) =>
          deploymentLacks(found, "the API server's proxy"),
        ),
    ]),
  );
  await Promise.all([
    waitForWebhooks(context, namespace),
    networking ? waitForObjects(context, NetworkResource, { namespace }, networksLack) : undefined,
  ]);
}

function one(namespace: string, name: string) {
  return { namespace, fieldSelector: `metadata.name=${name}` };
}

export function deploymentLacks([deployment]: Deployment[], what: string): string | undefined {
  if (!deployment) return `waiting for the Deployment of ${what}`;
  const { replicas = 1 } = deployment.spec ?? {};
  const {
    observedGeneration = 0,
    updatedReplicas = 0,
    availableReplicas = 0,
    replicas: all = 0,
  } = deployment.status ?? {};
  const isCurrent = observedGeneration >= (deployment.metadata?.generation ?? 0);
  if (isCurrent && updatedReplicas === replicas && availableReplicas >= replicas && all === replicas) return undefined;
  return `waiting for ${what}: ${isCurrent ? availableReplicas : 0} of ${replicas} available`;
}

export function fabricLacks([daemonSet]: DaemonSet[]): string | undefined {
  if (!daemonSet) return "waiting for the fabric's DaemonSet";
  const status = daemonSet.status;
  const isCurrent = (status?.observedGeneration ?? 0) >= (daemonSet.metadata?.generation ?? 0);
  const wanted = status?.desiredNumberScheduled ?? 0;
  const ready = Math.min(status?.numberReady ?? 0, status?.updatedNumberScheduled ?? 0);
  if (isCurrent && ready >= wanted) return undefined;
  return `waiting for the fabric: ready on ${isCurrent ? ready : 0} of ${wanted} nodes`;
}

export function networksLack(networks: Network[]): string | undefined {
  const waiting = networks.filter((network) => !network.status?.cidr).map((network) => network.metadata.name);
  if (networks.length > 0 && waiting.length === 0) return undefined;
  return `waiting for ranges to be allocated: ${waiting.join(", ") || "none there yet"}`;
}

/** Every few seconds adds to the status line what holds the pods up: an image that cannot be pulled is told at once, not at the time-out. */
async function whileExplaining(
  context: WaitContext,
  namespace: string,
  work: (context: WaitContext) => Promise<unknown>,
): Promise<void> {
  let line = "";
  const explain = async () => {
    const pods = await context.client.list(PodResource, { namespace, signal: context.signal });
    const denied = await podsDenied(context.client, { namespace }, context.signal);
    const causes = [...podTroubles(pods.items), ...denied];
    if (causes.length > 0) context.status(`${line} (${causes.join("; ")})`);
  };
  const status = (text: string) => {
    line = text;
    context.status(text);
  };
  const timer = setInterval(() => void explain().catch(() => undefined), EXPLAIN_EVERY_MS);
  try {
    await work({ ...context, status });
  } finally {
    clearInterval(timer);
  }
}

/** Why pods do not come up, in Kubernetes' own words. */
export function podTroubles(pods: Pod[]): string[] {
  const troubles = pods.flatMap((pod) => {
    const name = pod.metadata?.name ?? "";
    const unscheduled = pod.status?.conditions?.find(
      ({ type, status }) => type === "PodScheduled" && status === "False",
    );
    if (unscheduled) return [`pod ${name}: ${unscheduled.reason ?? ""} ${unscheduled.message ?? ""}`.trim()];
    return (pod.status?.containerStatuses ?? []).flatMap(({ state, lastState }) => {
      const waiting = state?.waiting;
      if (!waiting?.reason || ["ContainerCreating", "PodInitializing"].includes(waiting.reason)) return [];
      const ended = lastState?.terminated?.message?.trim().split("\n").at(-1);
      return [`pod ${name}: ${[waiting.reason, ended ?? waiting.message].filter(Boolean).join(", ")}`];
    });
  });
  return [...new Set(troubles)];
}

/** Asks, without changing anything, for an object that a webhook judges. */
async function waitForWebhooks(context: WaitContext, namespace: string): Promise<void> {
  for (let wait = 50; ; wait = Math.min(wait * 1.5, 1_000)) {
    try {
      await probeWebhook(context.client, namespace, context.signal);
      return;
    } catch (error) {
      context.signal.throwIfAborted();
      context.status(`waiting for the webhooks: ${messageOf(error)}`);
    }
    await pause(wait, context.signal);
  }
}

async function probeWebhook(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const object = NamespaceOffloadingResource.build({
    metadata: { name: Names.namespaceOffloading, namespace },
    spec: { clusterSelector: { nodeSelectorTerms: [] } },
  });
  await client.create(NamespaceOffloadingResource, object, { dryRun: true, signal });
}
