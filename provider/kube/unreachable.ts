import { KubeError } from "../../agent/runtime/kube-error.js";
import { ClusterArgsError } from "./kubeconfig.js";

const REASONS = ["Unreachable", "Timeout", "BadConfig"];

/** Whether a cluster could not be asked at all: no answer came, or its kubeconfig cannot be used any more. What it refuses is an answer. */
export function isOutOfReach(error: unknown): boolean {
  if (error instanceof ClusterArgsError) return true;
  if (!(error instanceof Error)) return false;
  if (error instanceof KubeError) return error.code === 0 && REASONS.includes(error.reason);
  return error.cause !== undefined && isOutOfReach(error.cause);
}

/** What to do about a cluster that is out of reach while its resource is refreshed or updated. */
export const SKIP_REMEDY =
  "Where the cluster will answer again, the provider's skipUpdateUnreachable (or PULUMI_LIQO_SKIP_UPDATE_UNREACHABLE=true in the environment) " +
  "leaves the resource as it is meanwhile";

/** What to do about a cluster that will not come back. */
export const DELETE_REMEDY =
  "Where the cluster is gone for good, the provider's deleteUnreachable (or PULUMI_LIQO_DELETE_UNREACHABLE=true in the environment) " +
  "lets pulumi destroy leave it out, clean what still answers, and drop the resource from the state";
