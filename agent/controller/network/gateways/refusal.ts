import type { StandardCondition } from "../../../api/index.js";
import { KubeError, TerminalError, isInvalid, kubeTime, withCondition } from "../../../runtime/index.js";

/** Why a gateway cannot be made as its spec asks. The gateway that runs, if any, stays as it is. */
export class Refusal extends TerminalError {
  constructor(
    /** For machines: "TemplateNotFound". */
    readonly reason: string,
    /** The field that stands in the way: "spec.secretRef.name". */
    readonly field: string,
    problem: string,
  ) {
    super(`${field}: ${problem}`);
  }
}

/** The condition of gateways that says whether they are made as their spec asks. */
export const ACCEPTED = "Accepted";

/** The conditions with `Accepted` set: False by a refusal, else True. */
export function acceptedCondition(
  conditions: readonly StandardCondition[] | undefined,
  generation: number | undefined,
  refusal: Refusal | undefined,
): StandardCondition[] {
  return withCondition<StandardCondition>(conditions, {
    type: ACCEPTED,
    status: refusal ? "False" : "True",
    reason: refusal?.reason ?? ACCEPTED,
    message: refusal?.message ?? "made as the spec asks",
    observedGeneration: generation,
    lastTransitionTime: kubeTime(),
  });
}

/** Whether the API server has judged the object itself, so that another try would change nothing. */
export function isRefused(error: unknown): boolean {
  return isInvalid(error) || isBadRequest(error);
}

function isBadRequest(error: unknown): boolean {
  return error instanceof KubeError && error.code === 400;
}
