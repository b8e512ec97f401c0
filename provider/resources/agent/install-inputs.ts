import type { InstallInputs } from "../../../agent/install/inputs.js";
import { VERSION } from "../../version.js";
import type { AgentInputs } from "./schema.js";

/** What is known once the cluster has been asked. */
export interface ResolvedRanges {
  podCIDRs: string[];
  serviceCIDR: string;
  apiServerAddress: string;
}

/** Fills what the program left out with what the cluster told. */
export function installInputs(inputs: AgentInputs, resolved: ResolvedRanges): InstallInputs {
  return {
    clusterId: inputs.clusterId,
    namespace: inputs.namespace,
    version: VERSION,
    image: inputs.image,
    imagePullPolicy: inputs.imagePullPolicy,
    imagePullSecrets: inputs.imagePullSecrets,
    replicas: inputs.replicas,
    gatewayReplicas: inputs.gatewayReplicas,
    podCIDRs: [...resolved.podCIDRs].sort(),
    serviceCIDR: resolved.serviceCIDR,
    externalCIDR: inputs.externalCIDR,
    internalCIDR: inputs.internalCIDR,
    reservedSubnets: inputs.reservedSubnets,
    ipamPools: inputs.ipamPools,
    apiServerAddress: resolved.apiServerAddress,
    apiServerCA: inputs.apiServerCA ?? "",
    trustedCA: inputs.trustedCA,
    tlsCompatibilityMode: inputs.tlsCompatibilityMode,
    clusterLabels: inputs.clusterLabels,
    networkingEnabled: inputs.networkingEnabled,
    apiServerProxy: inputs.apiServerProxy,
    defaultResourceSliceClassEnabled: inputs.defaultResourceSliceClassEnabled,
    resourceEnforcement: inputs.resourceEnforcement,
    defaultLimitsEnforcement: inputs.defaultLimitsEnforcement,
    defaultNodeResources: inputs.defaultNodeResources,
    storageEnabled: inputs.storageEnabled,
    realStorageClass: inputs.realStorageClass,
    ingressClasses: inputs.ingressClasses,
    loadBalancerClasses: inputs.loadBalancerClasses,
    pingIntervalSeconds: inputs.pingIntervalSeconds,
    pingTimeoutSeconds: inputs.pingTimeoutSeconds,
    labels: inputs.labels,
    annotations: inputs.annotations,
  };
}
