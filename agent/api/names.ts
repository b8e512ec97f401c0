import { createHash } from "node:crypto";

/** Fixed names (API specification, §10, §11). */
export const Names = {
  /** The namespace of an installation, unless configured otherwise. */
  namespace: "liqo",
  clusterIDConfigMap: "liqo-clusterid-configmap",
  authenticationKeysSecret: "authentication-keys",
  nonceSecret: "liqo-nonce",
  signedNonceSecret: "liqo-signed-nonce",
  remoteCertificateSecret: "liqo-remote-certificate",
  awsConfigSecret: "liqo-aws-config",
  /** generateName of the CertificateSigningRequests made for tenants. */
  identityCSRPrefix: "liqo-identity-",
  gatewayServerTemplate: "wireguard-server",
  gatewayClientTemplate: "wireguard-client",
  vkOptionsTemplate: "virtual-kubelet-default",
  externalNetwork: "external-cidr",
  internalNetwork: "internal-cidr",
  serviceNetwork: "service-cidr",
  podNetwork: "pod-cidr",
  proxy: "liqo-proxy",
  apiServerProxyIP: "api-server-proxy",
  apiServerIP: "api-server",
  /** The one name that a NamespaceOffloading may have. */
  namespaceOffloading: "offloading",
  storageClass: "liqo",
  storageProvisioner: "liqo.io/storage",
  runtimeClass: "liqo",
  storageNamespace: "liqo-storage",
  webhookConfiguration: "liqo-webhook",
  webhookService: "liqo-webhook",
  webhookSecret: "liqo-webhook-certs",
  /** Taint of virtual nodes. */
  virtualNodeTaint: "virtual-node.liqo.io/not-allowed",
  /** Ours. Taint of a virtual node whose provider has lately had no room for a pod: others come first. */
  noRoomTaint: "offloading.liqo.io/no-room",

  remoteControlPlaneRole: "liqo-remote-controlplane",
  remoteControlPlaneBinding: "liqo-binding-liqo-remote-controlplane",
  virtualKubeletRemoteRole: "liqo-virtual-kubelet-remote",
  virtualKubeletRemoteClusterwideRole: "liqo-virtual-kubelet-remote-clusterwide",
  virtualKubeletLocalRole: "liqo-virtual-kubelet-local",
  /** Made by the administrator, who thereby lets custom resources be reflected; the agent only binds them. */
  virtualKubeletLocalCustomRole: "liqo-virtual-kubelet-local-custom-resources",
  virtualKubeletRemoteCustomRole: "liqo-virtual-kubelet-remote-custom-resources",
  gatewayRole: "liqo-gateway",
  peeringUserTenantRole: "liqo-peering-user-tenant-ns",
  peeringUserInstallationRole: "liqo-peering-user-liqo-ns",

  /** First organization in the subject of a control-plane identity. */
  controlPlaneGroup: "liqo.io",
} as const;

/** Keys in Secrets and ConfigMaps. */
export const DataKeys = {
  clusterID: "CLUSTER_ID",
  privateKey: "privateKey",
  publicKey: "publicKey",
  nonce: "nonce",
  signedNonce: "signedNonce",
  kubeconfig: "kubeconfig",
  csr: "csr",
  certificate: "certificate",
  webhookCA: "ca",
  webhookCertificate: "tls.crt",
  webhookKey: "tls.key",
  awsAccessKeyID: "awsAccessKeyID",
  awsSecretAccessKey: "awsSecretAccessKey",
  awsRegion: "awsRegion",
  awsEksClusterID: "awsEksClusterID",
  awsIamUserArn: "awsIamUserArn",
} as const;

/** Port numbers (API specification, §10). */
export const Ports = {
  wireguard: 51840,
  apiServerProxy: 8118,
  fabric: 6091,
  ipam: 6000,
  webhook: 9443,
  /** Every role's own, metrics on the port after health. */
  health: 8081,
  metrics: 8082,
  connectionCheck: 12345,
  kubelet: 10250,
  virtualKubeletMetrics: 5872,
  metricAgent: 8443,
} as const;

/** Bytes of a WireGuard key, private or public. */
export const WIREGUARD_KEY_LENGTH = 32;

/** A slice's name and twelve digits make a label value of at most 63 characters. */
export const RESOURCE_SLICE_NAME_MAX_LENGTH = 50;

export function tenantNamespaceName(remoteClusterID: string): string {
  return `liqo-tenant-${remoteClusterID}`;
}

export function controlPlaneIdentityName(providerClusterID: string): string {
  return `controlplane-${providerClusterID}`;
}

export function resourceSliceIdentityName(sliceName: string): string {
  return `resourceslice-${sliceName}`;
}

export function kubeconfigSecretName(identityName: string): string {
  return `kubeconfig-${identityName}`;
}

/** The Secret with the kubeconfig of a slice's own identity. */
export function sliceKubeconfigSecretName(sliceName: string): string {
  return kubeconfigSecretName(resourceSliceIdentityName(sliceName));
}

/** The Secret with the issued certificate: of the control plane, or of a slice. */
export function remoteCertificateSecretName(sliceName?: string): string {
  return sliceName === undefined ? Names.remoteCertificateSecret : `${Names.remoteCertificateSecret}-${sliceName}`;
}

/** The user a consumer acts as with a slice's identity; also the Quota's name (control plane specification, §6). */
export function sliceUserName(sliceName: string, consumerClusterID: string): string {
  const digits = createHash("sha256").update(consumerClusterID).digest("hex").slice(0, 12);
  return `${sliceName}-${digits}`;
}

/** A user name as the value of the creator label. */
export function escapeUser(user: string): string {
  return user.replace(/[^A-Za-z0-9_.-]/g, "-");
}

/** The Deployment, Service, generated key Secret and Connection of a gateway. */
export function gatewayResourceName(gatewayName: string): string {
  return `gw-${gatewayName}`;
}

export function gatewayClusterRoleBindingName(namespace: string, gatewayName: string): string {
  return `liqo-gateway-${namespace}-${gatewayName}`;
}

/** The Lease by which replicas of a gateway choose the active one. */
export function gatewayLeaseName(gatewayName: string, namespace: string, mode: "server" | "client"): string {
  return `${gatewayName}.${namespace}.${mode}.connections.liqo.io`;
}

export function virtualKubeletDeploymentName(virtualNodeName: string): string {
  return `vk-${virtualNodeName}`;
}

/** Not the VirtualNode's own name, as Liqo has it: the gateway to the same cluster has that, and would share its rights and its end. */
export function virtualKubeletAccountName(virtualNodeName: string): string {
  return `vk-${virtualNodeName}`;
}

export function virtualNodeClusterRoleBindingName(virtualNodeName: string): string {
  return `liqo-node-${virtualNodeName}`;
}

/** Of the role that the administrator has made for custom resources. */
export function virtualNodeCustomRoleBindingName(virtualNodeName: string): string {
  return `liqo-custom-resources-${virtualNodeName}`;
}

export function clusterwideBindingName(consumerClusterID: string): string {
  return `liqo-binding-${Names.virtualKubeletRemoteClusterwideRole}-${consumerClusterID}`;
}

/** A peering user's CertificateSigningRequest, and the value of the label on its objects. */
export function peeringUserName(consumerClusterID: string): string {
  return `liqo-peer-user-${consumerClusterID}`;
}

/** A range as part of a name: "10.0.0.0/16" becomes "10-0-0-0-16". */
export function cidrNamePart(cidr: string): string {
  return cidr.replace(/[./:]/g, "-");
}

/** The Network of one of several pod ranges of a cluster; a single one is called `pod-cidr`. */
export function podNetworkName(cidr: string): string {
  return `${Names.podNetwork}-${cidrNamePart(cidr)}`;
}

export function reservedNetworkName(cidr: string): string {
  return `reserved-${cidrNamePart(cidr)}`;
}

/** The Network by which a remote range is mapped (network specification, §3). */
export function remoteNetworkName(configurationName: string, type: "pod" | "external", cidr: string): string {
  return `${configurationName}-${type}-${cidrNamePart(cidr)}`;
}

export function unknownSourceIPName(configurationName: string): string {
  return `${configurationName}-unknown-source`;
}

export function geneveTunnelName(internalFabricName: string, nodeName: string): string {
  return `${internalFabricName}-${nodeName}`;
}
