import type { Readable, Writable } from "node:stream";

/** So many bytes may wait for the other side before no more are taken. */
const MOST_WAITING = 2 ** 20;

/**
 * Copies a stream to its end, as pipe does, but what arrives in one turn of the event loop goes on in one write. A TLS connection hands on each of its
 * records by itself, and of followed logs each line is one: passing on a line costs many times what its bytes do. Breaks of either side are the caller's
 * matter.
 */
export function pour(from: Readable, to: Writable): void {
  let waiting: Buffer[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (waiting.length === 0) return;
    const chunk = waiting.length === 1 ? waiting[0] : Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
    if (to.destroyed || to.writableEnded) return;
    to.write(chunk);
    if (to.writableLength < MOST_WAITING) return;
    from.pause();
    to.once("drain", () => from.resume());
  };
  from.on("data", (chunk: Buffer) => {
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_WAITING) flush();
  });
  from.on("end", () => {
    flush();
    to.end();
  });
}
