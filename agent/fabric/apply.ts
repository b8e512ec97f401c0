import {
  NftablesTable,
  addPortNeighbours,
  applyDirect,
  applyRouting,
  applyVxlan,
  findPodPorts,
  isPassable,
  portNeighbours,
  readDirect,
  removeOtherPortNeighbours,
  type Run,
} from "../net/index.js";
import { NO_ROUTING, directLinks, fabricLinks, fabricRouting, fabricRuleset } from "./plan.js";
import type { FabricState } from "./state.js";

export interface FabricOptions {
  run: Run;
  table: NftablesTable;
  /** Told why a gateway on this node has no direct link, which it can do without. */
  onNoDirectLink?: (reason: unknown) => void;
}

/** Brings the node to the state. Rules come before links, so that no packet leaves with an address that it must not have. */
export async function applyFabric({ run, table, onNoDirectLink }: FabricOptions, state: FabricState): Promise<boolean> {
  const ports = await findPodPorts(
    run,
    state.links.map(({ gateway }) => gateway),
  );
  // Without the address that gateways know this node by, packets would leave from another.
  const atPorts = state.localAddress === undefined ? [] : await portNeighbours(run, ports);
  const rules = await table.apply(fabricRuleset(state, atPorts));
  const links = await applyVxlan(run, fabricLinks(state));
  const direct = await applyDirect(run, directLinks(state, ports)).catch((error: unknown) => onNoDirectLink?.(error));
  await addPortNeighbours(run, atPorts);
  const passable = (await readDirect(run, "node")).links.filter(isPassable).map(({ ifname }) => ifname);
  const routes = await applyRouting(run, fabricRouting(state, atPorts, passable));
  await removeOtherPortNeighbours(run, atPorts);
  return rules || links || direct === true || routes;
}

/** Takes everything of ours off the node, whoever put it there. */
export async function removeFabric(run: Run, table: NftablesTable): Promise<boolean> {
  const routes = await applyRouting(run, NO_ROUTING);
  const neighbours = await removeOtherPortNeighbours(run, []);
  const direct = await applyDirect(run, []);
  const links = await applyVxlan(run, []);
  const rules = await table.exists();
  if (rules) await table.remove();
  return rules || links || direct || routes || neighbours;
}
