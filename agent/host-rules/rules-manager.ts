import { createHash } from "node:crypto";

/** The API server takes no longer names of managers. */
const MANAGER_MAX = 128;

/** The field manager that owns a host's conditions under server-side apply, by what stays the same whichever pod speaks for the host: a node's name, or gatewayRuleOwner. */
export function rulesManager(owner: string): string {
  const name = `liqo-rules-${owner}`;
  return name.length <= MANAGER_MAX ? name : `liqo-rules-${createHash("sha256").update(owner).digest("hex")}`;
}

/** A gateway as the owner of its conditions, by its namespace and name. */
export function gatewayRuleOwner({ namespace, name }: { namespace?: string; name?: string }): string {
  return `${namespace}-${name}`;
}
