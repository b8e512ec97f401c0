import type { Secret } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../../api/index.js";
import { sameJson } from "../../runtime/index.js";

/** Selects the copies. */
export const COPY_SELECTOR = `${Labels.managedBy}=${LabelValues.pullSecretManager}`;

/** The types of Secrets that a kubelet pulls with. */
const PULL_TYPES: readonly (string | undefined)[] = ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"];

/** Whether a kubelet would pull with it: nothing else is ever copied, whatever the installation names. */
export function isPullSecret({ type }: Secret): boolean {
  return PULL_TYPES.includes(type);
}

export function isCopy({ metadata }: Secret): boolean {
  return metadata?.labels?.[Labels.managedBy] === LabelValues.pullSecretManager;
}

/** The Secret of the same name and content in another namespace. Labels and annotations of the original may mean something to others: they stay behind. */
export function copyOf({ metadata, type, data }: Secret, namespace: string): Secret {
  const labels = {
    [Labels.managedBy]: LabelValues.pullSecretManager,
    [Labels.appPartOf]: LabelValues.partOf,
  };
  return { metadata: { name: metadata?.name, namespace, labels }, type, data };
}

/** Whether both let a kubelet into the same registries. */
export function isSameCredential(a: Secret, b: Secret): boolean {
  return a.type === b.type && sameJson(a.data, b.data);
}
