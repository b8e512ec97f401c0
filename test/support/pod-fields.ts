/** What becomes of a pod's field when the pod goes to a provider (offloading specification, §6.3). */
export type Fate =
  /** The remote pod has it as it is. */
  | "carried"
  /** The remote pod has something in its place, or gets it later; other tests say what. */
  | "transformed"
  /** It has done its work at the consumer, or is about the local pod: the remote one is not the poorer without it. */
  | "local"
  /** The remote pod is without it, and an event says so. */
  | "named";

interface PodField {
  fate: Fate;
  /** What a pod has there that asks for something. */
  value: unknown;
}

const carried = (value: unknown): PodField => ({ fate: "carried", value });
const transformed = (value: unknown): PodField => ({ fate: "transformed", value });
const local = (value: unknown): PodField => ({ fate: "local", value });
const named = (value: unknown): PodField => ({ fate: "named", value });

/** Every field that a pod's spec is known to have. One that Kubernetes adds must be decided on here first, and fails tests until it is. */
export const POD_FIELDS: Record<string, PodField> = {
  activeDeadlineSeconds: carried(60),
  dnsConfig: carried({ nameservers: ["192.0.2.1"] }),
  dnsPolicy: carried("None"),
  enableServiceLinks: carried(false),
  hostAliases: carried([{ ip: "192.0.2.1", hostnames: ["other"] }]),
  hostUsers: carried(false),
  hostname: carried("web"),
  hostnameOverride: carried("web.example.com"),
  imagePullSecrets: carried([{ name: "registry" }]),
  resources: carried({ requests: { cpu: "1" } }),
  restartPolicy: carried("Never"),
  securityContext: carried({ runAsUser: 1000 }),
  setHostnameAsFQDN: carried(true),
  shareProcessNamespace: carried(true),
  subdomain: carried("shop"),
  terminationGracePeriodSeconds: carried(7),
  topologySpreadConstraints: carried([{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }]),
  volumes: carried([{ name: "scratch", emptyDir: {} }]),

  automountServiceAccountToken: transformed(true),
  containers: transformed([{ name: "main", image: "web" }]),
  initContainers: transformed([{ name: "first", image: "web" }]),
  // Added when the pod is there, as at the consumer.
  ephemeralContainers: transformed([{ name: "debugger", image: "tools" }]),
  runtimeClassName: transformed("kata"),
  serviceAccount: transformed("robot"),
  serviceAccountName: transformed("robot"),
  tolerations: transformed([{ key: "x", operator: "Exists" }]),
  // Conditions that somebody here sets: they keep the local pod from being ready.
  readinessGates: transformed([{ conditionType: "example.com/ready" }]),

  // They choose the virtual node, or keep it waiting to be chosen.
  nodeName: local("provider"),
  nodeSelector: local({ disk: "ssd" }),
  schedulingGates: local([{ name: "example.com/gate" }]),
  // Follows from the class, which is named.
  priority: local(5),
  // They are asked when the local pod is evicted, and know of no other.
  evictionResponders: local([{ name: "example.com/responder", priority: 1 }]),

  affinity: named({ podAffinity: {} }),
  hostIPC: named(true),
  hostNetwork: named(true),
  hostPID: named(true),
  os: named({ name: "windows" }),
  overhead: named({ cpu: "1" }),
  preemptionPolicy: named("Never"),
  priorityClassName: named("high"),
  resourceClaims: named([{ name: "gpu", resourceClaimTemplateName: "gpu" }]),
  schedulerName: named("own"),
  schedulingGroup: named({ podGroupName: "group" }),
  workloadRef: named({ name: "training", podGroup: "workers" }),
};
