import { VirtualNodeResource, type VirtualNode, type VirtualNodeCondition } from "../../../api/index.js";
import { findCondition, type EventRecorder } from "../../../runtime/index.js";

/**
 * Events on a VirtualNode whose conditions have just been written, of what has become of its Node: ready, not ready any more, being drained, held up by a disruption
 * budget, or drained.
 */
export function tellNodeState(
  events: EventRecorder,
  virtualNode: VirtualNode,
  before: readonly VirtualNodeCondition[] | undefined,
  after: readonly VirtualNodeCondition[],
): void {
  const [was, is] = [findCondition(before, "Node"), findCondition(after, "Node")];
  if (!is || was?.reason === is.reason) return;
  const { reason = "", message = "" } = is;
  const isBegin = reason === "Draining" && was?.status !== "Draining";
  if (isBegin || reason === "NodeReady" || reason === "Drained") {
    events.normal(VirtualNodeResource, virtualNode, reason, message);
  } else if (reason === "EvictionBlocked" || (reason === "NodeNotReady" && was?.reason === "NodeReady")) {
    events.warning(VirtualNodeResource, virtualNode, reason, message);
  }
}
