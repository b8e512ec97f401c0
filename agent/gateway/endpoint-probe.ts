import dgram from "node:dgram";
import { delay } from "../runtime/backoff.js";
import { splitEndpoint } from "./endpoint-text.js";

/** Hosts answer so about once a second, and WireGuard's own packets to the port use that up, too. */
const TRIES = 12;
const TRY_MS = 200;

/**
 * Whether the host of an endpoint says that nothing listens on the UDP port. Silence is no answer either way: WireGuard itself is silent to all but
 * its peers.
 */
export async function isPortRefused(endpoint: string): Promise<boolean> {
  const { address, port } = splitEndpoint(endpoint);
  const socket = dgram.createSocket("udp4");
  const refused = new AbortController();
  socket.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "ECONNREFUSED") refused.abort();
  });
  try {
    await new Promise<void>((resolve) => socket.connect(port, address, resolve));
    for (let left = TRIES; left > 0 && !refused.signal.aborted; left -= 1) {
      socket.send(Buffer.alloc(1), () => undefined);
      await delay(TRY_MS, refused.signal);
    }
    return refused.signal.aborted;
  } finally {
    socket.close();
  }
}
