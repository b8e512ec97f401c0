import type { Node } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../../api/index.js";
import type { Informer, InformerEvent } from "../../runtime/index.js";

/** Kubernetes' label of a node's processor architecture, set by its kubelet. */
export const ARCHITECTURE_LABEL = "kubernetes.io/arch";

/** What every consumer, Liqo's as well, takes for granted of a virtual node that says nothing. */
const ASSUMED = "amd64";

/** Kubernetes' own mark of nodes that are the cluster's alone. Other taints may be tolerated by pods, or pass. */
const CONTROL_PLANE_TAINTS = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/**
 * The label that tells consumers what their pods run on here (offloading specification, §3): where all nodes that take pods have one architecture, and it
 * is another than the one that consumers assume. While none takes any, as in maintenance, all nodes count.
 */
export function architectureLabels(nodes: readonly Node[]): Record<string, string> {
  const own = nodes.filter((node) => !isVirtual(node));
  const open = own.filter(takesPods);
  const architectures = new Set((open.length > 0 ? open : own).map(architectureOf));
  const [architecture] = architectures;
  const isTold = architectures.size === 1 && architecture !== undefined && architecture !== ASSUMED;
  return isTold ? { [ARCHITECTURE_LABEL]: architecture } : {};
}

/**
 * Tells of events of Nodes after which the labels are others. Nodes tell of themselves all the time: all of them are looked at only when one comes, goes,
 * or counts for something else than before.
 */
export function architectureChanges(nodes: Pick<Informer<Node>, "list">): (event: InformerEvent<Node>) => boolean {
  let known: string | undefined;
  return (event) => {
    if (event.type === "updated" && contribution(event.old) === contribution(event.object)) return false;
    const before = known;
    known = architectureLabels(nodes.list())[ARCHITECTURE_LABEL];
    return known !== before;
  };
}

/** All of a node that the labels go by. */
function contribution(node: Node): string {
  return JSON.stringify([isVirtual(node), takesPods(node), architectureOf(node)]);
}

function architectureOf({ metadata }: Node): string | undefined {
  return metadata?.labels?.[ARCHITECTURE_LABEL];
}

function takesPods({ spec }: Node): boolean {
  const isControlPlane = spec?.taints?.some(
    ({ key, effect }) => effect === "NoSchedule" && CONTROL_PLANE_TAINTS.includes(key),
  );
  return !spec?.unschedulable && !isControlPlane;
}

function isVirtual({ metadata }: Node): boolean {
  return metadata?.labels?.[Labels.type] === LabelValues.virtualNodeType;
}
