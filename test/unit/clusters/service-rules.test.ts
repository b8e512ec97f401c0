import { expect } from "chai";
import type { Service } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import { serviceRules } from "../../clusters/local/service-rules.js";

const SERVICE: Service = {
  metadata: { name: "web", namespace: "default" },
  spec: { clusterIPs: ["10.96.0.7"], ports: [{ name: "http", port: 80, nodePort: 31_000 }] },
  status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
};

const slice = (address: string, ready: boolean): EndpointSlice => ({
  metadata: { name: address, namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4",
  endpoints: [{ addresses: [address], conditions: { ready } }],
  ports: [{ name: "http", port: 8080 }],
});

describe("test clusters: Services without kube-proxy", () => {
  it("lead each address and node port to the ready endpoints", () => {
    const rules = serviceRules([SERVICE], [slice("10.1.0.2", true), slice("10.1.0.3", false)], "10.1.0.0/16");
    const target = "dnat ip to numgen random mod 1 map { 0 : 10.1.0.2 . 8080 }";
    expect(rules).to.contain(`ip daddr 10.96.0.7 tcp dport 80 ${target}`);
    expect(rules).to.contain(`ip daddr 192.0.2.1 tcp dport 80 ${target}`);
    expect(rules).to.contain(`    tcp dport 31000 ${target}`);
  });

  it("refuse what has no endpoint", () => {
    expect(serviceRules([SERVICE], [], "10.1.0.0/16")).to.contain("ip daddr 10.96.0.7 tcp dport 80 drop");
  });
});
