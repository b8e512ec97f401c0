import type { GatewayState } from "../../agent/gateway/state.js";

/** A gateway with one node and a range of its peer's: it has something to hand on. */
export const GATEWAY_STATE: GatewayState = {
  tunnel: { device: "liqo-tunnel", address: "169.254.18.1", peerAddress: "169.254.18.2", mtu: 1340 },
  local: { pods: ["10.244.0.0/16"], external: [] },
  remote: { pods: [{ real: "10.245.0.0/16", mapped: "10.71.0.0/16" }], external: [] },
  linkAddress: "10.80.0.9",
  nodes: [
    {
      ...{ name: "n1", device: "liqo.n1", id: 1, linkAddress: "10.80.0.1" },
      ...{ underlay: "192.0.2.1", pods: ["10.244.1.0/24"], isOwn: true },
    },
  ],
  mappings: [],
};
