import type {
  FirewallChain,
  FirewallFilterRule,
  FirewallMatch,
  FirewallNatRule,
  FirewallTable,
  FirewallTableFamily,
} from "../api/index.js";
import { parseAddresses, parseMark, parsePorts } from "./addresses.js";

/** A table as nftables names it. */
export interface TableName {
  family: string;
  name: string;
}

export const FAMILIES: Record<FirewallTableFamily, string> = {
  INET: "inet",
  IPV4: "ip",
  IPV6: "ip6",
  ARP: "arp",
  NETDEV: "netdev",
  BRIDGE: "bridge",
};

/** A counter of this name marks the tables that come from FirewallConfigurations: nothing else is ever changed or removed. */
export const OWNER_MARK = "pulumi-liqo-owner";

/** nftables' own JSON: data never become commands, whatever users write. */
export type NftJson = Record<string, unknown>;

export function tableName({ family, name }: FirewallTable): TableName {
  return { family: FAMILIES[family], name };
}

/** The commands that make the table what the configuration asks for, in one transaction. Expects a valid one (firewallProblems). */
export function tableCommands(table: FirewallTable, owner: string): NftJson[] {
  const id = tableName(table);
  const within = { family: id.family, table: id.name };
  return [
    { add: { table: id } },
    { delete: { table: id } },
    { add: { table: id } },
    { add: { counter: { ...within, name: OWNER_MARK, comment: owner } } },
    ...(table.chains ?? []).flatMap((chain) => chainCommands(chain, within)),
  ];
}

/** The commands that remove a table. */
export function removalCommands(id: TableName): NftJson[] {
  return [{ delete: { table: id } }];
}

function chainCommands(chain: FirewallChain, within: { family: string; table: string }): NftJson[] {
  const { name, type, hook, policy, priority: prio, rules } = chain;
  const expressions = [
    ...(rules.natRules ?? []).map((rule) => ({ rule, expr: natExpressions(rule, within.family) })),
    ...(rules.filterRules ?? []).map((rule) => ({ rule, expr: filterExpressions(rule, within.family) })),
  ];
  return [
    { add: { chain: { ...within, name, type, hook, prio, policy } } },
    ...expressions.map(({ rule, expr }) => ({
      add: { rule: { ...within, chain: name, ...(rule.name ? { comment: rule.name } : {}), expr } },
    })),
  ];
}

function natExpressions({ natType, to, match }: FirewallNatRule, family: string): NftJson[] {
  const matches = match.flatMap((one) => matchExpressions(one, family));
  if (natType === "masquerade" || to === undefined) return [...matches, { masquerade: null }];
  const target = parseAddresses(to);
  const isRange = to.includes("/");
  const statement = {
    addr: target?.value,
    ...(family === "inet" ? { family: target?.family } : {}),
    // A range is translated address by address, host bits kept.
    ...(isRange ? { flags: "netmap", type_flags: "prefix" } : {}),
  };
  return [...matches, { [natType]: statement }];
}

function filterExpressions({ action, value, counter, match }: FirewallFilterRule, family: string): NftJson[] {
  return [
    ...match.flatMap((one) => matchExpressions(one, family)),
    ...(action === "tcpmssclamp" ? [ONLY_SYN] : []),
    ...(counter === false ? [] : [{ counter: { packets: 0, bytes: 0 } }]),
    actionStatement(action, value),
  ];
}

const MARK_OF_CONNECTION = { ct: { key: "mark" } };
const SEGMENT_SIZE = { "tcp option": { name: "maxseg", field: "size" } };
const ONLY_SYN = {
  match: {
    op: "==",
    left: { "&": [{ payload: { protocol: "tcp", field: "flags" } }, { "|": ["syn", "rst"] }] },
    right: "syn",
  },
};

function actionStatement(action: FirewallFilterRule["action"], value: string | undefined): NftJson {
  const number = parseMark(value ?? "") ?? 0;
  switch (action) {
    case "ctmark":
      return { mangle: { key: MARK_OF_CONNECTION, value: number } };
    case "metamarkfromctmark":
      return { mangle: { key: { meta: { key: "mark" } }, value: MARK_OF_CONNECTION } };
    case "tcpmssclamp":
      return { mangle: { key: SEGMENT_SIZE, value: number === 0 ? { rt: { key: "mtu" } } : number } };
    case "accept":
    case "drop":
    case "reject":
    case "notrack":
      return { [action]: null };
  }
}

/** The parts of a match, each of which must hold. */
function matchExpressions({ op, ip, port, proto, dev }: FirewallMatch, family: string): NftJson[] {
  const compare = (left: object, right: unknown): NftJson => ({
    match: { op: op === "eq" ? "==" : "!=", left, right },
  });
  const side = (position: "src" | "dst", field: string): string => (position === "src" ? `s${field}` : `d${field}`);
  const payload = (protocol: string, field: string): object => ({ payload: { protocol, field } });
  const meta = (key: string): object => ({ meta: { key } });
  const addresses = ip && parseAddresses(ip.value);
  return [
    ...(ip && addresses
      ? [compare(addressField(family, addresses.family, side(ip.position, "addr")), addresses.value)]
      : []),
    ...(proto ? [compare(meta("l4proto"), proto.value)] : []),
    ...(port ? [compare(payload("th", side(port.position, "port")), parsePorts(port.value))] : []),
    ...(dev ? [compare(meta(dev.position === "in" ? "iifname" : "oifname"), dev.value)] : []),
  ];
}

function addressField(tableFamily: string, protocol: string, field: string): object {
  return tableFamily === "arp"
    ? { payload: { protocol: "arp", field: `${field} ip` } }
    : { payload: { protocol, field } };
}
