/** What an installation of the agent in one cluster is made from; complete: defaults have been filled in. */
export interface InstallInputs {
  clusterId: string;
  /** The agent's own namespace. */
  namespace: string;
  /** The agent's version, for labels. */
  version: string;
  image: string;
  imagePullPolicy: "Always" | "IfNotPresent" | "Never";
  imagePullSecrets: string[];
  /** Replicas of the controller, of which one leads. */
  replicas: number;
  /** Replicas of each gateway, of which one serves. Absent: one. */
  gatewayReplicas?: number;
  podCIDRs: string[];
  serviceCIDR: string;
  /** Absent: 10.70.0.0/16, or another range of that size if it is taken. */
  externalCIDR?: string;
  /** Absent: 10.80.0.0/16, or another range of that size if it is taken. */
  internalCIDR?: string;
  /** Ranges that no remote range may be mapped onto. */
  reservedSubnets: string[];
  ipamPools: string[];
  /** URL or host[:port] for consumers; "" = the control-plane node's. */
  apiServerAddress: string;
  /** Base64 CA for consumers; "" = the cluster's own. */
  apiServerCA: string;
  trustedCA: boolean;
  /** Whether the cluster's own key is to be an RSA key. Absent: Ed25519. */
  tlsCompatibilityMode?: boolean;
  clusterLabels: Record<string, string>;
  networkingEnabled: boolean;
  /** Whether peers may reach the API server through their tunnels (in-band peering). Absent: yes. */
  apiServerProxy?: boolean;
  /** Whether slices of the built-in class are answered. Absent: yes. */
  defaultResourceSliceClassEnabled?: boolean;
  resourceEnforcement: boolean;
  defaultLimitsEnforcement: "Hard" | "Soft" | "None";
  defaultNodeResources: Record<string, string>;
  storageEnabled: boolean;
  realStorageClass: string;
  ingressClasses: string[];
  loadBalancerClasses: string[];
  pingIntervalSeconds: number;
  pingTimeoutSeconds: number;
  /** Put on every object. */
  labels: Record<string, string>;
  annotations: Record<string, string>;
}
