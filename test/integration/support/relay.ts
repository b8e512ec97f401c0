import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** A way to a server on loopback that can fall silent without a word, as a network does when a cable is cut. */
export interface Relay {
  port: number;
  /** Connections that were made through it. */
  connections(): number;
  /** Carries nothing any more; connections stay open, and new ones are taken but lead nowhere. */
  freeze(): void;
  /** Carries new connections again. Those of before stay open and dead, as behind a firewall that has forgotten them. */
  thaw(): void;
  /** Breaks all connections, and goes on. */
  breakConnections(): void;
  close(): void;
}

/**
 * @param target the server's URL, asked for at each connection
 * @param options proxy: speaks HTTP CONNECT, and leads to the server whatever is asked for
 */
export async function startRelay(target: () => string, options: { proxy?: boolean } = {}): Promise<Relay> {
  const pairs = new Set<Pair>();
  let connections = 0;
  let isFrozen = false;
  const join = (incoming: Duplex, greeting = ""): void => {
    connections += 1;
    const pair = new Pair(incoming, Number(new URL(target()).port));
    pairs.add(pair);
    incoming.once("close", () => pairs.delete(pair));
    if (isFrozen) return pair.die();
    incoming.write(greeting);
  };
  const server = options.proxy
    ? http.createServer().on("connect", (_request, socket) => join(socket, "HTTP/1.1 200 OK\r\n\r\n"))
    : net.createServer((socket) => join(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const breakConnections = (): void => [...pairs].forEach((pair) => pair.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    freeze: () => {
      isFrozen = true;
      pairs.forEach((pair) => pair.die());
    },
    thaw: () => (isFrozen = false),
    breakConnections,
    close: () => {
      server.close();
      breakConnections();
    },
  };
}

/** A connection and the one that it leads to. */
class Pair {
  private isDead = false;
  private readonly upstream: net.Socket;

  constructor(
    private readonly incoming: Duplex,
    port: number,
  ) {
    this.upstream = net.connect(port, "127.0.0.1");
    for (const end of [this.incoming, this.upstream]) {
      end.on("error", () => undefined);
      end.once("close", () => !this.isDead && this.destroy());
    }
    incoming.on("data", (bytes: Buffer) => !this.isDead && this.upstream.write(bytes));
    this.upstream.on("data", (bytes) => !this.isDead && incoming.write(bytes));
  }

  die(): void {
    this.isDead = true;
    this.upstream.destroy();
  }

  destroy(): void {
    this.incoming.destroy();
    this.upstream.destroy();
  }
}
