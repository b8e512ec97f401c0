import type { AuthParams } from "../../api/index.js";
import { NodeResource, outsideAddress, urlHost } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";

const CONTROL_PLANE_LABELS = ["control-plane", "master", "controlplane"].map(
  (role) => `node-role.kubernetes.io/${role}`,
);
const API_SERVER_PORT = 6443;
const ADDRESS_MAX_AGE_MS = 60_000;

/** Composes what a consumer needs to reach this cluster's API server (control plane specification, §4). */
export class AuthParamsSource {
  private detected?: { address: string; at: number };

  constructor(private readonly context: ControllerContext) {}

  /** @param certificate PEM as base64 */
  async make(certificate: string, proxyURL: string | undefined): Promise<AuthParams> {
    const ca = await this.ca();
    return {
      apiServer: await this.apiServer(),
      signedCRT: certificate,
      ...(ca ? { ca } : {}),
      ...(proxyURL ? { proxyURL } : {}),
    };
  }

  private async apiServer(): Promise<string> {
    const configured = this.context.config.apiServerAddress;
    if (configured) return /^https?:\/\//.test(configured) ? configured : `https://${configured}`;
    if (!this.detected || Date.now() - this.detected.at > ADDRESS_MAX_AGE_MS) {
      this.detected = { address: await this.detectAddress(), at: Date.now() };
    }
    return this.detected.address;
  }

  private async detectAddress(): Promise<string> {
    for (const label of CONTROL_PLANE_LABELS) {
      const { items } = await this.context.client.list(NodeResource, { labelSelector: label });
      const address = items.map(outsideAddress).find((candidate) => candidate !== undefined);
      if (address) return `https://${urlHost(address)}:${API_SERVER_PORT}`;
    }
    throw new Error(
      `cluster ${this.context.config.clusterId}: no node is labelled as control plane, so the API server's address must be configured (--api-server-address)`,
    );
  }

  /** Base64 of the PEM bundle; undefined when consumers trust the API server's certificate anyway. */
  private async ca(): Promise<string | undefined> {
    const { apiServerCA, trustedCA } = this.context.config;
    if (apiServerCA) return apiServerCA;
    if (trustedCA) return undefined;
    const { tls } = await this.context.client.transport.credentials();
    return tls.ca === undefined ? undefined : Buffer.from(tls.ca).toString("base64");
  }
}
