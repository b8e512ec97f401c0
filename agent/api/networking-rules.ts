import { z } from "zod";
import { AGE } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { RouteConfigurationResource, FirewallConfigurationResource } from "./kinds.js";
import { cidr, dateTime, int64, object, objectReference } from "./schema.js";
import { listMap, withDefault, withHint } from "./schema-hints.js";

/** One entry for each host that applies the rules; each host owns its own under server-side apply. */
const hostCondition = object({
  type: z.enum(["Applied", "Error"]),
  status: z.enum(["True", "False", "Unknown"]),
  /** The node's fabric pod, or the gateway. */
  host: z.string(),
  lastTransitionTime: dateTime.optional(),
  /** What stands in the way. */
  message: z.string().optional(),
});
const rulesStatus = object({ conditions: listMap(z.array(hostCondition), "host", "type").optional() });

const routeScope = z.enum(["global", "link", "host", "site", "nowhere"]);

const route = object({
  dst: cidr,
  src: z.string().optional(),
  gw: z.string().optional(),
  dev: z.string().optional(),
  onlink: z.boolean().optional(),
  scope: routeScope.optional(),
  targetRef: objectReference.optional(),
});

const routeRule = object({
  dst: cidr.optional(),
  src: cidr.optional(),
  iif: z.string().optional(),
  oif: z.string().optional(),
  fwmark: int64.optional(),
  priority: int64.optional(),
  targetRef: objectReference.optional(),
  routes: z.array(route),
});

const routeConfigurationSpec = object({
  table: object({
    name: z.string(),
    targetRef: objectReference.optional(),
    rules: z.array(routeRule).min(1),
  }).optional(),
});

export const RouteConfigurationDefinition = defineResource(RouteConfigurationResource, {
  shortNames: ["rcnf", "rcnfg", "rcfg", "routecfg"],
  spec: routeConfigurationSpec,
  status: rulesStatus,
  columns: [AGE],
});

const sideOfPacket = z.enum(["src", "dst"]);

const match = object({
  op: z.enum(["eq", "neq"]),
  /** An address, a range, or two addresses joined by a dash. */
  ip: object({ value: z.string(), position: sideOfPacket }).optional(),
  /** A port, or two joined by a dash. */
  port: object({ value: z.string(), position: sideOfPacket }).optional(),
  proto: object({ value: z.enum(["tcp", "udp"]) }).optional(),
  dev: object({ value: z.string(), position: z.enum(["in", "out"]) }).optional(),
});

const natRule = object({
  name: z.string().optional(),
  natType: z.enum(["dnat", "snat", "masquerade"]),
  /** An address, or a range of the same size as the one matched. */
  to: z.string().optional(),
  match: z.array(match),
  targetRef: objectReference.optional(),
});

const filterAction = z.enum(["ctmark", "metamarkfromctmark", "tcpmssclamp", "accept", "drop", "reject", "notrack"]);

const filterRule = object({
  name: z.string().optional(),
  action: filterAction,
  value: z.string().optional(),
  counter: withDefault(z.boolean(), true),
  match: z.array(match),
});

const routeChainRule = object({ name: z.string().optional() });

/** One kind of rules, the one of the chain's type. */
const chainRules = withHint(
  object({
    natRules: z.array(natRule).optional(),
    filterRules: z.array(filterRule).optional(),
    routeRules: z.array(routeChainRule).optional(),
  }),
  { maxProperties: 1 },
);

const chainHook = z.enum(["prerouting", "input", "forward", "output", "postrouting", "ingress"]);
const chainType = z.enum(["filter", "route", "nat"]);

const chain = object({
  name: z.string(),
  type: chainType,
  hook: chainHook,
  policy: z.enum(["drop", "accept"]),
  priority: withDefault(int64, 0),
  rules: chainRules,
});

const tableFamily = z.enum(["INET", "IPV4", "IPV6", "ARP", "NETDEV", "BRIDGE"]);

const firewallConfigurationSpec = object({
  table: object({ name: z.string(), family: tableFamily, chains: z.array(chain).optional() }),
});

export const FirewallConfigurationDefinition = defineResource(FirewallConfigurationResource, {
  shortNames: ["fw", "fwconfig", "fwcfg"],
  specRequired: true,
  spec: firewallConfigurationSpec,
  status: rulesStatus,
  columns: [AGE],
});

export type HostCondition = z.infer<typeof hostCondition>;
export type RouteConfiguration = CustomObject<RouteConfigurationSpec, FirewallConfigurationStatus>;
export type RouteConfigurationSpec = z.infer<typeof routeConfigurationSpec>;
export type RouteConfigurationStatus = z.infer<typeof rulesStatus>;
export type RouteRule = z.infer<typeof routeRule>;
export type Route = z.infer<typeof route>;
export type RouteScope = z.infer<typeof routeScope>;
export type FirewallConfiguration = CustomObject<FirewallConfigurationSpec, FirewallConfigurationStatus>;
export type FirewallConfigurationSpec = z.infer<typeof firewallConfigurationSpec>;
export type FirewallConfigurationStatus = z.infer<typeof rulesStatus>;
export type FirewallTable = FirewallConfigurationSpec["table"];
export type FirewallTableFamily = z.infer<typeof tableFamily>;
export type FirewallChain = z.infer<typeof chain>;
export type FirewallChainHook = z.infer<typeof chainHook>;
export type FirewallChainType = z.infer<typeof chainType>;
export type FirewallChainRules = z.infer<typeof chainRules>;
export type FirewallNatRule = z.infer<typeof natRule>;
export type FirewallFilterRule = z.infer<typeof filterRule>;
export type FirewallFilterAction = z.infer<typeof filterAction>;
export type FirewallMatch = z.infer<typeof match>;
