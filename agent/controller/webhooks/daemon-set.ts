import { isDeepStrictEqual } from "node:util";
import type { DaemonSet } from "kubernetes-types/apps/v1";
import type { PodSpec } from "kubernetes-types/core/v1";
import { Labels, LabelValues } from "../../api/index.js";
import { allow, mutate, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import { affinityPatch } from "./pod-affinity.js";

/**
 * Keeps the pods of DaemonSets off virtual nodes (offloading specification, §12.2): one that tolerates everything, as those of networks, storage and
 * monitoring do, would wait for a pod there forever. Who names the virtual node's label in a selector or affinity has chosen and is left
 * alone. One that is there already is changed with the next change of its template, as a change of that restarts its pods.
 */
export const mutateDaemonSet: AdmissionHandler = (request) => {
  const { object, oldObject } = request as AdmissionRequest<DaemonSet>;
  const pod = object?.spec?.template.spec;
  if (!pod) return allow();
  const isSameTemplate = oldObject && isDeepStrictEqual(oldObject.spec?.template, object.spec?.template);
  if (isSameTemplate || choosesNodeType(pod)) return allow();
  const term = {
    matchExpressions: [{ key: Labels.type, operator: "NotIn", values: [LabelValues.virtualNodeType] }],
  };
  return mutate(affinityPatch(pod, [term], "/spec/template/spec"));
};

function choosesNodeType({ nodeSelector, affinity }: PodSpec): boolean {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const isNamed = terms.some((term) => term.matchExpressions?.some(({ key }) => key === Labels.type));
  return isNamed || nodeSelector?.[Labels.type] !== undefined;
}
