import type { EventRecorder, KubeClient, Logger, SharedInformers } from "../runtime/index.js";

/** How one cluster's agent is set up; the controller's arguments. */
export interface ControllerConfig {
  clusterId: string;
  /** The agent's namespace, usually "liqo". */
  namespace: string;
  /** Labels of this cluster; they become nodeLabels of accepted slices. */
  clusterLabels: Record<string, string>;
  /** The agent's own image, which gateways and virtual nodes run too. */
  image: string;
  imagePullPolicy: "Always" | "IfNotPresent" | "Never";
  imagePullSecrets: string[];
  /** This pod's name and the node it runs on, for leader election and logs. */
  podName: string;
  /** URL or host[:port] given to consumers; "" = the control-plane node's address, port 6443. */
  apiServerAddress: string;
  /** Base64 CA given to consumers instead of this cluster's own; "" = the own one. */
  apiServerCA: string;
  /** The API server's certificate is publicly trusted: give consumers no CA. */
  trustedCA: boolean;
  /** The cluster's own key is to be an RSA key, where it is made anew. */
  tlsCompatibilityMode: boolean;
  networkingEnabled: boolean;
  /** Slices of the built-in class are answered here, not by a controller of somebody's own. */
  defaultSliceClassEnabled: boolean;
  resourceEnforcement: boolean;
  defaultLimitsEnforcement: "Hard" | "Soft" | "None";
  /** Granted where a slice names no amount. */
  defaultSliceResources: Record<string, string>;
  storageEnabled: boolean;
  /** The class that remote claims get; "" = the cluster's default. */
  realStorageClass: string;
  /** First is the default. */
  ingressClasses: string[];
  loadBalancerClasses: string[];
  /** Seconds between looks at a peer's API server, and for its answer. */
  pingIntervalSeconds: number;
  pingTimeoutSeconds: number;
  /** Pools that remapped ranges come from. */
  ipamPools: string[];
  /** Where webhooks and probes are served; others than the usual ones where several share a network. Absent: the usual ones. */
  webhookPort?: number;
  healthPort?: number;
}

/** What every controller is built from. Informers asked for during set-up are started, and have synced, before any controller starts. */
export interface ControllerContext {
  client: KubeClient;
  informers: SharedInformers;
  config: ControllerConfig;
  logger: Logger;
  /** Events by the component's name. */
  recorder(component: string): EventRecorder;
}

/** A controller or background loop. Started after the informers have synced, on the leader only. */
export interface Startable {
  readonly name: string;
  start(): void | Promise<void>;
  stop(): Promise<void>;
}

/** Each area's index.ts exports one of these. */
export type AreaSetup = (context: ControllerContext) => Startable[];
