import { stringify } from "yaml";
import type { AuthParams } from "../api/index.js";

export interface KubeconfigOptions {
  /** The provider's cluster ID, which names the cluster entry. */
  clusterID: string;
  /** The identity's name, which names the user entry. */
  user: string;
  /** The provider's tenant namespace, for control plane identities. */
  namespace?: string;
  authParams: AuthParams;
  /** PEM. */
  privateKey: string;
}

const CONTEXT = "default-context";

/**
 * A kubeconfig's text from what the provider handed out and the cluster's own key (control plane specification, §5). The same options give
 * the same text.
 *
 * @throws Error when the parameters lack the certificate or the address
 */
export function makeKubeconfig({ clusterID, user, namespace, authParams, privateKey }: KubeconfigOptions): string {
  const { apiServer, ca, proxyURL, signedCRT } = authParams;
  if (!apiServer) throw new Error("authParams.apiServer is missing");
  if (!signedCRT) throw new Error("authParams.signedCRT is missing (identities by AWS IAM are not supported)");
  return stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: clusterID,
          cluster: {
            ...(ca ? { "certificate-authority-data": ca } : {}),
            server: apiServer,
            ...(proxyURL ? { "proxy-url": proxyURL } : {}),
          },
        },
      ],
      contexts: [{ name: CONTEXT, context: { cluster: clusterID, user, ...(namespace ? { namespace } : {}) } }],
      "current-context": CONTEXT,
      preferences: {},
      users: [
        {
          name: user,
          user: {
            "client-certificate-data": signedCRT,
            "client-key-data": Buffer.from(privateKey, "utf8").toString("base64"),
          },
        },
      ],
    },
    { lineWidth: 0 },
  );
}
