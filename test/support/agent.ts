import { setMaxListeners } from "node:events";
import type { InstallInputs } from "../../agent/install/inputs.js";
import { install } from "../../provider/resources/agent/install.js";
import type { LabCluster } from "./lab.js";

type Chosen = Pick<InstallInputs, "clusterId" | "image" | "podCIDRs" | "serviceCIDR"> & Partial<InstallInputs>;

/** Installs the agent by its manifests alone, without Pulumi, and waits until it runs. */
export async function installAgent({ client }: LabCluster, chosen: Chosen): Promise<void> {
  const inputs: InstallInputs = { ...DEFAULTS, ...chosen };
  const signal = AbortSignal.timeout(180_000);
  // Many requests at a time listen to it.
  setMaxListeners(0, signal);
  await install({ client, signal, status: () => undefined }, inputs);
}

const DEFAULTS: Omit<InstallInputs, "clusterId" | "image" | "podCIDRs" | "serviceCIDR"> = {
  namespace: "liqo",
  version: "0.1.0",
  imagePullPolicy: "IfNotPresent",
  imagePullSecrets: [],
  replicas: 1,
  reservedSubnets: [],
  ipamPools: ["10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12"],
  apiServerAddress: "",
  apiServerCA: "",
  trustedCA: false,
  clusterLabels: {},
  networkingEnabled: true,
  resourceEnforcement: true,
  defaultLimitsEnforcement: "None",
  defaultNodeResources: { cpu: "4", memory: "8Gi", pods: "110" },
  storageEnabled: false,
  realStorageClass: "",
  ingressClasses: [],
  loadBalancerClasses: [],
  pingIntervalSeconds: 15,
  pingTimeoutSeconds: 5,
  labels: {},
  annotations: {},
};
