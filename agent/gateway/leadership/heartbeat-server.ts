import net from "node:net";
import { SIBLING_PORT } from "../constants.js";

const INTERVAL_MS = 500;
/** More than any Deployment of gateways has. */
const MAX_CONNECTIONS = 16;

/**
 * Lets the other replicas hear that this process lives: its end closes their connections at once, and a host that has gone is noticed by
 * the silence. Nothing that is sent here is read.
 */
export class HeartbeatServer {
  private readonly sockets = new Set<net.Socket>();
  private readonly server = net.createServer((socket) => this.welcome(socket));
  private timer?: NodeJS.Timeout;

  constructor(private readonly port = SIBLING_PORT) {
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(this.port, () => {
        this.server.off("error", reject);
        resolve();
      });
    });
  }

  close(): void {
    clearInterval(this.timer);
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private welcome(socket: net.Socket): void {
    this.sockets.add(socket);
    this.timer ??= setInterval(() => this.beat(), INTERVAL_MS);
    socket.setNoDelay(true).resume();
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.sockets.delete(socket);
      if (this.sockets.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    });
    socket.write(".");
  }

  private beat(): void {
    for (const socket of this.sockets) socket.write(".");
  }
}
