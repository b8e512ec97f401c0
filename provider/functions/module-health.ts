import type { ForeignClusterModule } from "../../agent/api/index.js";
import { isGoodState } from "../../agent/api/module-state.js";

/** As Liqo's `info` calls a module's state. */
export type Health = "Healthy" | "Unhealthy" | "Disabled" | "Unknown";

export function moduleHealth(module: ForeignClusterModule | undefined): Health {
  if (!module?.enabled) return "Disabled";
  // Without any, as of an identity made by hand, nothing is wrong.
  return (module.conditions ?? []).every(({ status }) => isGoodState(status)) ? "Healthy" : "Unhealthy";
}

/** What the module's conditions complain about, in their own words. */
export function moduleAlerts(module: ForeignClusterModule | undefined): string[] {
  if (!module?.enabled) return [];
  return (module.conditions ?? [])
    .filter(({ status }) => !isGoodState(status))
    .map(({ type, status, message }) => `${type}: ${[status, message].filter(Boolean).join(", ")}`);
}
