import { Labels, LabelValues } from "../../../agent/api/index.js";

/** Marks what this provider has made and may delete; server-side apply's field manager, too. */
export const MANAGER = "pulumi-liqo";

/** What makes a namespace the tenant namespace of a remote cluster (API specification, §10). */
export function tenantNamespaceLabels(remoteClusterId: string): Record<string, string> {
  return {
    [Labels.remoteClusterID]: remoteClusterId,
    [Labels.tenantNamespace]: "true",
    [Labels.podSecurityEnforce]: LabelValues.privileged,
    [Labels.podSecurityAudit]: LabelValues.privileged,
    [Labels.podSecurityWarn]: LabelValues.privileged,
  };
}
