import type { FirewallChain, FirewallFilterRule, FirewallMatch, FirewallNatRule, FirewallTable } from "../api/index.js";
import { FAST_TABLE, TABLE } from "../net/nftables.js";
import { parseAddresses, parseMark, parsePorts } from "./addresses.js";
import { FAMILIES } from "./firewall-json.js";

/** nftables' limit, and its limit for comments, which rules' names are kept as. */
const NAME_MAX = 255;
const COMMENT_MAX = 127;

const IP_HOOKS: Record<FirewallChain["type"], readonly string[]> = {
  filter: ["prerouting", "input", "forward", "output", "postrouting"],
  nat: ["prerouting", "input", "output", "postrouting"],
  route: ["output"],
};

type Family = FirewallTable["family"];

/** The hooks of chains, by family and type (API specification, §12; as nftables has them). */
const HOOKS: Record<Family, Partial<Record<FirewallChain["type"], readonly string[]>>> = {
  INET: { ...IP_HOOKS, filter: [...IP_HOOKS.filter, "ingress"] },
  IPV4: IP_HOOKS,
  IPV6: IP_HOOKS,
  ARP: { filter: ["input", "output"] },
  BRIDGE: { filter: IP_HOOKS.filter },
  NETDEV: { filter: ["ingress"] },
};

const NAT_HOOKS: Record<FirewallNatRule["natType"], readonly string[]> = {
  dnat: ["prerouting", "output"],
  snat: ["postrouting", "input"],
  masquerade: ["postrouting"],
};

const RULES_OF = { filter: "filterRules", nat: "natRules", route: "routeRules" } as const;

/** What stands in the way of carrying out a FirewallConfiguration, by field. */
export function firewallProblems(table: FirewallTable): string[] {
  const path = "spec.table";
  const chains = table.chains ?? [];
  return [
    ...nameProblem(`${path}.name`, table.name, NAME_MAX),
    ...([TABLE, FAST_TABLE].includes(`${FAMILIES[table.family]} ${table.name}`)
      ? [`${path}.name: "${table.name}" of family ${table.family} is the agent's own table`]
      : []),
    ...repeated(chains.map(({ name }) => name)).map((index) => `${path}.chains[${index}].name: is there twice`),
    ...chains.flatMap((chain, index) => chainProblems(chain, table, `${path}.chains[${index}]`)),
  ];
}

function chainProblems(chain: FirewallChain, { family }: FirewallTable, path: string): string[] {
  const { name, type, hook, rules } = chain;
  const hooks = HOOKS[family][type];
  const wanted = RULES_OF[type];
  const others = Object.keys(rules).filter((kind) => kind !== wanted);
  const named = [...(rules.natRules ?? []), ...(rules.filterRules ?? []), ...(rules.routeRules ?? [])];
  return [
    ...nameProblem(`${path}.name`, name, NAME_MAX),
    ...(hooks ? [] : [`${path}.type: family ${family} has no chains of type ${type}`]),
    ...(hooks && !hooks.includes(hook)
      ? [`${path}.hook: chains of type ${type} in family ${family} have ${hooks.join(", ")}, not ${hook}`]
      : []),
    ...others.map((kind) => `${path}.rules.${kind}: a chain of type ${type} has ${wanted}`),
    ...named.flatMap((rule, index) =>
      rule.name === undefined ? [] : nameProblem(`${path}.rules.${wanted}[${index}].name`, rule.name, COMMENT_MAX),
    ),
    ...repeated(named.map((rule) => rule.name)).map(
      (index) => `${path}.rules.${wanted}[${index}].name: is there twice`,
    ),
    ...(rules.natRules ?? []).flatMap((rule, index) =>
      natProblems(rule, { hook, family }, `${path}.rules.natRules[${index}]`),
    ),
    ...(rules.filterRules ?? []).flatMap((rule, index) =>
      filterProblems(rule, family, `${path}.rules.filterRules[${index}]`),
    ),
  ];
}

function natProblems(
  { natType, to, match }: FirewallNatRule,
  { hook, family }: { hook: string; family: Family },
  path: string,
): string[] {
  const problems = matchProblems(match, family, path);
  if (!NAT_HOOKS[natType].includes(hook))
    problems.push(`${path}.natType: ${natType} is for ${NAT_HOOKS[natType].join(" or ")}, not ${hook}`);
  if (natType === "masquerade") {
    if (to) problems.push(`${path}.to: masquerade takes the address of the outgoing device`);
  } else if (!to) {
    problems.push(`${path}.to: ${natType} needs an address`);
  } else {
    problems.push(...addressProblems(to, family, `${path}.to`));
  }
  return problems;
}

function filterProblems({ action, value, match }: FirewallFilterRule, family: Family, path: string): string[] {
  const problems = matchProblems(match, family, path);
  const needsNumber = action === "ctmark" || (action === "tcpmssclamp" && value !== undefined && value !== "");
  if (needsNumber && parseMark(value ?? "") === undefined)
    problems.push(`${path}.value: "${value ?? ""}" is not a number`);
  const isTcp = match.some(({ op, proto }) => op === "eq" && proto?.value === "tcp");
  if (action === "tcpmssclamp" && !isTcp)
    problems.push(`${path}.match: tcpmssclamp needs one with op eq and proto.value tcp`);
  return problems;
}

function matchProblems(match: readonly FirewallMatch[], family: Family, path: string): string[] {
  return match.flatMap(({ ip, port, dev }, index) => {
    const at = `${path}.match[${index}]`;
    return [
      ...(ip ? addressProblems(ip.value, family, `${at}.ip.value`) : []),
      ...(port && parsePorts(port.value) === undefined
        ? [`${at}.port.value: "${port.value}" is neither a port nor two joined by a dash`]
        : []),
      ...(dev && !/^[^\s"/]{1,15}$/.test(dev.value)
        ? [`${at}.dev.value: "${dev.value}" is not the name of a network device`]
        : []),
    ];
  });
}

/** Tables of one family never see packets of the other. */
function addressProblems(text: string, family: Family, path: string): string[] {
  const addresses = parseAddresses(text);
  if (!addresses)
    return [`${path}: "${text}" is not an address, a range such as "10.0.0.0/16", or two addresses joined by a dash`];
  const other = { IPV4: "ip6", IPV6: "ip" }[family as string];
  return addresses.family === other ? [`${path}: "${text}" is not of the table's family, ${family}`] : [];
}

function nameProblem(path: string, name: string, max: number): string[] {
  if (name !== "" && name.length <= max) return [];
  return [`${path}: must have from 1 to ${max} characters, has ${name.length}`];
}

/** The positions of names that were there before. */
function repeated(names: readonly (string | undefined)[]): number[] {
  return names.flatMap((name, index) => (name !== undefined && names.indexOf(name) < index ? [index] : []));
}
