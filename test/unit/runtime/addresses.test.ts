import { expect } from "chai";
import type { Node } from "kubernetes-types/core/v1";
import { insideAddresses, outsideAddress, podIPv4, urlHost } from "../../../agent/runtime/index.js";

describe("addresses of nodes and pods", () => {
  const node = (...addresses: [type: string, address: string][]): Node => ({
    status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
  });

  it("of a node to the outside: its name there, else an address, as far out as there is one", () => {
    const all = node(
      ["Hostname", "n1"],
      ["InternalIP", "192.0.2.1"],
      ["InternalDNS", "n1.internal"],
      ["ExternalIP", "198.51.100.1"],
      ["ExternalDNS", "n1.example.org"],
    );
    const found: (string | undefined)[] = [];
    for (let left = all.status?.addresses ?? []; left.length > 0; left = left.slice(0, -1))
      found.push(outsideAddress({ status: { addresses: left } }));
    expect(found).to.deep.equal(["n1.example.org", "198.51.100.1", "n1.internal", "192.0.2.1", "n1"]);
    expect(outsideAddress(node())).to.equal(undefined);
    expect(outsideAddress(node(["ExternalIP", ""], ["InternalIP", "192.0.2.1"]))).to.equal("192.0.2.1");
  });

  it("of both families: the IPv4 one, whichever comes first", () => {
    const dual = node(["InternalIP", "2001:db8::1"], ["InternalIP", "192.0.2.1"]);
    expect(outsideAddress(dual)).to.equal("192.0.2.1");
    expect(insideAddresses(dual)).to.deep.equal(["192.0.2.1"]);
    expect(podIPv4({ podIP: "2001:db8::2", podIPs: [{ ip: "2001:db8::2" }, { ip: "10.0.0.2" }] })).to.equal("10.0.0.2");
  });

  it("of the other family alone: to the outside, as it is written into a URL; within links there is none", () => {
    const six = node(["InternalIP", "2001:db8::1"]);
    expect(urlHost(outsideAddress(six) ?? "")).to.equal("[2001:db8::1]");
    expect(urlHost("192.0.2.1")).to.equal("192.0.2.1");
    expect(insideAddresses(six)).to.deep.equal([]);
    expect(podIPv4({ podIP: "2001:db8::2" })).to.equal(undefined);
    expect(podIPv4()).to.equal(undefined);
  });
});
