import type { Pod } from "kubernetes-types/core/v1";
import { Labels } from "../../../agent/api/labels.js";
import type { InstallInputs } from "../../../agent/install/inputs.js";
import { selectorOf } from "../../../agent/install/labels.js";
import { InstallNames } from "../../../agent/install/names.js";
import { findCondition } from "../../../agent/runtime/conditions.js";
import { DaemonSetResource, PodResource } from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isDeleting } from "../../../agent/runtime/metadata.js";
import { pause, type WaitContext } from "./waiting.js";

/** How long an uninstallation waits for what may never come (milliseconds). */
export interface Patience {
  /** The fabric where it does not run: a kubelet starts a process that was killed again within seconds. */
  fabricMs: number;
  /** The end of pods, if forced: those of nodes that are away never end. */
  podsMs: number;
}

export function patienceOf(force: boolean): Patience {
  return { fabricMs: force ? 15_000 : 60_000, podsMs: 15_000 };
}

/** Waits until the fabric runs on all its nodes, as nobody else takes off what it has set up there. Resolves to the nodes on which it does not come up in time. */
export async function nodesWithoutFabric(
  context: WaitContext,
  namespace: string,
  { fabricMs }: Patience,
): Promise<string[]> {
  const deadline = Date.now() + fabricMs;
  for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
    const nodes = await lackingNodes(context, namespace);
    if (nodes.length === 0 || Date.now() > deadline) return nodes;
    context.status(`waiting for the fabric, which takes off what it has set up, on ${nodes.join(", ")}`);
    await pause(wait, context.signal);
  }
}

/** What stays on such nodes, and how to take it off. */
export function fabricRemains(nodes: readonly string[], { image }: Pick<InstallInputs, "image">): string {
  const command = `kubectl debug node/NODE --image=${image} --profile=sysadmin --arguments-only -- fabric --cleanup`;
  return (
    `the fabric did not run on ${nodes.join(", ")}: links (liqo.*), routes, rules and the nftables table of the agent may have stayed there. A node that starts anew ` +
    `is rid of them, as is one that was only cut off once its kubelet ends the fabric's process; on any other one run: ${command}`
  );
}

async function lackingNodes({ client, signal }: WaitContext, namespace: string): Promise<string[]> {
  const daemonSet = await client.get(DaemonSetResource, { name: InstallNames.fabric, namespace }, signal);
  if (!daemonSet) return [];
  const pods = await podsOf(client, namespace, selectorOf("fabric"), signal);
  const lacking = pods
    .filter((pod) => !isReady(pod))
    .map(({ spec, metadata }) => spec?.nodeName ?? metadata?.name ?? "");
  const without = (daemonSet.status?.desiredNumberScheduled ?? 0) - pods.length;
  return [...lacking.sort(), ...(without > 0 ? [`${without} that have no pod of it`] : [])];
}

function isReady(pod: Pod): boolean {
  return findCondition(pod.status?.conditions, "Ready")?.status === "True" && !isDeleting(pod);
}

/**
 * Takes the installation's pods out of the API where they have not ended in time, while their owners are waited for: nobody confirms the end of those on nodes that are
 * away. Goes on until told to stop; a kubelet that comes back ends their processes in the ordinary way.
 */
export async function releasePods(
  context: WaitContext,
  namespace: string,
  { podsMs }: Patience,
  stop: AbortSignal,
): Promise<void> {
  const { client } = context;
  const signal = AbortSignal.any([context.signal, stop]);
  await pause(podsMs, signal);
  for (;;) {
    const pods = await podsOf(client, namespace, { [Labels.appPartOf]: "liqo" }, signal);
    for (const { metadata } of pods.filter(isDeleting)) {
      const { name = "", uid } = metadata ?? {};
      await client.delete(PodResource, { name, namespace }, { gracePeriodSeconds: 0, uid, signal });
    }
    await pause(1_000, signal);
  }
}

async function podsOf(
  client: KubeClient,
  namespace: string,
  labelSelector: Record<string, string>,
  signal: AbortSignal,
): Promise<Pod[]> {
  return (await client.list(PodResource, { namespace, labelSelector, signal })).items;
}
