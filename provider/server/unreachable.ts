import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../agent/runtime/kube-error.js";
import type { ClusterArgs } from "../framework/cluster-args.js";
import { clusterFieldsOf } from "../framework/field-info.js";
import type { AnyResource } from "../framework/resource.js";
import { DELETE_REMEDY, isOutOfReach, SKIP_REMEDY } from "../kube/unreachable.js";
import type { Call } from "./calls.js";
import type { Probe } from "./check.js";
import type { Properties } from "./values.js";

/*
 * What becomes of a resource when a cluster of it is out of reach: an error that names the settings which would let it pass, or what they
 * ask for, always with a warning, so that nothing is forgotten without a word. Each function throws what it cannot settle.
 */

/** On refresh: "keep" the state as it is, or "drop" the resource from it. Whatever another cluster still holds is never dropped. */
export async function settleRead(
  definition: AnyResource,
  call: Call,
  inputs: Properties,
  error: unknown,
  probe: Probe,
): Promise<"keep" | "drop"> {
  if (!isOutOfReach(error)) throw error;
  const asking = declaredGone(call, inputs);
  if (asking) {
    const answering = await answeringClusters(definition, call, inputs, probe);
    if (answering.length === 0) {
      call.log(
        "warning",
        `${messageOf(error)}. The resource leaves the state, as ${asking} asks and none of its clusters answers; whatever is in them stays`,
      );
      return "drop";
    }
    call.log(
      "warning",
      `${messageOf(error)}. The resource stays in the state, as ${answering.join(" and ")} still answers: pulumi destroy cleans that and leaves the other out`,
    );
    return "keep";
  }
  if (call.config.skipUpdateUnreachable) {
    call.log("warning", `${messageOf(error)}. The state stays as it is, as skipUpdateUnreachable asks`);
    return "keep";
  }
  throw withRemedy(error, SKIP_REMEDY, DELETE_REMEDY);
}

/** On update: returns when the update is to be skipped. With other inputs than the state's that would lose them, so it is an error then. */
export function settleUpdate(call: Call, inputs: Properties, oldInputs: Properties, error: unknown): void {
  if (!isOutOfReach(error)) throw error;
  if (!call.config.skipUpdateUnreachable) throw withRemedy(error, SKIP_REMEDY);
  if (!isDeepStrictEqual(inputs, oldInputs)) throw error;
  call.log("warning", `${messageOf(error)}. The update is left out, as skipUpdateUnreachable asks`);
}

/** On delete: returns when the resource may leave the state although nothing more can be done in its clusters. */
export async function settleDelete(
  definition: AnyResource,
  call: Call,
  inputs: Properties,
  error: unknown,
  probe: Probe,
): Promise<void> {
  if (!isOutOfReach(error)) throw error;
  const asking = declaredGone(call, inputs);
  if (!asking) throw withRemedy(error, DELETE_REMEDY);
  const answering = await answeringClusters(definition, call, inputs, probe);
  if (answering.length > 0) throw error;
  call.log(
    "warning",
    `${messageOf(error)}. The resource leaves the state, as ${asking} asks; whatever is in the cluster stays`,
  );
}

/** On check of a resource that is in the state already: whether it is to stay as it is. */
export function settleCheck(call: Call, isInState: boolean, error: unknown): "keep" | { reason: string } {
  if (!isInState || !isOutOfReach(error)) return { reason: messageOf(error) };
  if (!call.config.skipUpdateUnreachable) return { reason: withRemedy(error, SKIP_REMEDY, DELETE_REMEDY).message };
  call.log("warning", `${messageOf(error)}. The resource stays as it is, as skipUpdateUnreachable asks`);
  return "keep";
}

/** What says that clusters of a resource which cannot be reached are gone for good, if anything does. */
function declaredGone(call: Call, inputs: Properties): string | undefined {
  if (call.config.deleteUnreachable) return "deleteUnreachable";
  return inputs["forceUnreachable"] === true ? "forceUnreachable" : undefined;
}

/** The properties whose clusters answer. */
async function answeringClusters(
  definition: AnyResource,
  call: Call,
  inputs: Properties,
  probe: Probe,
): Promise<string[]> {
  const asked = clusterFieldsOf(definition.inputs).map(async (name) => {
    try {
      await probe(await call.client(inputs[name] as ClusterArgs | undefined), call.signal);
      return [name];
    } catch (error) {
      return isOutOfReach(error) ? [] : [name];
    }
  });
  return (await Promise.all(asked)).flat();
}

function withRemedy(error: unknown, ...remedies: string[]): Error {
  return new Error([messageOf(error), ...remedies].join(". "), { cause: error });
}
