import {
  NftablesTable,
  addPortNeighbours,
  applyRouting,
  applyVxlan,
  findPortNeighbours,
  removeOtherPortNeighbours,
  type PortNeighbour,
  type Run,
} from "../net/index.js";
import { NO_ROUTING, fabricLinks, fabricRouting, fabricRuleset } from "./plan.js";
import type { FabricState } from "./state.js";

/** Brings the node to the state. Rules come before links, so that no packet leaves with an address that it must not have. */
export async function applyFabric(run: Run, table: NftablesTable, state: FabricState): Promise<boolean> {
  const atPorts = await gatewaysAtPorts(run, state);
  const rules = await table.apply(fabricRuleset(state, atPorts));
  const links = await applyVxlan(run, fabricLinks(state));
  await addPortNeighbours(run, atPorts);
  const routes = await applyRouting(run, fabricRouting(state, atPorts));
  await removeOtherPortNeighbours(run, atPorts);
  return rules || links || routes;
}

async function gatewaysAtPorts(run: Run, { localAddress, links }: FabricState): Promise<PortNeighbour[]> {
  // Without the address that gateways know this node by, packets would leave from another.
  if (localAddress === undefined) return [];
  const gateways = links.map(({ gateway }) => gateway);
  return findPortNeighbours(run, gateways);
}

/** Takes everything of ours off the node, whoever put it there. */
export async function removeFabric(run: Run, table: NftablesTable): Promise<boolean> {
  const routes = await applyRouting(run, NO_ROUTING);
  const neighbours = await removeOtherPortNeighbours(run, []);
  const links = await applyVxlan(run, []);
  const rules = await table.exists();
  if (rules) await table.remove();
  return rules || links || routes || neighbours;
}
