import net from "node:net";
import { SIBLING_PORT } from "../constants.js";

/** What is known of another replica's process. `dead`: its host answers that nothing listens any more. */
export type SiblingState = "unknown" | "alive" | "silent" | "dead";

/** Three heartbeats. */
export const SILENCE_MS = 1_500;
const RETRY_MS = 500;

/** Listens to the heartbeats of one other replica, the one that serves. */
export class HeartbeatListener {
  private current: SiblingState = "unknown";
  private address?: string;
  private socket?: net.Socket;
  private silence?: NodeJS.Timeout;
  private retry?: NodeJS.Timeout;

  constructor(
    private readonly onChange: () => void,
    private readonly port = SIBLING_PORT,
  ) {}

  get state(): SiblingState {
    return this.current;
  }

  /** Listens to the replica at this address (undefined: to none) from now on. */
  follow(address: string | undefined): void {
    if (address === this.address) return;
    this.hangUp();
    this.address = address;
    this.current = "unknown";
    this.connect();
  }

  close(): void {
    this.hangUp();
    this.address = undefined;
  }

  private connect(): void {
    if (this.address === undefined) return;
    const socket = net.connect({ host: this.address, port: this.port });
    this.socket = socket;
    let failure: NodeJS.ErrnoException | undefined;
    this.expectBeat();
    socket.on("data", () => {
      this.expectBeat();
      // So that the one that serves knows that it is heard.
      socket.write(".");
      this.change("alive");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => (failure = error));
    socket.on("close", () => {
      if (socket !== this.socket) return;
      const wasAlive = this.current === "alive";
      if (failure?.code === "ECONNREFUSED") this.change("dead");
      // A process that ends closes; whether it has ended tells the next attempt.
      this.retry = setTimeout(() => this.connect(), wasAlive ? 0 : RETRY_MS);
    });
  }

  private expectBeat(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      if (this.current !== "dead") this.change("silent");
      this.socket?.destroy();
    }, SILENCE_MS);
  }

  private change(state: SiblingState): void {
    if (state === this.current) return;
    this.current = state;
    this.onChange();
  }

  private hangUp(): void {
    clearTimeout(this.silence);
    clearTimeout(this.retry);
    const { socket } = this;
    this.socket = undefined;
    socket?.destroy();
  }
}
