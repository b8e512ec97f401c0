import { CommandError, type Run } from "./command.js";
import { ROUTE_PROTOCOL, ipBatch, ipQuery } from "./ip.js";

export interface Route {
  /** A range such as "10.0.0.0/16"; a single address has no "/32"; "default" for all. */
  destination: string;
  /** Refuse silently instead of forwarding. */
  blackhole?: boolean;
  via?: string;
  device?: string;
  /** The address that the host itself uses towards the destination. */
  source?: string;
}

export interface Rule {
  priority: number;
  table: number;
  /** Only packets that came in by this interface. */
  incoming?: string;
}

/** A set of kernel routing tables that are wholly ours, and the policy rules that lead to them. */
export interface RoutingPlan {
  rules: Rule[];
  tables: { id: number; routes: Route[] }[];
}

interface PresentRoute {
  type?: string;
  dst: string;
  gateway?: string;
  dev?: string;
  prefsrc?: string;
}

interface PresentRule {
  priority: number;
  table?: string;
  iif?: string;
  protocol?: string;
}

/** The form in which iproute2 prints a destination. */
export function destinationText(cidr: string): string {
  if (cidr === "0.0.0.0/0") return "default";
  return cidr.endsWith("/32") ? cidr.slice(0, -3) : cidr;
}

/** The iproute2 commands that make a table hold exactly the desired routes. */
export function routeCommands(table: number, desired: readonly Route[], present: readonly PresentRoute[]): string[] {
  const wanted = new Map(desired.map((route) => [destinationText(route.destination), route]));
  const there = new Map(present.map((route) => [route.dst, route]));
  const removals = present
    .filter(({ dst }) => !wanted.has(dst))
    .map(({ dst, type }) => `route del ${type === "blackhole" ? "blackhole " : ""}${dst} table ${table}`);
  const additions = [...wanted]
    .filter(([destination, route]) => !sameRoute(route, there.get(destination)))
    .map(
      ([destination, route]) => `route replace ${routeText(destination, route)} table ${table} proto ${ROUTE_PROTOCOL}`,
    );
  return [...removals, ...additions];
}

function sameRoute(route: Route, present: PresentRoute | undefined): boolean {
  return (
    present !== undefined &&
    (present.type === "blackhole") === (route.blackhole ?? false) &&
    present.gateway === route.via &&
    present.dev === route.device &&
    present.prefsrc === route.source
  );
}

function routeText(destination: string, { blackhole, via, device, source }: Route): string {
  if (blackhole) return `blackhole ${destination}`;
  return [
    destination,
    via ? `via ${via}` : "",
    device ? `dev ${device}` : "",
    via ? "onlink" : "scope link",
    source ? `src ${source}` : "",
  ]
    .filter((part) => part !== "")
    .join(" ");
}

/** The iproute2 commands that make the rules of ours exactly the desired ones. */
export function ruleCommands(desired: readonly Rule[], present: readonly PresentRule[]): string[] {
  const ours = present.filter(({ protocol }) => protocol === String(ROUTE_PROTOCOL)).map(fromPresent);
  const wanted = new Map(desired.map((rule) => [ruleText(rule), rule]));
  const seen = new Set<string>();
  const removals = ours.map(ruleText).filter((text) => {
    const superfluous = !wanted.has(text) || seen.has(text);
    seen.add(text);
    return superfluous;
  });
  return [
    ...[...wanted.keys()]
      .filter((text) => !seen.has(text))
      .map((text) => `rule add ${text} protocol ${ROUTE_PROTOCOL}`),
    ...removals.map((text) => `rule del ${text} protocol ${ROUTE_PROTOCOL}`),
  ];
}

function fromPresent({ priority, table, iif }: PresentRule): Rule {
  return { priority, table: Number(table), ...(iif ? { incoming: iif } : {}) };
}

function ruleText({ priority, incoming, table }: Rule): string {
  return `priority ${priority}${incoming ? ` iif ${incoming}` : ""} lookup ${table}`;
}

async function readRoutes(run: Run, table: number): Promise<PresentRoute[]> {
  try {
    return await ipQuery<PresentRoute>(run, ["-4", "route", "show", "table", String(table)]);
  } catch (error) {
    // The kernel has no table before its first route.
    if (error instanceof CommandError && error.standardError.includes("FIB table does not exist")) return [];
    throw error;
  }
}

/** Brings rules and tables of ours to the plan. Resolves to whether anything was changed. */
export async function applyRouting(run: Run, plan: RoutingPlan): Promise<boolean> {
  const rules = await ipQuery<PresentRule>(run, ["-4", "rule", "show"]);
  const routes = await Promise.all(
    plan.tables.map(async ({ id, routes: desired }) => routeCommands(id, desired, await readRoutes(run, id))),
  );
  const commands = [...routes.flat(), ...ruleCommands(plan.rules, rules)];
  await ipBatch(run, commands);
  return commands.length > 0;
}
