import { serverEndpointOf, type SaidEndpoint, type ServerEndpoint } from "../api/index.js";
import { MAX_MESSAGE_BYTES } from "./ping-message.js";

const TYPE = "ENDPOINT";

/**
 * What a server says through the tunnel of where it is reached (network specification, §15: other message types are passed over by Liqo). Addresses for
 * which a datagram has no room are left out, the last ones first.
 */
export function endpointMessage(clusterID: string, { addresses, port }: ServerEndpoint): Buffer {
  const message = Buffer.from(JSON.stringify({ clusterID, msgType: TYPE, addresses, port }));
  if (message.length <= MAX_MESSAGE_BYTES || addresses.length <= 1) return message;
  return endpointMessage(clusterID, { addresses: addresses.slice(0, -1), port });
}

/** The endpoint, or undefined for anything else that somebody may send. */
export function parseEndpointMessage(datagram: Buffer): ServerEndpoint | undefined {
  if (datagram.length > MAX_MESSAGE_BYTES) return undefined;
  try {
    const message = JSON.parse(datagram.toString("utf8")) as (SaidEndpoint & { msgType?: unknown }) | null;
    return message?.msgType === TYPE ? serverEndpointOf(message) : undefined;
  } catch {
    return undefined;
  }
}
