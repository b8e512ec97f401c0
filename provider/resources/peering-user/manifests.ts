import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import type { RoleBinding } from "kubernetes-types/rbac/v1";
import { Labels, Names, peeringUserName } from "../../../agent/api/index.js";

const RBAC = "rbac.authorization.k8s.io";
const COMPONENT = "peering-user";

/** The bindings' names (control plane specification, §18). */
export function bindingNames(consumerClusterId: string): { installation: string; tenant: string } {
  const name = peeringUserName(consumerClusterId);
  return { installation: `${name}-liqo-ns-reader`, tenant: `${name}-tenant-ns-writer` };
}

/** Labels of everything that belongs to a peering user. */
export function peeringUserLabels(consumerClusterId: string): Record<string, string> {
  return {
    [Labels.peeringUserName]: peeringUserName(consumerClusterId),
    [Labels.remoteClusterID]: consumerClusterId,
    [Labels.appComponent]: COMPONENT,
  };
}

/** Both bindings: to read what the installation says of itself, and to write into the tenant namespace. */
export function bindingManifests(
  consumerClusterId: string,
  userName: string,
  namespaces: { installation: string; tenant: string },
): [RoleBinding, RoleBinding] {
  const names = bindingNames(consumerClusterId);
  const labels = peeringUserLabels(consumerClusterId);
  const subjects = [{ apiGroup: RBAC, kind: "User", name: userName }];
  return [
    {
      metadata: { name: names.installation, namespace: namespaces.installation, labels },
      roleRef: { apiGroup: RBAC, kind: "Role", name: Names.peeringUserInstallationRole },
      subjects,
    },
    {
      metadata: { name: names.tenant, namespace: namespaces.tenant, labels },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: Names.peeringUserTenantRole },
      subjects,
    },
  ];
}

export function signingRequestManifest(
  consumerClusterId: string,
  csr: string,
  expirationSeconds?: number,
): CertificateSigningRequest {
  return {
    metadata: { name: peeringUserName(consumerClusterId), labels: peeringUserLabels(consumerClusterId) },
    spec: {
      request: Buffer.from(csr).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["digital signature", "key encipherment", "client auth"],
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
    },
  };
}

/** The user's kubeconfig, as an object. */
export function userKubeconfig(options: {
  providerClusterId: string;
  consumerClusterId: string;
  server: string;
  /** Base64; absent for a publicly trusted certificate. */
  ca?: string;
  /** Base64. */
  certificate: string;
  /** PEM. */
  privateKey: string;
  namespace: string;
}): object {
  const user = `${options.consumerClusterId}-user`;
  const cluster = options.providerClusterId;
  return {
    apiVersion: "v1",
    kind: "Config",
    // By which messages call the cluster.
    "current-context": cluster,
    clusters: [
      {
        name: cluster,
        cluster: { server: options.server, ...(options.ca ? { "certificate-authority-data": options.ca } : {}) },
      },
    ],
    users: [
      {
        name: user,
        user: {
          "client-certificate-data": options.certificate,
          "client-key-data": Buffer.from(options.privateKey).toString("base64"),
        },
      },
    ],
    contexts: [{ name: cluster, context: { cluster, user, namespace: options.namespace } }],
  };
}
