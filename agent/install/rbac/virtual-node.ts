import type { PolicyRule } from "kubernetes-types/rbac/v1";

const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete"];

/** What a virtual node's process uses in the consumer's cluster. Each rule says why. */
export const VIRTUAL_KUBELET_LOCAL_RULES: PolicyRule[] = [
  // Its own Node; others' labels tell which endpoints belong to which provider.
  { apiGroups: [""], resources: ["nodes"], verbs: [...READ, "create", "patch"] },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
  // The Node's heartbeat, and the leases by which one of several processes is chosen.
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
  // Pods bound to the Node: marked as offloaded, removed once nothing is left of them at the provider. Never created.
  { apiGroups: [""], resources: ["pods"], verbs: [...READ, "patch", "delete"] },
  { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
  // What is reflected; the provider's kubeconfig; the authority of clients of the kubelet API.
  { apiGroups: [""], resources: ["configmaps", "secrets", "services"], verbs: READ },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: READ },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: READ },
  // Where the provider has published them is noted on them.
  { apiGroups: [""], resources: ["services"], verbs: ["patch"] },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: ["patch"] },
  // Claims whose data is with the provider: reflected, given back to the scheduler, told their size; and their volumes, which the controller deletes.
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: [...READ, "patch"] },
  { apiGroups: [""], resources: ["persistentvolumeclaims/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["persistentvolumes"], verbs: ["get", "create", "patch"] },
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["get"] },
  // The provider's events come back; own events are written.
  { apiGroups: [""], resources: ["events"], verbs: ["get", "create", "patch", "delete"] },
  // Offloaded pods get tokens of their own accounts.
  { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
  // What the node is to be, which namespaces are mapped, how addresses are translated.
  { apiGroups: ["offloading.liqo.io"], resources: ["virtualnodes", "namespacemaps"], verbs: READ },
  { apiGroups: ["core.liqo.io"], resources: ["foreignclusters"], verbs: READ },
  { apiGroups: ["networking.liqo.io"], resources: ["configurations"], verbs: READ },
  { apiGroups: ["ipam.liqo.io"], resources: ["ips"], verbs: READ },
  // The serving certificate of the kubelet API.
  { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: [...READ, "create"] },
  // Who calls the kubelet API, and what they may do.
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

/** What consumers may do in each namespace that they were given (API specification, §11). Liqo's virtual kubelets use this role too. */
export const VIRTUAL_KUBELET_REMOTE_RULES: PolicyRule[] = [
  // What is reflected.
  {
    apiGroups: [""],
    resources: ["configmaps", "events", "persistentvolumeclaims", "secrets", "services"],
    verbs: [...READ, ...WRITE],
  },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: [...READ, ...WRITE] },
  { apiGroups: ["offloading.liqo.io"], resources: ["shadowpods", "shadowendpointslices"], verbs: [...READ, ...WRITE] },
  // Pods are made by the provider from ShadowPods: here they are only looked at.
  { apiGroups: ["", "metrics.k8s.io"], resources: ["pods"], verbs: READ },
  { apiGroups: [""], resources: ["pods/log"], verbs: ["get", "list"] },
  // A stream is opened by POST (create) or, as a WebSocket, by GET (get).
  { apiGroups: [""], resources: ["pods/exec", "pods/attach", "pods/portforward"], verbs: ["create", "get"] },
];

/** What consumers may do in the provider's cluster as a whole. */
export const VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES: PolicyRule[] = [
  // Counters of their own pods, filtered by the aggregated API itself.
  { apiGroups: ["metrics.liqo.io"], resources: ["scrape", "metrics"], verbs: READ },
];

/** What the approver of serving certificates uses; it runs in the controller. */
export const SERVING_CERTIFICATE_APPROVER_RULES: PolicyRule[] = [
  // Requests of virtual nodes are approved or denied, and removed once they have been served.
  { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: [...READ, "delete"] },
  { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests/approval"], verbs: ["update"] },
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["signers"],
    resourceNames: ["kubernetes.io/kubelet-serving"],
    verbs: ["approve"],
  },
  // Who asks, and by which addresses its pods are reached.
  { apiGroups: ["offloading.liqo.io"], resources: ["virtualnodes"], verbs: READ },
  { apiGroups: [""], resources: ["pods"], verbs: READ },
];
