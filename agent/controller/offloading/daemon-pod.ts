import type { Pod } from "kubernetes-types/core/v1";

/** Whether a pod belongs to its node by a DaemonSet, which makes another one there when it goes. */
export function isDaemonPod({ metadata }: Pod): boolean {
  return metadata?.ownerReferences?.some(({ kind, controller }) => controller && kind === "DaemonSet") ?? false;
}
