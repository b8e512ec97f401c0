import { ipBatch, ipQuery, type Run } from "../net/index.js";
import { OWN_ADDRESS } from "./constants.js";

interface PresentAddresses {
  ifname?: string;
  addr_info?: { family?: string; local?: string; scope?: string }[];
}

export interface OwnAddress {
  device: string;
  address: string;
}

/** The IPv4 addresses that the gateway's pod has from the CNI. */
export async function ownAddresses(run: Run): Promise<OwnAddress[]> {
  const links = await ipQuery<PresentAddresses>(run, ["-4", "address", "show", "scope", "global"]);
  return links
    .filter(({ ifname = "" }) => !ifname.startsWith("liqo") && ifname !== "lo")
    .flatMap(({ ifname: device = "", addr_info = [] }) =>
      addr_info.flatMap(({ local }) => (local ? [{ device, address: local }] : [])),
    );
}

/**
 * Lets the gateway forward packets from and to a remote pod whose real address equals the gateway pod's own, as happens where both clusters use
 * the same pod range. The kernel looks at local addresses before anything else; so the pod's own address moves into a table that is asked
 * after those of the tunnel and of the nodes' links, which never carry anything for it. Idempotent.
 */
export async function yieldOwnAddress(run: Run): Promise<void> {
  const own = await ownAddresses(run);
  const rules = await ipQuery<{ priority: number }>(run, ["rule", "show"]);
  const { table, priority } = OWN_ADDRESS;
  await ipBatch(run, [
    ...own.map(({ device, address }) => `route replace local ${address} dev ${device} table ${table}`),
    ...(rules.some((rule) => rule.priority === priority) ? [] : [`rule add priority ${priority} table ${table}`]),
  ]);
  const local = await ipQuery<{ type?: string; dst?: string; dev?: string }>(run, ["route", "show", "table", "local"]);
  const removable = own.filter((one) =>
    local.some(({ type, dst, dev }) => type === "local" && dst === one.address && dev === one.device),
  );
  await ipBatch(
    run,
    removable.map((one) => `route del local ${one.address} dev ${one.device} table local`),
  );
}
