import { until } from "../../clusters/support/wait.js";

const SETTLE_MS = 30_000;

/** Waits until the objects are those that are wanted, no more and no fewer; says at the end which are too many and which are missing. */
export function untilOnly(wanted: readonly string[], what: string, objects: () => Promise<string[]>): Promise<unknown> {
  return until(what, SETTLE_MS, async () => {
    const now = await objects();
    const [more, less] = [now.filter((one) => !wanted.includes(one)), wanted.filter((one) => !now.includes(one))];
    if (more.length + less.length > 0) throw new Error(`too many: ${more.join(", ")}; missing: ${less.join(", ")}`);
    return true;
  });
}
