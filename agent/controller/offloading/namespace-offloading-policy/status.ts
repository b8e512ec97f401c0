import type {
  NamespaceOffloadingPolicy,
  NamespaceOffloadingPolicyStatus,
  StandardCondition,
} from "../../../api/index.js";
import { kubeTime, withCondition } from "../../../runtime/index.js";
import { LEFT_OUT_REASONS, type LeftOut } from "./plan.js";

/** How many namespaces a message names, and how much it says of each. */
const [NAMED, MESSAGE_LENGTH] = [20, 1_000];

/** What has come of a policy. */
export interface Outcome {
  /** How many namespaces are selected. */
  selected: number;
  /** How many of them have a NamespaceOffloading of the policy. */
  offloaded: number;
  leftOut: readonly LeftOut[];
}

export function policyStatus(
  { metadata, status }: NamespaceOffloadingPolicy,
  { selected, offloaded, leftOut }: Outcome,
): NamespaceOffloadingPolicyStatus {
  const condition = {
    ...appliedCondition(leftOut),
    observedGeneration: metadata.generation,
    lastTransitionTime: kubeTime(),
  };
  return {
    namespaces: selected,
    offloaded,
    conditions: withCondition<StandardCondition>(status?.conditions, condition),
    observedGeneration: metadata.generation,
  };
}

/** What was made by hand is as its maker wants it; all else that is left out is not. */
function appliedCondition(
  leftOut: readonly LeftOut[],
): Pick<StandardCondition, "type" | "status" | "reason" | "message"> {
  const reason = LEFT_OUT_REASONS.find((one) => leftOut.some((left) => left.reason === one));
  const message = messageOf(leftOut);
  if (reason === undefined) return { type: "Applied", status: "True", reason: "Applied", message };
  return { type: "Applied", status: reason === "MadeByHand" ? "True" : "False", reason, message };
}

function messageOf(leftOut: readonly LeftOut[]): string {
  if (leftOut.length === 0) return "all namespaces selected have a NamespaceOffloading of this policy";
  const worstFirst = LEFT_OUT_REASONS.flatMap((reason) => leftOut.filter((left) => left.reason === reason));
  const named = worstFirst
    .slice(0, NAMED)
    .map(({ namespace, message }) => `namespace ${namespace}: ${message.slice(0, MESSAGE_LENGTH)}`);
  return [...named, ...(leftOut.length > NAMED ? [`and ${leftOut.length - NAMED} more`] : [])].join("; ");
}
