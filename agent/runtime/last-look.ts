import type { KubeClient } from "./kube-client.js";
import { KubeError } from "./kube-error.js";

/** An informer, whatever it keeps. */
export interface Refreshable {
  refresh(client: KubeClient, signal: AbortSignal): Promise<void>;
}

/** What a last look has shown: all as it is now, an API server that knows none of it any more, or nothing certain. */
export type LastLook = "current" | "gone" | "unknown";

/** Who is unknown, who may see nothing any more, and kinds that are not served. */
const GONE_CODES: readonly number[] = [401, 403, 404];

/**
 * Looks at everything once more, for a process that ends: what it knows may be old without its having been told, as after its node was cut off. An API server that
 * answers, and refuses all of it, has had the installation taken away: accounts, rights and kinds go last.
 */
export async function lastLook(
  sources: readonly Refreshable[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<LastLook> {
  const looks = await Promise.allSettled(sources.map((source) => source.refresh(client, signal)));
  const failures = looks.flatMap((look) => (look.status === "rejected" ? [look.reason as unknown] : []));
  if (failures.length === 0) return "current";
  const isRefused = (error: unknown): boolean => error instanceof KubeError && GONE_CODES.includes(error.code);
  return failures.length === looks.length && failures.every(isRefused) ? "gone" : "unknown";
}
