import { expect } from "chai";
import {
  ConfigurationResource,
  ConnectionResource,
  GatewayServerResource,
  IdentityResource,
  TenantResource,
  VirtualNodeResource,
  type VirtualNode,
} from "../../../agent/api/index.js";
import { authenticationFindings } from "../../../agent/controller/status/authentication-findings.js";
import { dated, moduleStatus, type ConditionFinding } from "../../../agent/controller/status/conditions.js";
import { isNetworkingInUse, networkingFindings } from "../../../agent/controller/status/networking-findings.js";
import { offloadingFindings } from "../../../agent/controller/status/offloading-findings.js";
import { addressOf, roleOf } from "../../../agent/controller/status/peer-address.js";
import { isEmptyView, type PeerView } from "../../../agent/controller/status/peer-view.js";

const metadata = { name: "peer", namespace: "liqo-tenant-peer" };
const tenant = TenantResource.build({
  metadata,
  spec: { clusterID: "peer", authzPolicy: "KeysExchange", tenantCondition: "Active" },
});
const identity = IdentityResource.build({
  metadata,
  spec: { clusterID: "peer", type: "ControlPlane", authParams: { apiServer: "https://x" }, namespace: "there" },
});
const server = GatewayServerResource.build({ metadata, spec: {} });
const configuration = ConfigurationResource.build({ metadata, spec: {} });

function connection(value: string | undefined): ReturnType<typeof ConnectionResource.build> {
  return ConnectionResource.build({
    metadata,
    spec: { type: "Server", gatewayRef: {} },
    status: value ? { value } : {},
  });
}

function virtualNode(name: string, createNode = true): VirtualNode {
  return VirtualNodeResource.build({ metadata: { name }, spec: { createNode } });
}

function node(name: string, ready: boolean): { metadata: object; status: object } {
  return { metadata: { name }, status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] } };
}

function view(parts: Partial<PeerView>): PeerView {
  return {
    configurations: [],
    connections: [],
    gatewayServers: [],
    gatewayClients: [],
    tenants: [],
    identities: [],
    secrets: [],
    virtualNodes: [],
    nodes: [],
    deployment: () => undefined,
    virtualKubeletPods: () => [],
    ...parts,
  };
}

function summary(findings: ConditionFinding[]): Record<string, string> {
  return Object.fromEntries(findings.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

describe("a ForeignCluster's role", () => {
  it("names what the peer is to this cluster", () => {
    expect(roleOf(view({ configurations: [configuration] }))).to.equal("Unknown");
    expect(roleOf(view({ tenants: [tenant] }))).to.equal("Consumer");
    expect(roleOf(view({ identities: [identity] }))).to.equal("Provider");
    expect(roleOf(view({ secrets: [{ metadata }] }))).to.equal("Provider");
    expect(roleOf(view({ virtualNodes: [virtualNode("n")] }))).to.equal("Provider");
    expect(roleOf(view({ tenants: [tenant], identities: [identity] }))).to.equal("ConsumerAndProvider");
  });

  it("is of no interest once nothing refers to the peer", () => {
    expect(isEmptyView(view({}))).to.equal(true);
    expect(isEmptyView(view({ nodes: [{ metadata }] }))).to.equal(false);
  });
});

describe("networking conditions", () => {
  it("tell what is missing", () => {
    expect(isNetworkingInUse(view({}))).to.equal(false);
    expect(summary(networkingFindings(view({ connections: [connection("Connecting")] })))).to.deep.equal({
      NetworkConfigurationStatus: "NotReady NetworkConfigurationMissing",
      NetworkGatewayPresence: "NotReady GatewayMissing",
      NetworkConnectionStatus: "Pending ConnectionPending",
    });
  });

  it("tell what stands in a gateway's way, by the field", () => {
    const message = "spec.mtu: is too small";
    const condition = { type: "Accepted", status: "False" as const, reason: "x", message, lastTransitionTime: "" };
    const gatewayServers = [{ ...server, status: { conditions: [condition] } }];
    const found = networkingFindings(view({ configurations: [configuration], gatewayServers }));
    const finding = found.find(({ type }) => type === "NetworkGatewayServerStatus");
    expect(finding).to.include({ status: "NotReady", reason: "GatewaysRefused" });
    expect(finding?.message).to.contain("liqo-tenant-peer/peer: spec.mtu");
  });

  it("follow the gateway's Deployment and the Connection", () => {
    const parts = { configurations: [configuration], gatewayServers: [server] };
    const states = [undefined, { readyReplicas: 1, unavailableReplicas: 1 }, { readyReplicas: 1 }];
    const found = states.map((status) => {
      const deployment = (namespace: string, name: string): { status?: object } | undefined =>
        namespace === metadata.namespace && name === "gw-peer" ? { status } : undefined;
      return summary(networkingFindings(view({ ...parts, deployment })))["NetworkGatewayServerStatus"];
    });
    expect(found).to.deep.equal([
      "NotReady GatewaysNotReady",
      "SomeNotReady GatewaysSomeNotReady",
      "Ready GatewaysReady",
    ]);
    const status = (value: string | undefined): string | undefined =>
      summary(networkingFindings(view({ ...parts, connections: [connection(value)] })))["NetworkConnectionStatus"];
    expect(status("Connected")).to.equal("Established ConnectionEstablished");
    expect(status("Error")).to.equal("Error ConnectionError");
    expect(status(undefined)).to.equal("Pending ConnectionPending");
  });
});

describe("authentication conditions", () => {
  it("ask for issued parameters unless the handshake is waived", () => {
    const state = (
      status?: object,
      policy: "KeysExchange" | "TolerateNoHandshake" = "KeysExchange",
    ): string | undefined => {
      const given = { ...tenant, spec: { ...tenant.spec, authzPolicy: policy }, status };
      return summary(authenticationFindings(view({ tenants: [given] })))["AuthTenantStatus"];
    };
    expect(state()).to.equal("NotReady TenantNotReady");
    expect(state({ tenantNamespace: "n" })).to.equal("NotReady TenantNotReady");
    expect(state({ tenantNamespace: "n" }, "TolerateNoHandshake")).to.equal("Ready TenantReady");
    expect(state({ tenantNamespace: "n", authParams: {} })).to.equal("Ready TenantReady");
  });

  it("are absent for a Secret made by hand, and give its server's address", () => {
    const kubeconfig = JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: "https://y", "proxy-url": "http://z" } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      users: [{ name: "u", user: {} }],
      "current-context": "c",
    });
    const secret = {
      metadata: { ...metadata, annotations: { "liqo.io/remote-tenant-namespace": "there" } },
      data: { kubeconfig: Buffer.from(kubeconfig).toString("base64") },
    };
    expect(authenticationFindings(view({ secrets: [secret] }))).to.deep.equal([]);
    expect(addressOf(view({ secrets: [secret] }))).to.deep.equal({
      apiServerUrl: "https://y",
      foreignProxyUrl: "http://z",
      tenantNamespace: { local: metadata.namespace, remote: "there" },
    });
    expect(addressOf(view({ identities: [identity] }))).to.deep.equal({
      apiServerUrl: "https://x",
      tenantNamespace: { local: metadata.namespace, remote: "there" },
    });
  });
});

describe("offloading conditions", () => {
  it("count ready processes, and ready Nodes of those that make one", () => {
    const virtualNodes = [virtualNode("a"), virtualNode("b"), virtualNode("c", false)];
    const pods = (ready: boolean): ReturnType<PeerView["virtualKubeletPods"]> => [
      { status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] } },
    ];
    const found = offloadingFindings(
      view({
        virtualNodes,
        nodes: [node("a", true), node("b", false)],
        virtualKubeletPods: (virtualNode) => (virtualNode.metadata.name === "c" ? [] : pods(true)),
      }),
    );
    expect(summary(found)).to.deep.equal({
      OffloadingVirtualNodeStatus: "Ready VirtualNodesReady",
      OffloadingNodeStatus: "SomeNotReady NodesSomeNotReady",
    });
    const down = offloadingFindings(view({ virtualNodes: [virtualNode("a")], virtualKubeletPods: () => pods(false) }));
    expect(summary(down)).to.deep.equal({
      OffloadingVirtualNodeStatus: "NotReady VirtualNodesNotReady",
      OffloadingNodeStatus: "NotReady NodesNotReady",
    });
  });
});

describe("conditions", () => {
  const finding: ConditionFinding = { type: "AuthTenantStatus", status: "Ready", reason: "r", message: "m" };

  it("keep the time of the last change, and vanish with their cause", () => {
    const old = [
      { ...finding, message: "other", lastTransitionTime: "2020-01-01T00:00:00Z" },
      { type: "NetworkGatewayPresence" as const, status: "Ready" as const },
    ];
    const next = dated([finding], old);
    expect(next).to.deep.equal([{ ...finding, lastTransitionTime: "2020-01-01T00:00:00Z" }]);
    expect(dated([{ ...finding, status: "NotReady" }], old)[0]?.lastTransitionTime).not.to.equal(
      "2020-01-01T00:00:00Z",
    );
    expect(moduleStatus(false, [finding], { enabled: true, conditions: next })).to.deep.equal({ enabled: false });
  });
});
