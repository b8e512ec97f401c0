import { Ports } from "../api/names.js";

/** The tunnel's network device, the same in every gateway (network specification, §6). */
export const TUNNEL_DEVICE = "liqo-tunnel";
export const SERVER_ADDRESS = "169.254.18.1";
export const CLIENT_ADDRESS = "169.254.18.2";
export const TUNNEL_PREFIX = 30;

/** UDP port of the connection check (network specification, §7). */
export const CONNECTION_CHECK_PORT = Ports.connectionCheck;

/** UDP port on which gateways tell each other how large a packet has arrived. */
export const PATH_PROBE_PORT = 12_346;

/** TCP port on which replicas of one gateway hear each other. */
export const SIBLING_PORT = 12_347;

/** What WireGuard adds to a packet over IPv4: IP 20, UDP 8, header and tag 32 bytes (network specification, §14). */
export const WIREGUARD_OVERHEAD = 60;

/** MTU when none is given: a common cloud path less WireGuard's overhead (network specification, §14). */
export const DEFAULT_MTU = 1340;

/** Routing tables inside a gateway, and the priorities of the rules that lead to them. */
export const FROM_TUNNEL = { table: 27_754, priority: 100 } as const;
export const TO_TUNNEL = { table: 27_755, priority: 101 } as const;

/** Where the pod's own address is found by all but what comes from the tunnel and from the nodes' links. */
export const OWN_ADDRESS = { table: 27_756, priority: 102 } as const;

export const FIELD_MANAGER = "liqo-gateway";
