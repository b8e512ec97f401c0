import type { Readable, Writable } from "node:stream";

/** So many bytes may wait for the other side before no more are taken. */
const MOST_WAITING = 2 ** 18;
/** So many are taken in one turn of the event loop: a fast stream must leave time for all else that the process does. */
const MOST_AT_ONCE = 2 ** 16;

/** What is as large as this is worth a write of its own, and not worth a copy. */
const LARGE = 2 ** 12;

/**
 * Copies a stream to its end, as pipe does, but what arrives in small pieces in one turn of the event loop goes on in one write. A TLS connection hands on
 * each of its records by itself, and of followed logs each line is one: passing on a line costs many times what its bytes do. Breaks of either side are
 * the caller's matter.
 */
export function pour(from: Readable, to: Writable): void {
  let small: Buffer[] = [];
  let bytesOfTurn = 0;
  const write = (chunk: Buffer): void => {
    if (!to.destroyed && !to.writableEnded) to.write(chunk);
  };
  const passOn = (): void => {
    const [first, ...others] = small;
    if (!first) return;
    small = [];
    write(others.length === 0 ? first : Buffer.concat([first, ...others]));
  };
  const endTurn = (): void => {
    passOn();
    bytesOfTurn = 0;
    if (to.writableLength < MOST_WAITING || to.destroyed) return void from.resume();
    from.pause();
    to.once("drain", () => from.resume());
  };
  from.on("data", (chunk: Buffer) => {
    if (bytesOfTurn === 0) setImmediate(endTurn);
    bytesOfTurn += chunk.length;
    if (chunk.length < LARGE) {
      small.push(chunk);
    } else {
      passOn();
      write(chunk);
    }
    if (bytesOfTurn >= MOST_AT_ONCE) from.pause();
  });
  from.on("end", () => {
    passOn();
    to.end();
  });
}
