import { Names } from "../../../agent/api/index.js";
import { DEFAULT_MTU, DEFAULT_WIREGUARD_PORT, type NetworkLinkInputs } from "./schema.js";

/** The inputs that say how a link is to be. */
export type LinkSettings = Pick<NetworkLinkInputs, "gatewayServer" | "gatewayClient" | "mtu" | "gatewayServerLocation">;

/** What a link is to be, all defaults filled in. */
export interface LinkOptions {
  mtu: number;
  location: "Provider" | "Consumer";
  server: NonNullable<NetworkLinkInputs["gatewayServer"]>;
  client: NonNullable<NetworkLinkInputs["gatewayClient"]>;
}

/** What to do about the gateways' keys. */
export interface KeyOptions {
  shareKeys: boolean;
  /** Make new ones first. */
  rotate: boolean;
}

export function linkOptions({ gatewayServer, gatewayClient, mtu, gatewayServerLocation }: LinkSettings): LinkOptions {
  return {
    mtu: mtu ?? DEFAULT_MTU,
    location: gatewayServerLocation ?? "Provider",
    server: {
      type: "LoadBalancer",
      port: DEFAULT_WIREGUARD_PORT,
      templateName: Names.gatewayServerTemplate,
      ...gatewayServer,
    },
    client: { templateName: Names.gatewayClientTemplate, ...gatewayClient },
  };
}
