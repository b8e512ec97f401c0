import { readFile } from "node:fs/promises";
import type https from "node:https";
import { isIPv6 } from "node:net";
import path from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";

/** Where an API server is and who we are to it: a kubeconfig's current context, or the pod's own ServiceAccount. */
export type ApiAccess = Pick<KubeConfig, "getCurrentCluster" | "getCurrentUser" | "applyToHTTPSOptions">;

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
const NAME = "inCluster";

/** Whether this process runs in a pod that can ask the API server. */
export function isInPod(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env["KUBERNETES_SERVICE_HOST"]);
}

/**
 * The pod's ServiceAccount towards its own API server, as Kubernetes mounts it. The client library could do this too, at several times the memory of all
 * else that a gateway needs. The token is read anew whenever options are asked for, as the kubelet renews it.
 */
export class ServiceAccountAccess implements ApiAccess {
  private readonly server: string;

  constructor(
    env: NodeJS.ProcessEnv,
    private readonly folder = FOLDER,
  ) {
    const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
    const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
    this.server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  }

  getCurrentCluster(): ReturnType<ApiAccess["getCurrentCluster"]> {
    return { name: NAME, server: this.server, caFile: this.file("ca.crt"), skipTLSVerify: false };
  }

  getCurrentUser(): ReturnType<ApiAccess["getCurrentUser"]> {
    return { name: NAME, authProvider: { name: "tokenFile", config: { tokenFile: this.file("token") } } };
  }

  async applyToHTTPSOptions(options: https.RequestOptions): Promise<void> {
    const [ca, token] = await Promise.all([readFile(this.file("ca.crt")), readFile(this.file("token"), "utf8")]);
    options.ca = ca;
    options.headers = { ...options.headers, Authorization: `Bearer ${token.trim()}` };
  }

  private file(name: string): string {
    return path.join(this.folder, name);
  }
}
