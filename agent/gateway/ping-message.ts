/** The connection check's datagram (network specification, §7): one JSON object of at most 1024 bytes. */
export interface PingMessage {
  /** The ID of the cluster that is pinged; it comes back unchanged. */
  clusterID: string;
  msgType: "PING" | "PONG";
  /** The pinging side's clock, RFC 3339; it comes back unchanged. */
  timeStamp: string;
}

/** As much as Liqo reads of a datagram; it passes over what it does not know. */
export const MAX_MESSAGE_BYTES = 1024;

export function pingMessage(clusterID: string, timeStamp: string): Buffer {
  return Buffer.from(JSON.stringify({ clusterID, msgType: "PING", timeStamp } satisfies PingMessage));
}

/** The message, or undefined for anything else that somebody may send. */
export function parsePingMessage(datagram: Buffer): PingMessage | undefined {
  if (datagram.length > MAX_MESSAGE_BYTES) return undefined;
  try {
    const { clusterID, msgType, timeStamp } = JSON.parse(datagram.toString("utf8")) as Record<string, unknown>;
    if (typeof clusterID !== "string" || typeof timeStamp !== "string") return undefined;
    if (msgType !== "PING" && msgType !== "PONG") return undefined;
    return { clusterID, msgType, timeStamp };
  } catch {
    return undefined;
  }
}

/** The answer to a PING: the same with another type. */
export function pongMessage(ping: PingMessage): Buffer {
  return Buffer.from(JSON.stringify({ ...ping, msgType: "PONG" } satisfies PingMessage));
}

/** Latency as the Connection's status writes it: "12ms", "340μs", "N/A" when there is none. */
export function formatLatency(milliseconds: number): string {
  if (milliseconds <= 0) return "N/A";
  return milliseconds >= 1 ? `${Math.round(milliseconds)}ms` : `${Math.max(1, Math.round(milliseconds * 1000))}μs`;
}
