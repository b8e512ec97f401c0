import type { Duplex } from "node:stream";
import { pour } from "./pour.js";

const KEEP_ALIVE_MS = 30_000;

/** Copies both ways with backpressure; an end of one side is passed on as a half close, a break as a break. */
export function joinStreams(a: Duplex, b: Duplex): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.allowHalfOpen = true;
    quiet(from);
    pour(from, to);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      if (!from.readableEnded || from.errored) to.destroy();
    });
  }
}

/** A quiet stream is no dead one: whether the other end is still there is asked by TCP. */
function quiet(socket: Duplex): void {
  if ("setTimeout" in socket && "setKeepAlive" in socket && "setNoDelay" in socket) {
    const tcp = socket as Duplex & {
      setTimeout(ms: number): void;
      setKeepAlive(on: boolean, ms: number): void;
      setNoDelay(on: boolean): void;
    };
    tcp.setTimeout(0);
    tcp.setKeepAlive(true, KEEP_ALIVE_MS);
    tcp.setNoDelay(true);
  }
}
