import { setTimeout as delay } from "node:timers/promises";
import { exec } from "./exec.js";

/**
 * Everything about a node's network that a program could leave behind: links, addresses, routes, rules, neighbours, nftables and
 * sysctls, one line each, for comparison. Left out is what the Services' implementation writes as Services come and go, and counters.
 */
export async function nodeState(netns: string): Promise<Set<string>> {
  const inside = async (program: string, ...args: string[]): Promise<string> =>
    (await exec("nsenter", [`--net=/run/netns/${netns}`, program, ...args], { timeoutMs: 60_000 })).stdout;
  const addresses = await settledAddresses(() => inside("ip", "-j", "address"));
  const [links, routes, rules, neighbours, ruleset, settings] = await Promise.all([
    inside("ip", "-d", "-j", "link"),
    inside("ip", "-j", "route", "show", "table", "all"),
    inside("ip", "-j", "rule"),
    inside("ip", "-j", "neighbour", "show", "nud", "permanent"),
    inside("nft", "-j", "list", "ruleset"),
    inside("sysctl", "-a", "--pattern", "^net\\."),
  ]);
  const all: [string, unknown[]][] = [
    ["link", parse(links)],
    ["address", parse(addresses)],
    ["route", parse(routes)],
    ["rule", parse(rules)],
    ["neighbour", parse(neighbours)],
    ["nftables", rulesOf(ruleset)],
    ["sysctl", settings.split("\n").filter((line) => line !== "" && !/nf_conntrack_count|\.rt_cache/.test(line))],
  ];
  return new Set(all.flatMap(([kind, items]) => items.map((item) => `${kind} ${text(item)}`)));
}

/** New IPv6 addresses are on probation for a second or two; what depends on them comes then. */
async function settledAddresses(read: () => Promise<string>): Promise<string> {
  const deadline = Date.now() + 5_000;
  let output = await read();
  while (output.includes('"tentative"') && Date.now() < deadline) {
    await delay(100);
    output = await read();
  }
  return output;
}

function parse(output: string): unknown[] {
  return output.trim() === "" ? [] : (JSON.parse(output) as unknown[]);
}

/** Without what changes by itself. */
function text(item: unknown): string {
  return typeof item === "string"
    ? item
    : JSON.stringify(item, (key, value: unknown) =>
        /timer$|^(handle|packets|bytes|preferred_life_time|valid_life_time)$/.test(key) ? undefined : value,
      );
}

interface Named {
  family?: string;
  table?: string;
  chain?: string;
  name?: string;
}

function rulesOf(ruleset: string): unknown[] {
  const { nftables } = JSON.parse(ruleset) as { nftables: Record<string, Named>[] };
  return nftables.filter((item) => !Object.entries(item).some(([kind, named]) => isOfServices(kind, named)));
}

function isOfServices(kind: string, { table, chain, name }: Named): boolean {
  const inTable = kind === "table" ? name : table;
  // In its iptables mode kube-proxy's chains stand among those of others.
  const inChain = kind === "chain" ? name : chain;
  return inTable === "kube-proxy" || inTable === "plq-services" || inChain?.startsWith("KUBE-") === true;
}
