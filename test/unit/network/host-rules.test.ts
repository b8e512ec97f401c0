import { expect } from "chai";
import { Labels, type FirewallTable } from "../../../agent/api/index.js";
import { firewallProblems, routeProblems } from "../../../agent/host-rules/index.js";
import { parseAddresses, parseMark, parsePorts } from "../../../agent/host-rules/addresses.js";
import { carriesOutFirewall, carriesOutRoutes } from "../../../agent/host-rules/hosts.js";

describe("which hosts carry out rules that users bring", () => {
  const node = { node: "n1" };
  const gateway = { node: "n1", remoteClusterID: "b" };

  it("by the labels of routes", () => {
    const labels = (category: string, subcategory?: string, unique?: string) => ({
      [Labels.routeCategory]: category,
      ...(subcategory ? { [Labels.routeSubcategory]: subcategory } : {}),
      ...(unique ? { [Labels.routeUnique]: unique } : {}),
    });
    expect(carriesOutRoutes(node, labels("fabric"))).to.equal(true);
    expect(carriesOutRoutes(node, labels("gateway", "fabric"))).to.equal(false);
    expect(carriesOutRoutes(gateway, labels("fabric"))).to.equal(false);
    expect(carriesOutRoutes(gateway, labels("gateway"))).to.equal(false);
    expect(carriesOutRoutes(gateway, labels("gateway", undefined, "b"))).to.equal(true);
    expect(carriesOutRoutes(gateway, labels("gateway", undefined, "c"))).to.equal(false);
    expect(carriesOutRoutes(gateway, labels("gateway", "fabric-node", "n1"))).to.equal(true);
    expect(carriesOutRoutes(gateway, labels("gateway", "fabric-node", "n2"))).to.equal(false);
    expect(carriesOutRoutes(node, undefined)).to.equal(false);
  });

  it("by the labels of firewall rules", () => {
    const labels = (category: string, subcategory?: string, unique?: string) => ({
      [Labels.firewallCategory]: category,
      ...(subcategory ? { [Labels.firewallSubcategory]: subcategory } : {}),
      ...(unique ? { [Labels.firewallUnique]: unique } : {}),
    });
    expect(carriesOutFirewall(node, labels("fabric"))).to.equal(false);
    expect(carriesOutFirewall(node, labels("fabric", "all-nodes"))).to.equal(true);
    expect(carriesOutFirewall(node, labels("fabric", "single-node", "n2"))).to.equal(false);
    expect(carriesOutFirewall(node, labels("fabric", "single-node", "n1"))).to.equal(true);
    expect(carriesOutFirewall(gateway, labels("gateway", "all-gateways"))).to.equal(true);
    expect(carriesOutFirewall(gateway, labels("gateway", undefined, "b"))).to.equal(true);
    expect(carriesOutFirewall(gateway, labels("fabric", "all-nodes"))).to.equal(false);
  });
});

describe("values of rules that users bring", () => {
  it("are addresses, ranges, or two addresses", () => {
    expect(parseAddresses("10.0.0.1")).to.deep.equal({ family: "ip", value: "10.0.0.1" });
    expect(parseAddresses("10.0.0.0/8")?.value).to.deep.equal({ prefix: { addr: "10.0.0.0", len: 8 } });
    expect(parseAddresses("10.0.0.1-10.0.0.9")?.value).to.deep.equal({ range: ["10.0.0.1", "10.0.0.9"] });
    expect(parseAddresses("fd00::/64")).to.deep.equal({
      family: "ip6",
      value: { prefix: { addr: "fd00::", len: 64 } },
    });
    for (const text of ["", "x", "10.0.0.1-", "10.0.0.9-10.0.0.1", "10.0.0.0/33", "10.0.0.1-fd00::1", "1.1.1.1; drop"])
      expect(parseAddresses(text), text).to.equal(undefined);
  });

  it("are ports and marks", () => {
    expect(parsePorts("80")).to.equal(80);
    expect(parsePorts("80-90")).to.deep.equal({ range: [80, 90] });
    for (const text of ["", "90-80", "70000", "1-2-3", "http"]) expect(parsePorts(text), text).to.equal(undefined);
    expect([parseMark("7"), parseMark("0x10"), parseMark(""), parseMark("x"), parseMark("4294967296")]).to.deep.equal([
      7,
      16,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("what stands in the way of rules that users bring", () => {
  const table = (chain: object, more: Partial<FirewallTable> = {}): FirewallTable => ({
    name: "t",
    family: "IPV4",
    chains: [{ name: "c", type: "filter", hook: "forward", policy: "accept", priority: 0, rules: {}, ...chain }],
    ...more,
  });
  const nat = (rule: object, hook = "prerouting") => table({ type: "nat", hook, rules: { natRules: [rule] } });
  const filter = (rule: object) => table({ rules: { filterRules: [rule] } });

  it("is told by field, of firewall rules", () => {
    expect(firewallProblems(table({}))).to.deep.equal([]);
    const cases: [FirewallTable, string][] = [
      [table({}, { name: "liqo" }), "spec.table.name"],
      [table({}, { family: "ARP" }), "spec.table.chains[0].hook"],
      [table({ type: "nat", hook: "input" }, { family: "NETDEV" }), "spec.table.chains[0].type"],
      [table({ rules: { natRules: [] } }), "spec.table.chains[0].rules.natRules"],
      [nat({ natType: "dnat", match: [] }), "spec.table.chains[0].rules.natRules[0].to"],
      [nat({ natType: "dnat", to: "x", match: [] }), "spec.table.chains[0].rules.natRules[0].to"],
      [nat({ natType: "snat", to: "10.0.0.1", match: [] }), "spec.table.chains[0].rules.natRules[0].natType"],
      [nat({ natType: "masquerade", to: "10.0.0.1", match: [] }, "postrouting"), "natRules[0].to"],
      [nat({ natType: "dnat", to: "fd00::1", match: [] }), 'natRules[0].to: "fd00::1" is not of the table\'s family'],
      [filter({ action: "drop", match: [{ op: "eq", ip: { value: "fd00::/8", position: "src" } }] }), "of the table's"],
      [filter({ action: "ctmark", match: [] }), "filterRules[0].value"],
      [filter({ action: "tcpmssclamp", match: [] }), "filterRules[0].match"],
      [filter({ action: "drop", match: [{ op: "eq", ip: { value: "x", position: "src" } }] }), "match[0].ip.value"],
      [filter({ action: "drop", match: [{ op: "eq", port: { value: "x", position: "src" } }] }), "match[0].port.value"],
      [filter({ action: "drop", match: [{ op: "eq", dev: { value: "a b", position: "in" } }] }), "match[0].dev.value"],
    ];
    for (const [wrong, path] of cases) {
      const problems = firewallProblems(wrong);
      expect(problems, path).to.have.length(1);
      expect(problems[0]).to.contain(path);
    }
  });

  it("is told by field, of routes", () => {
    const rules = (...all: object[]) => ({ name: "t", rules: all }) as Parameters<typeof routeProblems>[0];
    const route = { dst: "10.0.0.0/8", dev: "eth0" };
    expect(routeProblems(rules({ routes: [route] }, { src: "10.1.0.0/16", routes: [route] }))).to.deep.equal([]);
    const cases: [Parameters<typeof routeProblems>[0], string][] = [
      [rules({ iif: "eth0\nrule flush", routes: [] }), "spec.table.rules[0].iif"],
      [rules({ priority: 0, routes: [] }), "spec.table.rules[0].priority"],
      [rules({ routes: [] }, { routes: [] }), "spec.table.rules[1]"],
      [rules({ routes: [{ dst: "10.0.0.0/8" }] }), "spec.table.rules[0].routes[0]"],
      [rules({ routes: [{ ...route, gw: "fd00::1" }] }), "spec.table.rules[0].routes[0].gw"],
      [rules({ routes: [{ ...route, dst: "fd00::/8" }] }), 'spec.table.rules[0].routes[0].dst: "fd00::/8" is IPv6'],
      [rules({ src: "fd00::/8", routes: [route] }), 'spec.table.rules[0].src: "fd00::/8" is IPv6'],
      [rules({ dst: "10.0.0.0/33", routes: [route] }), 'spec.table.rules[0].dst: "10.0.0.0/33" is not a range'],
      [rules({ routes: [route, route] }), "spec.table.rules[0].routes[1].dst"],
      [rules({ routes: [route] }, { iif: "a", routes: [{ ...route, dev: "b" }] }), "spec.table.rules[1].routes[0]"],
    ];
    for (const [wrong, path] of cases) {
      const problems = routeProblems(wrong);
      expect(problems, path).to.have.length(1);
      expect(problems[0]).to.contain(path);
    }
  });
});
