import { ipBatch, ipQuery, type Run } from "../net/index.js";
import { OWN_ADDRESS } from "./constants.js";

interface PresentAddresses {
  ifname?: string;
  addr_info?: { family?: string; local?: string; scope?: string }[];
}

/**
 * Lets the gateway forward packets from and to a remote pod whose real address equals the gateway pod's own, as happens where both clusters use
 * the same pod range. The kernel looks at local addresses before anything else; so the pod's own address moves into a table that is asked
 * after those of the tunnel and of the nodes' links, which never carry anything for it. Idempotent.
 */
export async function yieldOwnAddress(run: Run): Promise<void> {
  const links = await ipQuery<PresentAddresses>(run, ["-4", "address", "show", "scope", "global"]);
  const own = links
    .filter(({ ifname = "" }) => !ifname.startsWith("liqo") && ifname !== "lo")
    .flatMap(({ ifname, addr_info = [] }) => addr_info.flatMap(({ local }) => (local ? [{ ifname, local }] : [])));
  const rules = await ipQuery<{ priority: number }>(run, ["rule", "show"]);
  const { table, priority } = OWN_ADDRESS;
  await ipBatch(run, [
    ...own.map(({ ifname, local }) => `route replace local ${local} dev ${ifname} table ${table}`),
    ...(rules.some((rule) => rule.priority === priority) ? [] : [`rule add priority ${priority} table ${table}`]),
  ]);
  const local = await ipQuery<{ type?: string; dst?: string; dev?: string }>(run, ["route", "show", "table", "local"]);
  const removable = own.filter((one) =>
    local.some(({ type, dst, dev }) => type === "local" && dst === one.local && dev === one.ifname),
  );
  await ipBatch(
    run,
    removable.map((one) => `route del local ${one.local} dev ${one.ifname} table local`),
  );
}
