import {
  findCondition,
  type ConditionLike,
  type EventRecorder,
  type KubeObject,
  type ResourceType,
} from "../runtime/index.js";

const GOOD: readonly string[] = ["Accepted", "Established", "Ready", "True"];
/** Worth a warning whatever was before; other states are the usual ones of a beginning. */
const BAD: readonly string[] = ["Denied", "Error"];

/**
 * An event for each condition that has become good, has gone bad, or is not good any more. Called where a status has just been written, so that each
 * transition is told once.
 *
 * @param only the types of conditions that people look for; default all
 */
export function tellTransitions<T extends KubeObject>(
  events: EventRecorder,
  type: ResourceType<T>,
  object: T,
  {
    before,
    after,
    only,
  }: { before?: readonly ConditionLike[]; after?: readonly ConditionLike[]; only?: readonly string[] },
): void {
  for (const condition of after ?? []) {
    const { type: name, status, reason, message = "" } = condition;
    const was = findCondition(before, name)?.status ?? "";
    if (was === status || (only && !only.includes(name))) continue;
    const line = `${name} is ${status}: ${message}`;
    if (GOOD.includes(status)) events.normal(type, object, reason || status, line);
    else if (BAD.includes(status) || GOOD.includes(was)) events.warning(type, object, reason || status, line);
  }
}
