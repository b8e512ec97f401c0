import net from "node:net";
import { SIBLING_PORT } from "../constants.js";

const INTERVAL_MS = 500;
/** More than any Deployment of gateways has. */
const MAX_CONNECTIONS = 16;

/** A listener that has not answered for this long may soon believe this process gone: it must be known here before it is known there (SILENCE_MS). */
const UNANSWERED_MS = 1_200;

/**
 * Lets the other replicas hear that this process lives and serves: its end closes their connections at once, and a host that has gone is noticed
 * by the silence. What they answer tells only that they hear it.
 */
export class HeartbeatServer {
  /** And when they were heard last. */
  private readonly sockets = new Map<net.Socket, number>();
  private readonly server = net.createServer((socket) => this.welcome(socket));
  private timer?: NodeJS.Timeout;

  /** @param serves whether there is a heartbeat: one that has left its place and lives on must not be taken for the one that serves */
  constructor(
    private readonly port = SIBLING_PORT,
    private readonly serves: () => boolean = () => true,
  ) {
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  /** Whether another replica hears this one just now. */
  get isHeard(): boolean {
    return [...this.sockets.values()].some((heardAt) => Date.now() - heardAt < UNANSWERED_MS);
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
    for (const socket of this.sockets.keys()) socket.destroy();
    this.server.close();
  }

  private welcome(socket: net.Socket): void {
    this.sockets.set(socket, 0);
    this.timer ??= setInterval(() => this.beat(), INTERVAL_MS);
    socket.setNoDelay(true).on("data", () => this.sockets.set(socket, Date.now()));
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.sockets.delete(socket);
      if (this.sockets.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    });
    if (this.serves()) socket.write(".");
  }

  private beat(): void {
    if (!this.serves()) return;
    for (const socket of this.sockets.keys()) socket.write(".");
  }
}
