/**
 * Who asked for what, without contents: of everybody but Kubernetes' own components and the administrator, whose requests would be nearly all.
 * https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
 */
export const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  // A watch is told of when it begins.
  omitStages: ["RequestReceived"],
  omitManagedFields: true,
  rules: [
    {
      level: "None",
      userGroups: ["system:masters", "system:nodes", "system:serviceaccounts:kube-system", "system:unauthenticated"],
    },
    { level: "None", users: ["system:apiserver", "system:kube-scheduler", "system:kube-controller-manager"] },
    { level: "None", nonResourceURLs: ["*"] },
    { level: "Metadata" },
  ],
};
