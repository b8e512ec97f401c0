import { isIPv4 } from "node:net";
import { canonicalCidr, isCidr } from "../api/cidr.js";
import type { Route, RouteConfigurationSpec, RouteRule } from "../api/index.js";
import { isDeviceName } from "./addresses.js";

type RouteTable = NonNullable<RouteConfigurationSpec["table"]>;

/** Of rules; those of the kernel itself are at 0, 32766 and 32767. */
const PRIORITY_MIN = 1;
const PRIORITY_MAX = 32_765;
const MARK_MAX = 0xff_ff_ff_ff;

/** What stands in the way of carrying out a RouteConfiguration, by field. */
export function routeProblems({ name, rules }: RouteTable): string[] {
  const path = "spec.table.rules";
  const unreadable = rules.flatMap((rule, index) => rangeProblems(rule, `${path}[${index}]`));
  // What is no range cannot be compared with others.
  if (unreadable.length > 0) return unreadable;
  return [
    ...(name === "" ? ["spec.table.name: must not be empty"] : []),
    ...rules.flatMap((rule, index) => ruleProblems(rule, `${path}[${index}]`)),
    ...repeated(rules.map(selectorOf)).map((index) => `${path}[${index}]: selects the same packets as another rule`),
    ...contradictions(rules, path),
  ];
}

/** Ranges that are not IPv4's: links between clusters carry nothing else (network specification, §1). */
function rangeProblems({ dst, src, routes }: RouteRule, path: string): string[] {
  const problem = (field: string, range: string | undefined): string[] => {
    if (range === undefined || isCidr(range)) return [];
    const why = range.includes(":") ? "is IPv6, and links between clusters carry IPv4 alone" : "is not a range";
    return [`${path}.${field}: "${range}" ${why}; write an IPv4 range such as "10.0.0.0/16"`];
  };
  return [
    ...problem("dst", dst),
    ...problem("src", src),
    ...routes.flatMap((route, index) => problem(`routes[${index}].dst`, route.dst)),
  ];
}

function ruleProblems(rule: RouteRule, path: string): string[] {
  const { iif, oif, fwmark, priority, routes } = rule;
  const isOutside = (value: number | undefined, min: number, max: number): boolean =>
    value !== undefined && (value < min || value > max);
  return [
    ...deviceProblem(`${path}.iif`, iif),
    ...deviceProblem(`${path}.oif`, oif),
    ...(isOutside(fwmark, 0, MARK_MAX) ? [`${path}.fwmark: must be from 0 to ${MARK_MAX}`] : []),
    ...(isOutside(priority, PRIORITY_MIN, PRIORITY_MAX)
      ? [`${path}.priority: must be from ${PRIORITY_MIN} to ${PRIORITY_MAX}`]
      : []),
    ...repeated(routes.map(({ dst }) => canonicalCidr(dst))).map(
      (index) => `${path}.routes[${index}].dst: is there twice`,
    ),
    ...routes.flatMap((route, index) => routeProblemsOf(route, `${path}.routes[${index}]`)),
  ];
}

function routeProblemsOf({ src, gw, dev }: Route, path: string): string[] {
  const addressProblem = (field: string, value: string | undefined): string[] =>
    value === undefined || isIPv4(value) ? [] : [`${path}.${field}: "${value}" is not an IPv4 address`];
  return [
    ...addressProblem("src", src),
    ...addressProblem("gw", gw),
    ...deviceProblem(`${path}.dev`, dev),
    ...(gw === undefined && dev === undefined ? [`${path}: needs gw, dev, or both`] : []),
  ];
}

/** All rules share one table, which has one route to each destination. */
function contradictions(rules: readonly RouteRule[], path: string): string[] {
  const known = new Map<string, { text: string; at: string }>();
  const problems: string[] = [];
  for (const [index, { routes }] of rules.entries()) {
    for (const [position, { dst, src, gw, dev, onlink, scope }] of routes.entries()) {
      const at = `${path}[${index}].routes[${position}]`;
      const text = JSON.stringify([src, gw, dev, onlink, scope]);
      const other = known.get(canonicalCidr(dst));
      if (other && other.text !== text)
        problems.push(`${at}: leads elsewhere than ${other.at}, to the same destination`);
      known.set(canonicalCidr(dst), other ?? { text, at });
    }
  }
  return problems;
}

function selectorOf({ src, dst, iif, oif, fwmark }: RouteRule): string {
  return JSON.stringify([src && canonicalCidr(src), dst && canonicalCidr(dst), iif, oif, fwmark ?? 0]);
}

function deviceProblem(path: string, name: string | undefined): string[] {
  return name === undefined || isDeviceName(name) ? [] : [`${path}: "${name}" is not the name of a network device`];
}

function repeated(texts: readonly string[]): number[] {
  return texts.flatMap((text, index) => (texts.indexOf(text) < index ? [index] : []));
}
