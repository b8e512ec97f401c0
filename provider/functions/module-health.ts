import type { ForeignClusterModule } from "../../agent/api/index.js";

/** As Liqo's `info` calls a module's state. */
export type Health = "Healthy" | "Unhealthy" | "Disabled";

const GOOD = new Set(["Ready", "Established", "None"]);

export function moduleHealth(module: ForeignClusterModule | undefined): Health {
  if (!module?.enabled) return "Disabled";
  return module.conditions?.every(({ status }) => GOOD.has(status ?? "None")) ? "Healthy" : "Unhealthy";
}

/** What the module's conditions complain about, in their own words. */
export function moduleAlerts(module: ForeignClusterModule | undefined): string[] {
  if (!module?.enabled) return [];
  return (module.conditions ?? [])
    .filter(({ status }) => !GOOD.has(status ?? "None"))
    .map(({ type, status, message }) => `${type}: ${[status, message].filter(Boolean).join(", ")}`);
}
