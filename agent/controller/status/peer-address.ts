import { KubeConfig } from "@kubernetes/client-node";
import { Annotations, DataKeys, type ForeignClusterRole, type ForeignClusterStatus } from "../../api/index.js";
import { decodeBase64 } from "../authentication/lookups.js";
import type { PeerView } from "./peer-view.js";

/** What the peer is to this cluster (control plane specification, §8). */
export function roleOf({ tenants, identities, secrets, virtualNodes }: PeerView): ForeignClusterRole {
  const isConsumer = tenants.length > 0;
  const isProvider = identities.length + secrets.length + virtualNodes.length > 0;
  if (isConsumer) return isProvider ? "ConsumerAndProvider" : "Consumer";
  return isProvider ? "Provider" : "Unknown";
}

/** Where the peer's API server and both tenant namespaces are: from the Identity, else the kubeconfig Secret, else the Tenant. */
export function addressOf(
  view: PeerView,
): Pick<ForeignClusterStatus, "apiServerUrl" | "foreignProxyUrl" | "tenantNamespace"> {
  const [identity] = view.identities;
  if (identity) {
    const { apiServer, proxyURL } = identity.spec.authParams ?? {};
    return address(apiServer, proxyURL, identity.metadata.namespace, identity.spec.namespace);
  }
  const [secret] = view.secrets;
  if (secret) {
    const cluster = clusterOf(kubeconfigOf(view));
    const remote = secret.metadata?.annotations?.[Annotations.remoteTenantNamespace];
    return address(cluster?.server, cluster?.proxyUrl, secret.metadata?.namespace, remote);
  }
  const local = view.tenants[0]?.status?.tenantNamespace;
  return address(undefined, undefined, local, undefined);
}

/** The control plane identity's kubeconfig, if there is one. */
export function kubeconfigOf({ secrets }: PeerView): string | undefined {
  const text = decodeBase64(secrets[0]?.data?.[DataKeys.kubeconfig]).toString("utf8");
  return text === "" ? undefined : text;
}

function clusterOf(kubeconfig: string | undefined): { server: string; proxyUrl?: string } | undefined {
  if (!kubeconfig) return undefined;
  try {
    const config = new KubeConfig();
    config.loadFromString(kubeconfig);
    return config.getCurrentCluster() ?? undefined;
  } catch {
    return undefined;
  }
}

function address(
  apiServerUrl: string | undefined,
  foreignProxyUrl: string | undefined,
  local: string | undefined,
  remote: string | undefined,
): Pick<ForeignClusterStatus, "apiServerUrl" | "foreignProxyUrl" | "tenantNamespace"> {
  return {
    ...(apiServerUrl ? { apiServerUrl } : {}),
    ...(foreignProxyUrl ? { foreignProxyUrl } : {}),
    ...(local || remote ? { tenantNamespace: { ...(local ? { local } : {}), ...(remote ? { remote } : {}) } } : {}),
  };
}
