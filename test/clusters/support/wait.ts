import { setTimeout as delay } from "node:timers/promises";

/** Thrown by a probe when waiting on is of no use. */
export class Hopeless extends Error {}

/** Asks a process that offers no watch until it gives an answer; after the deadline (milliseconds) tells the last reason. */
export async function until<T>(
  what: string,
  deadline: number,
  probe: () => Promise<T | undefined> | T | undefined,
  interval = 100,
): Promise<T> {
  const end = Date.now() + deadline;
  let reason: unknown;
  for (;;) {
    try {
      const answer = await probe();
      if (answer !== undefined) return answer;
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      reason = error;
    }
    if (Date.now() > end) {
      const last = reason instanceof Error ? `: ${reason.message}` : "";
      throw new Error(`${what}: not within ${deadline / 1000} s${last}`);
    }
    await delay(interval);
  }
}
