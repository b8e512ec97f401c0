import { createHash } from "node:crypto";
import { canonicalCidr } from "../api/cidr.js";
import type { RouteConfigurationSpec } from "../api/index.js";
import type { Route, Rule } from "../net/index.js";

type RouteTable = NonNullable<RouteConfigurationSpec["table"]>;

/** One kernel table and the rules that lead to it. */
export interface TablePlan {
  id: number;
  rules: Rule[];
  routes: Route[];
}

/** The number of the kernel table of a RouteConfiguration: the same as Liqo's, by the table's name (network specification, §9). */
export function tableNumber(name: string): number {
  const bytes = createHash("sha256").update(name).digest().subarray(0, 4);
  bytes[1] = (bytes[1] ?? 0) | 1;
  bytes[3] = (bytes[3] ?? 0) >> 1;
  return bytes.readUInt32LE();
}

/** What a RouteConfiguration asks for. Rules without a priority get the default one. Expects a valid one (routeProblems). */
export function tablePlan({ name, rules }: RouteTable, defaultPriority: number): TablePlan {
  const id = tableNumber(name);
  return {
    id,
    rules: rules.map(({ src, dst, iif, oif, fwmark, priority }) => ({
      priority: priority ?? defaultPriority,
      table: id,
      ...(src ? { source: canonicalCidr(src) } : {}),
      ...(dst ? { destination: canonicalCidr(dst) } : {}),
      ...(iif ? { incoming: iif } : {}),
      ...(oif ? { outgoing: oif } : {}),
      ...(fwmark ? { mark: fwmark } : {}),
    })),
    routes: rules.flatMap(({ routes }) =>
      routes.map(({ dst, src, gw, dev, onlink, scope }) => ({
        destination: canonicalCidr(dst),
        via: gw,
        device: dev,
        source: src,
        scope,
        onlink: onlink ?? false,
      })),
    ),
  };
}
