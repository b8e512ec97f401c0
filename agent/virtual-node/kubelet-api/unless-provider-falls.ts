import { KubeError, delay } from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";
import { isProviderAlive } from "../node/ping.js";

/** How often it is asked whether there is still anybody to wait for (milliseconds). */
const LOOK_MS = 5_000;

/**
 * Waits for an answer of the provider's API server as long as that lives: logs that are followed may be silent for hours, so that there is no
 * deadline to wait for, but a provider out of reach never answers. `ask` must let go as its signal says.
 *
 * @throws KubeError with code 0 when the provider's API server does not answer any more
 */
export async function unlessProviderFalls<T>(
  context: VirtualNodeContext,
  ask: (fallen: AbortSignal) => Promise<T>,
  lookMs = LOOK_MS,
): Promise<T> {
  const { foreignClusterId: provider } = context.config;
  const fallen = new AbortController();
  const answered = new AbortController();
  void watchOver(answered.signal, lookMs, async () => {
    if (await isProviderAlive(context)) return;
    const message = `the API server of cluster ${provider}, where the pod runs, does not answer`;
    fallen.abort(new KubeError(message, 0, "Unreachable", provider));
  });
  try {
    return await ask(fallen.signal);
  } catch (error) {
    throw fallen.signal.aborted ? fallen.signal.reason : error;
  } finally {
    answered.abort();
  }
}

async function watchOver(answered: AbortSignal, lookMs: number, look: () => Promise<void>): Promise<void> {
  while (!answered.aborted) {
    await delay(lookMs, answered);
    if (!answered.aborted) await look();
  }
}
