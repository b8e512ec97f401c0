import {
  CommandError,
  ipBatch,
  ipQuery,
  routeCommands,
  ruleCommands,
  type PresentRoute,
  type PresentRule,
  type Run,
} from "../net/index.js";
import { refusalText } from "./refusal.js";
import type { TablePlan } from "./routing-plan.js";

/** Marks the routes and rules of RouteConfigurations, apart from the agent's own: nothing else is ever changed or removed. */
export const CONFIGURED_PROTOCOL = 77;

/** Brings the host to these tables and no others of RouteConfigurations. Resolves to what stood in the way, by table. */
export async function applyTablePlans(run: Run, plans: readonly TablePlan[]): Promise<Map<number, string>> {
  const [allRules, routes] = await Promise.all([
    ipQuery<PresentRule>(run, ["-4", "rule", "show"]),
    ipQuery<PresentRoute>(run, ["-4", "route", "show", "table", "all", "proto", String(CONFIGURED_PROTOCOL)]),
  ]);
  const rules = allRules.filter(({ protocol }) => protocol === String(CONFIGURED_PROTOCOL));
  const present = new Set([...rules, ...routes].map(({ table }) => Number(table)));
  const wanted = new Map(plans.map((plan) => [plan.id, plan]));
  const problems = new Map<number, string>();
  for (const id of new Set([...present, ...wanted.keys()])) {
    const inTable = ({ table }: { table?: string }): boolean => Number(table) === id;
    const plan = wanted.get(id) ?? { rules: [], routes: [] };
    try {
      await ipBatch(run, [
        ...routeCommands(id, plan.routes, routes.filter(inTable), CONFIGURED_PROTOCOL),
        ...ruleCommands(plan.rules, rules.filter(inTable), CONFIGURED_PROTOCOL),
      ]);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      problems.set(id, refusalText(error));
    }
  }
  return problems;
}
