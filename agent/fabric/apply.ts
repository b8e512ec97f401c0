import { NftablesTable, applyRouting, applyVxlan, type Run } from "../net/index.js";
import { FABRIC, fabricLinks, fabricRouting, fabricRuleset } from "./plan.js";
import type { FabricState } from "./state.js";

/** Brings the node to the state. Rules come before links, so that no packet leaves with an address that it must not have. */
export async function applyFabric(run: Run, table: NftablesTable, state: FabricState): Promise<boolean> {
  const rules = await table.apply(fabricRuleset(state));
  const links = await applyVxlan(run, fabricLinks(state));
  const routes = await applyRouting(run, fabricRouting(state));
  return rules || links || routes;
}

/** Takes everything of ours off the node, whoever put it there. */
export async function removeFabric(run: Run, table: NftablesTable): Promise<boolean> {
  const routes = await applyRouting(run, { rules: [], tables: [{ id: FABRIC.table, routes: [] }] });
  const links = await applyVxlan(run, []);
  const rules = await table.exists();
  if (rules) await table.remove();
  return rules || links || routes;
}
