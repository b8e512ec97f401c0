import type { NamespaceOffloadingSpec } from "../../../api/index.js";

/** What a namespace is called in the providers' clusters (offloading specification, §4.2). */
export function remoteNamespaceName(namespace: string, spec: NamespaceOffloadingSpec, clusterID: string): string {
  const strategy = spec.namespaceMappingStrategy ?? "DefaultName";
  switch (strategy) {
    case "EnforceSameName":
      return namespace;
    case "DefaultName":
      return `${namespace}-${clusterID}`;
    case "SelectedName":
      return spec.remoteNamespaceName ?? "";
  }
}
