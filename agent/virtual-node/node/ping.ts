import { findCondition, messageOf } from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";

const TIMEOUT_MS = 1_000;

/**
 * Whether the provider's API server answers: as its ForeignCluster says, or, where that says nothing, by asking
 * (offloading specification, §3).
 */
export async function isProviderAlive({ state, remote, logger }: VirtualNodeContext): Promise<boolean> {
  const condition = findCondition(state.foreignCluster?.status?.conditions, "APIServerStatus");
  if (condition && condition.status !== "None") return condition.status === "Established";
  try {
    await remote.text("/livez", { timeoutMs: TIMEOUT_MS });
    return true;
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, "the provider's API server does not answer");
    return false;
  }
}
