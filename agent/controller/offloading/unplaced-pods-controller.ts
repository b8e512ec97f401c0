import type { Node, Pod, Taint } from "kubernetes-types/core/v1";
import { Annotations, Labels, NamespaceOffloadingResource, Names, PodReasons } from "../../api/index.js";
import {
  Controller,
  findCondition,
  hasController,
  isDeleting,
  kubeTime,
  NodeResource,
  PodResource,
  type ReconcileResult,
} from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";
import { evictionDelayOf } from "../webhooks/eviction-delay.js";
import { isDaemonPod } from "./daemon-pod.js";
import { BY_NODE, offloadedPods, virtualClusterNodes } from "./informers.js";
import { unlessGone } from "./unless-gone.js";
import { evict } from "./virtual-node/drain.js";

/** How long other nodes come first after a pod has left one that had no room for it. */
const AVOIDED_MS = 300_000;
/** How soon a pod is asked to leave again that a disruption budget keeps. */
const BLOCKED_RETRY_MS = 30_000;

/**
 * On the consumer. Watches pods on virtual Nodes. Where a namespace asks for it, a pod that its provider has had no room for is evicted after that
 * time, so that its controller makes another (offloading specification, §6.5); its Node is tainted for a while before, so that the scheduler prefers
 * others. Pods without a controller stay: nobody would make them anew. Owns: that taint.
 */
export function unplacedPodsController(context: ControllerContext): Controller {
  const { client, informers, logger } = context;
  const nodes = virtualClusterNodes(context);
  const pods = offloadedPods(context);
  const offloadings = informers.for(NamespaceOffloadingResource);
  const events = context.recorder("namespaceoffloading-controller");

  async function reconcile(nodeName: string): Promise<ReconcileResult | void> {
    const node = nodes.get(nodeName);
    if (!node || isDeleting(node)) return;
    const waiting = pods.byIndex(BY_NODE, nodeName).flatMap((pod) => {
      const dueAt = evictionTimeOf(pod);
      return dueAt === undefined ? [] : [{ pod, dueAt }];
    });
    const now = Date.now();
    const due = waiting.filter(({ dueAt }) => dueAt <= now);
    // First the taint: the pods that follow are to find it.
    const avoidedUntil = await avoid(node, due.length > 0);
    const blocked = await Promise.all(due.map(({ pod }) => moveAway(pod)));
    const next = [
      ...waiting.flatMap(({ dueAt }) => (dueAt > now ? [dueAt] : [])),
      ...(blocked.includes("blocked") ? [now + BLOCKED_RETRY_MS] : []),
      ...(avoidedUntil === undefined ? [] : [avoidedUntil]),
    ];
    return next.length === 0 ? undefined : { requeueAfterMs: Math.max(1, Math.min(...next) - Date.now()) };
  }

  /** When a pod is to leave, in milliseconds since the epoch; undefined: it stays. */
  function evictionTimeOf(pod: Pod): number | undefined {
    const since = unplacedSince(pod);
    const offloading = offloadings.find(pod.metadata?.namespace ?? "", Names.namespaceOffloading);
    if (since === undefined || !offloading || isDeleting(offloading)) return undefined;
    const seconds = evictionDelayOf(offloading, Annotations.evictionAfterUnschedulable);
    if (seconds === undefined || seconds === "never" || !hasController(pod) || isDaemonPod(pod)) return undefined;
    return since + seconds * 1000;
  }

  async function moveAway(pod: Pod): ReturnType<typeof evict> {
    const result = await evict(client, pod);
    if (result === "leaving") {
      const reason = findCondition(pod.status?.conditions, "PodScheduled")?.message ?? pod.status?.message ?? "";
      const message = `evicted, so that it is made anew where there is room: ${reason}`;
      events.normal(PodResource, pod, "UnschedulableAtProvider", message);
    }
    return result;
  }

  /** Until when the Node is avoided, after it was told; undefined if it is not. */
  async function avoid(node: Node, isFull: boolean): Promise<number | undefined> {
    const taint = node.spec?.taints?.find(({ key }) => key === Names.noRoomTaint);
    const until = taint && Date.parse(taint.timeAdded ?? "") + AVOIDED_MS;
    if (!isFull) {
      if (!taint || (until !== undefined && until > Date.now())) return until;
      await writeTaint(node, undefined);
      return undefined;
    }
    await writeTaint(node, { key: Names.noRoomTaint, effect: "PreferNoSchedule", timeAdded: kubeTime() });
    return Date.now() + AVOIDED_MS;
  }

  async function writeTaint({ metadata, spec }: Node, taint: Taint | undefined): Promise<void> {
    const others = (spec?.taints ?? []).filter(({ key }) => key !== Names.noRoomTaint);
    // The list is replaced as a whole: whoever has changed it meanwhile must be read first.
    const patch = {
      metadata: { resourceVersion: metadata?.resourceVersion },
      spec: { taints: taint ? [...others, taint] : others },
    };
    const updated = await unlessGone(client.mergePatch(NodeResource, { name: metadata?.name ?? "" }, patch));
    if (updated) nodes.observe(updated);
  }

  const nodeOf = (pod: Pod): string[] =>
    evictionTimeOf(pod) !== undefined && pod.spec?.nodeName ? [pod.spec.nodeName] : [];
  return new Controller({ name: "unplaced-pods", reconcile, logger })
    .watch(pods, nodeOf)
    .watch(nodes, ({ metadata, spec }) =>
      spec?.taints?.some(({ key }) => key === Names.noRoomTaint) ? [metadata?.name ?? ""] : [],
    )
    .watch(offloadings, ({ metadata }) => pods.inNamespace(metadata.namespace ?? "").flatMap(nodeOf));
}

/**
 * Since when a pod has waited for room at its provider, in milliseconds since the epoch; undefined if it does not. The provider's clock is believed
 * as far as the pod's own age allows.
 */
export function unplacedSince(pod: Pod): number | undefined {
  const { metadata, status } = pod;
  if (isDeleting(pod) || status?.phase !== "Pending" || metadata?.labels?.[Labels.remoteUnavailable] === "true") {
    return undefined;
  }
  const scheduled = findCondition(status.conditions, "PodScheduled");
  const isRefused = status.reason === PodReasons.refused;
  const waiting = isRefused ? findCondition(status.conditions, "Ready") : scheduled;
  if (waiting?.status !== "False") return undefined;
  const created = Date.parse(metadata?.creationTimestamp ?? "");
  const changed = Date.parse(waiting.lastTransitionTime ?? "");
  return Math.min(Math.max(created, Number.isNaN(changed) ? created : changed), Date.now());
}
