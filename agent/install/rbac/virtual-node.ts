import type { ReasonedRule } from "./rule.js";

const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete"];

/** What a virtual node's process uses in the consumer's cluster. Each rule says why. */
export const VIRTUAL_KUBELET_LOCAL_RULES: ReasonedRule[] = [
  {
    why: "Its own Node; others' labels tell which endpoints belong to which provider.",
    apiGroups: [""],
    resources: ["nodes"],
    verbs: [...READ, "create", "patch"],
  },
  {
    why: "The state and the size of its own Node.",
    apiGroups: [""],
    resources: ["nodes/status"],
    verbs: ["patch"],
  },
  {
    why: "The Node's heartbeat, and the leases by which one of several processes is chosen.",
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "create", "update", "patch"],
  },
  {
    why: "Pods bound to the Node: marked as offloaded, removed once nothing is left of them at the provider. Never created.",
    apiGroups: [""],
    resources: ["pods"],
    verbs: [...READ, "patch", "delete"],
  },
  {
    why: "The state of its pods.",
    apiGroups: [""],
    resources: ["pods/status"],
    verbs: ["patch"],
  },
  {
    why: "What is reflected; the provider's kubeconfig; the authority of clients of the kubelet API.",
    apiGroups: [""],
    resources: ["configmaps", "secrets", "services"],
    verbs: READ,
  },
  {
    why: "Where Services lead: reflected.",
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices"],
    verbs: READ,
  },
  {
    why: "Reflected.",
    apiGroups: ["networking.k8s.io"],
    resources: ["ingresses"],
    verbs: READ,
  },
  {
    why: "Where the provider has published them is noted on them.",
    onlyWhen: "the provider has given one an address of its own",
    apiGroups: [""],
    resources: ["services"],
    verbs: ["patch"],
  },
  {
    why: "Where the provider has published them is noted on them.",
    onlyWhen: "the provider has given one an address of its own",
    apiGroups: ["networking.k8s.io"],
    resources: ["ingresses"],
    verbs: ["patch"],
  },
  {
    why: "Claims whose data is with the provider: reflected, given back to the scheduler, told their size; and their volumes, which the controller deletes.",
    apiGroups: [""],
    resources: ["persistentvolumeclaims"],
    verbs: [...READ, "patch"],
  },
  {
    why: "The sizes of claims.",
    onlyWhen: "a claim is made larger",
    apiGroups: [""],
    resources: ["persistentvolumeclaims/status"],
    verbs: ["patch"],
  },
  {
    why: "Volumes for claims whose data is with the provider; the controller deletes them.",
    apiGroups: [""],
    resources: ["persistentvolumes"],
    verbs: ["get", "create", "patch"],
  },
  {
    why: "The classes of claims.",
    apiGroups: ["storage.k8s.io"],
    resources: ["storageclasses"],
    verbs: ["get"],
  },
  {
    why: "The provider's events come back, those that have done so are listed at a start; own events are written.",
    apiGroups: [""],
    resources: ["events"],
    verbs: ["get", "list", "create", "patch", "delete"],
  },
  {
    why: "Offloaded pods get tokens of their own accounts.",
    apiGroups: [""],
    resources: ["serviceaccounts/token"],
    verbs: ["create"],
  },
  {
    why: "What the node is to be, which namespaces are mapped, and what they say of their pods.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes", "namespacemaps", "namespaceoffloadings"],
    verbs: READ,
  },
  {
    why: "Whether the provider is out of reach.",
    apiGroups: ["core.liqo.io"],
    resources: ["foreignclusters"],
    verbs: READ,
  },
  {
    why: "How the pod ranges are translated, also those of other providers, which may have endpoints of Services.",
    apiGroups: ["networking.liqo.io"],
    resources: ["configurations"],
    verbs: READ,
  },
  {
    why: "How single addresses are translated.",
    apiGroups: ["ipam.liqo.io"],
    resources: ["ips"],
    verbs: READ,
  },
  {
    why: "The serving certificate of the kubelet API.",
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests"],
    verbs: [...READ, "create"],
  },
  {
    why: "Who calls the kubelet API, and what they may do.",
    apiGroups: ["authentication.k8s.io"],
    resources: ["tokenreviews"],
    verbs: ["create"],
  },
  {
    why: "Who calls the kubelet API, and what they may do.",
    apiGroups: ["authorization.k8s.io"],
    resources: ["subjectaccessreviews"],
    verbs: ["create"],
  },
];

/** What consumers may do in each namespace that they were given (API specification, §11). Liqo's virtual kubelets use this role too. */
export const VIRTUAL_KUBELET_REMOTE_RULES: ReasonedRule[] = [
  {
    why: "What is reflected.",
    apiGroups: [""],
    resources: ["configmaps", "events", "persistentvolumeclaims", "secrets", "services"],
    verbs: [...READ, ...WRITE],
  },
  {
    why: "Reflected.",
    apiGroups: ["networking.k8s.io"],
    resources: ["ingresses"],
    verbs: [...READ, ...WRITE],
  },
  {
    why: "The consumer's pods, and where their Services lead; pods are made from them.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["shadowpods", "shadowendpointslices"],
    verbs: [...READ, ...WRITE],
  },
  {
    why: "Pods are made by the provider from ShadowPods: here they are only looked at.",
    apiGroups: ["", "metrics.k8s.io"],
    resources: ["pods"],
    verbs: READ,
  },
  {
    why: "Logs.",
    apiGroups: [""],
    resources: ["pods/log"],
    verbs: ["get", "list"],
  },
  {
    why: "A stream is opened by POST (create) or, as a WebSocket, by GET (get).",
    apiGroups: [""],
    resources: ["pods/exec", "pods/attach", "pods/portforward"],
    verbs: ["create", "get"],
  },
];

/** What consumers may do in the provider's cluster as a whole. */
export const VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES: ReasonedRule[] = [
  {
    why: "Counters of their own pods, filtered by the aggregated API itself.",
    onlyWhen: "by consumers that run Liqo, where the provider has Liqo's metrics agent",
    apiGroups: ["metrics.liqo.io"],
    resources: ["scrape/metrics"],
    verbs: READ,
  },
];

/** What the approver of serving certificates uses; it runs in the controller. */
export const SERVING_CERTIFICATE_APPROVER_RULES: ReasonedRule[] = [
  {
    why: "Requests of virtual nodes are approved or denied, and removed once they have been served.",
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests"],
    verbs: [...READ, "delete"],
  },
  {
    why: "The decision on them.",
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests/approval"],
    verbs: ["update"],
  },
  {
    why: "The signer of serving certificates: to approve is a right of its own.",
    apiGroups: ["certificates.k8s.io"],
    resources: ["signers"],
    resourceNames: ["kubernetes.io/kubelet-serving"],
    verbs: ["approve"],
  },
  {
    why: "Who asks, and by which addresses its pods are reached.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes"],
    verbs: READ,
  },
  {
    why: "By which addresses who asks is reached.",
    apiGroups: [""],
    resources: ["pods"],
    verbs: READ,
  },
];
