import { Annotations } from "./annotations.js";

/** Where a gateway server is reached: IP addresses or DNS names, and the UDP port. */
export interface ServerEndpoint {
  addresses: string[];
  port: number;
}

/** What somebody else has said, before it is looked at. */
export interface SaidEndpoint {
  addresses?: unknown;
  port?: unknown;
}

/** More than a client could try one by one; another cluster has written them. */
const MAX_ADDRESSES = 64;
const HOST = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?\.?$/;

/** What is said, without what is no address. Undefined where that leaves nothing to reach. */
export function serverEndpointOf({ addresses, port }: SaidEndpoint = {}): ServerEndpoint | undefined {
  const isPort = typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65_535;
  if (!isPort || !Array.isArray(addresses)) return undefined;
  const usable = addresses.filter((address): address is string => typeof address === "string" && HOST.test(address));
  return usable.length > 0 ? { addresses: usable.slice(0, MAX_ADDRESSES), port } : undefined;
}

/**
 * Where the server of a client that was given `given` is now, by the annotation `networking.liqo.io/server-endpoint` of its Connection. Undefined where there is
 * none that can be read, or where it is about an endpoint that the client was given before.
 */
export function announcedEndpoint(
  annotations: Record<string, string> | undefined,
  given: ServerEndpoint,
): ServerEndpoint | undefined {
  try {
    const said = JSON.parse(annotations?.[Annotations.serverEndpoint] ?? "null") as Announcement | null;
    return said?.given === firstOf(given) ? serverEndpointOf(said) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The annotation by which a client that was given `given` follows its server, which says that it is reached at `said`. Undefined where nothing changes; and where
 * the server has never said that it is where the client was told to look, which is an address of a translator's then, or a wrong one: neither is for anybody to replace.
 */
export function endpointAnnouncement(
  annotations: Record<string, string> | undefined,
  given: ServerEndpoint,
  { addresses, port }: ServerEndpoint,
): Record<string, string> | undefined {
  const present = announcedEndpoint(annotations, given);
  const [address = ""] = given.addresses;
  const isThere = port === given.port && addresses.includes(address);
  if (!isThere && !present) return undefined;
  const text = JSON.stringify({ addresses, port, given: firstOf(given) } satisfies Announcement);
  return annotations?.[Annotations.serverEndpoint] === text ? undefined : { [Annotations.serverEndpoint]: text };
}

interface Announcement extends SaidEndpoint {
  /** The endpoint in whose place this is, "address:port". */
  given?: unknown;
}

/** Of several addresses the first is told to gateways by any template. */
function firstOf({ addresses, port }: ServerEndpoint): string {
  return `${addresses[0]}:${port}`;
}
