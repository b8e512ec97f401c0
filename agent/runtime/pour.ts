import type { Readable, Writable } from "node:stream";

/** So many bytes may wait for the other side before no more are taken. */
const MOST_WAITING = 2 ** 18;
/** So many are taken in one turn of the event loop: a fast stream must leave time for all else that the process does. */
const MOST_AT_ONCE = 2 ** 16;

/**
 * Copies a stream to its end, as pipe does, but what arrives in one turn of the event loop goes on in one write. A TLS connection hands on each of its
 * records by itself, and of followed logs each line is one: passing on a line costs many times what its bytes do. Breaks of either side are the caller's
 * matter.
 */
export function pour(from: Readable, to: Writable): void {
  let taken: Buffer[] = [];
  let bytes = 0;
  const passOn = (): void => {
    if (taken.length === 0) return;
    const chunk = taken.length === 1 ? taken[0] : Buffer.concat(taken, bytes);
    taken = [];
    bytes = 0;
    if (!to.destroyed && !to.writableEnded) to.write(chunk);
  };
  const endTurn = (): void => {
    passOn();
    if (to.writableLength < MOST_WAITING || to.destroyed) return void from.resume();
    from.pause();
    to.once("drain", () => from.resume());
  };
  from.on("data", (chunk: Buffer) => {
    if (taken.length === 0) setImmediate(endTurn);
    taken.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_AT_ONCE) from.pause();
  });
  from.on("end", () => {
    passOn();
    to.end();
  });
}
