import { CommandError, type Run } from "./command.js";
import { ROUTE_PROTOCOL, ipBatch, ipQuery } from "./ip.js";

/** The metric of a route that is taken where the first choice is gone. */
const SECOND_CHOICE = 1;

export interface Route {
  /** A range such as "10.0.0.0/16"; a single address has no "/32"; "default" for all. */
  destination: string;
  /** Refuse silently instead of forwarding. */
  blackhole?: boolean;
  via?: string;
  device?: string;
  /** The address that the host itself uses towards the destination. */
  source?: string;
  /** Whether the next hop is on the device's link, whatever the addresses say. Default: with a next hop. */
  onlink?: boolean;
  /** As iproute2 names it. Default: the kernel's choice. */
  scope?: string;
  /** Of several routes to one destination the kernel takes the one with the lowest. Default: 0. */
  metric?: number;
}

/** The same route by the direct link where there is one, and by the other, which is left when that one goes, with its routes. */
export function routesByEither(route: Route, device: string, direct: string | undefined): Route[] {
  if (direct === undefined) return [{ ...route, device }];
  return [
    { ...route, device: direct },
    { ...route, device, metric: SECOND_CHOICE },
  ];
}

export interface Rule {
  priority: number;
  table: number;
  /** Only packets that came in by this interface. */
  incoming?: string;
  /** Only packets of the host itself whose socket is bound to this interface. */
  outgoing?: string;
  /** Only packets from and to these ranges, in canonical form. */
  source?: string;
  destination?: string;
  /** Only packets with this mark. */
  mark?: number;
}

/** A set of kernel routing tables that are wholly ours, and the policy rules that lead to them. */
export interface RoutingPlan {
  rules: Rule[];
  tables: { id: number; routes: Route[] }[];
}

/** As iproute2 tells it. */
export interface PresentRoute {
  type?: string;
  dst: string;
  gateway?: string;
  dev?: string;
  prefsrc?: string;
  scope?: string;
  flags?: string[];
  table?: string;
  metric?: number;
}

/** As iproute2 tells it. */
export interface PresentRule {
  priority: number;
  table?: string;
  iif?: string;
  oif?: string;
  src?: string;
  srclen?: number;
  dst?: string;
  dstlen?: number;
  fwmark?: string;
  protocol?: string;
}

/** The form in which iproute2 prints a destination. */
export function destinationText(cidr: string): string {
  if (cidr === "0.0.0.0/0") return "default";
  return cidr.endsWith("/32") ? cidr.slice(0, -3) : cidr;
}

/** The iproute2 commands that make a table hold exactly the desired routes, of those present. */
export function routeCommands(
  table: number,
  desired: readonly Route[],
  present: readonly PresentRoute[],
  protocol: number = ROUTE_PROTOCOL,
): string[] {
  const wanted = new Map(desired.map((route) => [placeOf(destinationText(route.destination), route), route]));
  const there = new Map(present.map((route) => [placeOf(route.dst, route), route]));
  const removals = [...there]
    .filter(([place]) => !wanted.has(place))
    .map(([place, { type }]) => `route del ${type === "blackhole" ? "blackhole " : ""}${place} table ${table}`);
  const additions = [...wanted]
    .filter(([place, route]) => !sameRoute(route, there.get(place)))
    .map(([place, route]) => `route replace ${routeText(place, route)} table ${table} proto ${protocol}`);
  return [...removals, ...additions];
}

/** What the kernel tells routes of one table apart by. */
function placeOf(destination: string, { metric = 0 }: { metric?: number }): string {
  return metric === 0 ? destination : `${destination} metric ${metric}`;
}

function sameRoute(route: Route, present: PresentRoute | undefined): boolean {
  return (
    present !== undefined &&
    (present.type === "blackhole") === (route.blackhole ?? false) &&
    present.gateway === route.via &&
    (route.device === undefined || present.dev === route.device) &&
    present.prefsrc === route.source &&
    (route.onlink === undefined || present.flags?.includes("onlink") === route.onlink) &&
    (route.scope === undefined || (present.scope ?? "global") === route.scope)
  );
}

function routeText(place: string, { blackhole, via, device, source, onlink = !!via, scope }: Route): string {
  if (blackhole) return `blackhole ${place}`;
  return [
    place,
    via ? `via ${via}` : "",
    device ? `dev ${device}` : "",
    onlink ? "onlink" : "",
    scope ? `scope ${scope}` : "",
    source ? `src ${source}` : "",
  ]
    .filter((part) => part !== "")
    .join(" ");
}

/** The iproute2 commands that make the rules of ours, which the protocol marks, exactly the desired ones. */
export function ruleCommands(
  desired: readonly Rule[],
  present: readonly PresentRule[],
  protocol: number = ROUTE_PROTOCOL,
): string[] {
  const ours = present.filter((rule) => rule.protocol === String(protocol)).map(fromPresent);
  const wanted = new Map(desired.map((rule) => [ruleText(rule), rule]));
  const seen = new Set<string>();
  const removals = ours.map(ruleText).filter((text) => {
    const superfluous = !wanted.has(text) || seen.has(text);
    seen.add(text);
    return superfluous;
  });
  return [
    ...[...wanted.keys()].filter((text) => !seen.has(text)).map((text) => `rule add ${text} protocol ${protocol}`),
    ...removals.map((text) => `rule del ${text} protocol ${protocol}`),
  ];
}

function fromPresent({ priority, table, iif, oif, src, srclen, dst, dstlen, fwmark }: PresentRule): Rule {
  return {
    priority,
    table: Number(table),
    incoming: iif,
    outgoing: oif,
    source: rangeOf(src, srclen),
    destination: rangeOf(dst, dstlen),
    mark: fwmark === undefined ? undefined : Number(fwmark),
  };
}

/** iproute2 tells single addresses without a length. */
function rangeOf(address: string | undefined, length = 32): string | undefined {
  return address === undefined || address === "all" ? undefined : `${address}/${length}`;
}

function ruleText({ priority, incoming, outgoing, source, destination, mark, table }: Rule): string {
  const selectors = [
    source ? `from ${source}` : "",
    destination ? `to ${destination}` : "",
    incoming ? `iif ${incoming}` : "",
    outgoing ? `oif ${outgoing}` : "",
    mark === undefined ? "" : `fwmark ${mark}`,
  ];
  return [`priority ${priority}`, ...selectors, `lookup ${table}`].filter((part) => part !== "").join(" ");
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
