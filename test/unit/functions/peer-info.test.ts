import { expect } from "chai";
import {
  ConfigurationResource,
  ForeignClusterResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  ResourceSliceResource,
  VirtualNodeResource,
  type ResourceSliceStatus,
} from "../../../agent/api/index.js";
import { peersText } from "../../../cli/output/info-text.js";
import { styleFor } from "../../../cli/output/style.js";
import { formatData } from "../../../cli/output/format.js";
import { peerInfo } from "../../../provider/functions/info-schema.js";
import { moduleHealth } from "../../../provider/functions/module-health.js";
import { describePeer } from "../../../provider/functions/peer-info.js";

const PEER = "a-provider";
const ofPeer = (name: string, labels: Record<string, string> = {}) => ({
  name,
  namespace: `liqo-tenant-${PEER}`,
  labels: { [Labels.remoteClusterID]: PEER, ...labels },
});
const none = { configurations: [], servers: [], clients: [], slices: [], virtualNodes: [], nodes: [] };
const module = { enabled: true, conditions: [] };
const peer = ForeignClusterResource.build({
  metadata: { name: PEER },
  spec: { clusterID: PEER },
  status: {
    role: "Provider",
    apiServerUrl: "https://10.0.0.2:6443",
    modules: { networking: module, authentication: module, offloading: module },
  },
});

/** Command line and status specification, `info peer`. */
describe("what is told of a peer", () => {
  type Condition = NonNullable<ResourceSliceStatus["conditions"]>[number];
  const condition = (type: Condition["type"], status: Condition["status"]): Condition => ({ type, status });
  const sliceWith = (conditions: Condition[], labels = {}) => {
    const status = { conditions, resources: { cpu: "4" } };
    const slice = ResourceSliceResource.build({
      metadata: ofPeer("s", labels),
      spec: { resources: { cpu: 2 } },
      status,
    });
    return describePeer(peer, { ...none, slices: [slice] }).authentication.resourceSlices[0];
  };

  it("counts a slice as accepted once its identity and its resources are", () => {
    const [identity, resources] = [condition("Authentication", "Accepted"), condition("Resources", "Accepted")];
    expect(sliceWith([identity, resources])).to.deep.equal({
      name: "s",
      action: "Consuming",
      accepted: true,
      resources: { cpu: "4" },
    });
    expect(sliceWith([])?.accepted, "not answered yet").to.equal(false);
    expect(sliceWith([identity])?.accepted, "resources are pending").to.equal(false);
    expect(sliceWith([resources])?.accepted, "the identity is pending").to.equal(false);
    const refused = sliceWith([{ ...condition("Authentication", "Denied"), message: "no certificate" }, resources]);
    expect(refused).to.deep.include({ accepted: false, alerts: ["Authentication: no certificate"] });
    expect(sliceWith([identity, resources], { [Labels.replicated]: "true" })?.action).to.equal("Providing");
  });

  it("counts a module without conditions as healthy, as that of an identity made by hand", () => {
    expect(moduleHealth({ enabled: true })).to.equal("Healthy");
    expect(moduleHealth({ enabled: true, conditions: [] })).to.equal("Healthy");
    expect(moduleHealth({ enabled: false })).to.equal("Disabled");
    expect(moduleHealth(undefined)).to.equal("Disabled");
    const bad = { type: "AuthTenantStatus", status: "NotReady" } as const;
    expect(moduleHealth({ enabled: true, conditions: [bad] })).to.equal("Unhealthy");
  });

  it("has every field of Liqo's, also where there is nothing to tell", () => {
    const bare = ForeignClusterResource.build({ metadata: { name: PEER }, spec: { clusterID: PEER } });
    const told = describePeer(bare, none);
    expect(peerInfo.parse(told)).to.deep.equal(told);
    expect(told).to.deep.equal({
      info: { clusterID: PEER, role: "Unknown" },
      network: { status: "Disabled", CIDRs: {} },
      authentication: { status: "Disabled", APIServerAddr: "", resourceSlices: [] },
      offloading: { status: "Disabled", virtualNodes: [] },
    });
    expect(JSON.parse(formatData(told, "json"))).to.deep.equal(told);
    const text = peersText({ [PEER]: told }, styleFor({ isInteractive: false, env: {} }));
    const lines = text.split("\n").filter((line) => line.startsWith("│"));
    expect(lines.map((line) => line.replace(/│/g, "").trim().split(/ +/).join(" "))).to.deep.equal([
      `Cluster ID ${PEER}`,
      "Role Unknown",
      ...Array.from({ length: 3 }, () => "Status Disabled"),
    ]);
  });

  it("tells ranges, the gateway's side of the tunnel and virtual nodes", () => {
    const remote = { cidr: { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] } };
    const remapped = { cidr: { pod: ["10.5.0.0/16"], external: ["10.70.0.0/16"] } };
    const configuration = (mapped: typeof remote) =>
      ConfigurationResource.build({ metadata: ofPeer("c"), spec: { remote }, status: { remote: mapped } });
    const server = GatewayServerResource.build({
      metadata: ofPeer("g"),
      spec: {},
      status: { endpoint: { addresses: ["192.0.2.1"], port: 30_742, protocol: "UDP" } },
    });
    const client = GatewayClientResource.build({
      metadata: ofPeer("g"),
      spec: { endpoint: { addresses: ["192.0.2.2"], ports: [51_840, 51_841], protocol: "UDP" } },
    });
    const { network } = describePeer(peer, { ...none, configurations: [configuration(remapped)], servers: [server] });
    expect(network.CIDRs).to.deep.equal({ remote: remote.cidr, remapped: remapped.cidr });
    expect(network.gateway).to.deep.equal({ address: ["192.0.2.1"], port: 30_742, role: "Server" });
    const other = describePeer(peer, { ...none, configurations: [configuration(remote)], clients: [client] }).network;
    expect(other.CIDRs, "nothing is called otherwise").to.deep.equal({ remote: remote.cidr });
    expect(other.gateway, "of several ports the first").to.deep.equal({
      address: ["192.0.2.2"],
      port: 51_840,
      role: "Client",
    });
    const spec = { kubeconfigSecretRef: { name: "k" }, resourceQuota: { hard: { cpu: 2 } } };
    const labels = { [Labels.resourceSliceName]: "s" };
    const node = (name: string, ready: string) => ({
      metadata: { name },
      status: { conditions: [{ type: "Ready", status: ready }] },
    });
    const virtualNodes = [
      VirtualNodeResource.build({ metadata: ofPeer("up", labels), spec }),
      VirtualNodeResource.build({ metadata: ofPeer("down"), spec }),
      VirtualNodeResource.build({ metadata: ofPeer("off"), spec: { ...spec, createNode: false } }),
    ];
    const nodes = [node("up", "True"), node("down", "False")];
    const told = { secret: "k", resources: { cpu: "2" } };
    expect(describePeer(peer, { ...none, virtualNodes, nodes }).offloading.virtualNodes).to.deep.equal([
      { name: "up", status: "Healthy", ...told, resourceSlice: "s" },
      { name: "down", status: "Unhealthy", ...told },
      { name: "off", status: "Disabled", ...told },
    ]);
  });
});
