import { messageOf } from "../../agent/runtime/kube-error.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** A terminal tells all that runs in it of Ctrl-C, and npm and scripts/run.mjs pass on what they hear: within this time it is one and the same. */
const SAME_MS = 1_000;

/** Tells when this program is to end (Ctrl-C, its terminal closed, its job cancelled), and once more if that is asked again. Returns what ends it. */
export function onInterruption(listener: (isAgain: boolean) => void): () => void {
  let first = 0;
  const hear = (): void => {
    if (first !== 0 && Date.now() - first < SAME_MS) return;
    const isAgain = first !== 0;
    first ||= Date.now();
    listener(isAgain);
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  return () => {
    for (const signal of SIGNALS) process.removeListener(signal, hear);
  };
}

/** Has this program, when it is to end, do that first, and say what it does. Asked again it ends at once. */
export function whenInterrupted(doing: string, tidy: () => Promise<unknown>): void {
  onInterruption((isAgain) => {
    if (isAgain) process.exit(130);
    console.error(`\ninterrupted: ${doing}`);
    tidy()
      .catch((error: unknown) => console.error(messageOf(error)))
      .finally(() => process.exit(130));
  });
}
