import { expect } from "chai";
import { clusterText, peersText } from "../../../cli/output/info-text.js";
import { styleFor, widthOf } from "../../../cli/output/style.js";
import type { ClusterInfo, PeerInfo } from "../../../provider/functions/info-schema.js";

const plain = styleFor({ isInteractive: false, env: {} });

const INFO: ClusterInfo = {
  health: { healthy: true },
  local: { clusterID: "consumer", version: "0.1.0", labels: { region: "eu" }, APIServerAddr: "https://10.0.0.1:6443" },
  network: {
    podCIDRs: ["10.1.0.0/16", "10.2.0.0/16"],
    serviceCIDR: "10.90.0.0/16",
    externalCIDR: "10.70.0.0/16",
    internalCIDR: "10.80.0.0/16",
  },
  peerings: {
    peers: [
      {
        clusterID: "a-provider",
        role: "ConsumerAndProvider",
        networkingStatus: "Healthy",
        authenticationStatus: "Unhealthy",
        offloadingStatus: "Disabled",
      },
    ],
  },
};

const PEER: PeerInfo = {
  info: { clusterID: "a-provider", role: "Provider" },
  network: {
    status: "Unhealthy",
    alerts: ["Connection: Error, no answer"],
    CIDRs: {
      remote: { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] },
      remapped: { pod: ["10.5.0.0/16"], external: ["10.70.0.0/16"] },
    },
    gateway: { address: ["1.2.3.4"], port: 51840, role: "Client" },
  },
  authentication: {
    status: "Healthy",
    APIServerAddr: "https://10.0.0.2:6443",
    resourceSlices: [{ name: "s", action: "Consuming", accepted: true, resources: { cpu: "2" } }],
  },
  offloading: {
    status: "Healthy",
    virtualNodes: [{ name: "n", status: "Healthy", secret: "k", resourceSlice: "s", resources: { cpu: "2" } }],
  },
};

describe("info for people", () => {
  it("tells of an installation in three frames of one width, with aligned columns", () => {
    expect(clusterText(INFO, plain)).to.equal(
      `┌─ Local installation info ──────────────────────────────────────────────┐
│ Cluster ID     consumer                                                │
│ Version        0.1.0                                                   │
│ API server     https://10.0.0.1:6443                                   │
│ Labels         region=eu                                               │
│ Pod CIDRs      10.1.0.0/16, 10.2.0.0/16                                │
│ Service CIDR   10.90.0.0/16                                            │
│ External CIDR  10.70.0.0/16                                            │
│ Internal CIDR  10.80.0.0/16                                            │
└────────────────────────────────────────────────────────────────────────┘
┌─ Installation health ──────────────────────────────────────────────────┐
│ ✔ all pods of the agent are ready                                      │
└────────────────────────────────────────────────────────────────────────┘
┌─ Active peerings ──────────────────────────────────────────────────────┐
│ CLUSTER ID  ROLE                   NETWORK  AUTHENTICATION  OFFLOADING │
│ a-provider  Consumer and provider  Healthy  Unhealthy       Disabled   │
└────────────────────────────────────────────────────────────────────────┘
`,
    );
  });

  it("names pods that are not ready, and says so when there are no peers and no network", () => {
    const pod = { status: "Pending", readyContainers: 0, totalContainers: 1, restarts: 3 };

    const text = clusterText(
      {
        ...INFO,
        network: undefined,
        health: { healthy: false, unhealthyPods: { "a-pod": pod } },
        peerings: { peers: [] },
      },
      plain,
    );
    expect(text).to.match(
      /✘ a pod of the agent not ready +│\n│ {3}POD {4}STATUS {3}READY {2}RESTARTS +│\n│ {3}a-pod {2}Pending {2}0\/1 {4}3 +│/,
    );
    expect(text)
      .to.match(/Network +disabled/)
      .and.match(/─ Active peerings ─+┐\n│ none +│\n└/);
  });

  it("tells of each peer in four frames, what is wrong below the state", () => {
    expect(peersText({ "a-provider": PEER }, plain)).to.equal(
      `┌─ Peer cluster info ───────────────────────────────────┐
│ Cluster ID  a-provider                                │
│ Role        Provider                                  │
└───────────────────────────────────────────────────────┘
┌─ Network ─────────────────────────────────────────────┐
│ Status           Unhealthy                            │
│ ! Connection: Error, no answer                        │
│ Pod CIDR         10.1.0.0/16, remapped to 10.5.0.0/16 │
│ External CIDR    10.70.0.0/16                         │
│ Gateway          Client                               │
│ Gateway address  1.2.3.4                              │
│ Gateway port     51840                                │
└───────────────────────────────────────────────────────┘
┌─ Authentication ──────────────────────────────────────┐
│ Status      Healthy                                   │
│ API server  https://10.0.0.2:6443                     │
│ Resource slices                                       │
│ └─ s                                                  │
│    ├─ Action     Consuming                            │
│    ├─ Accepted   yes                                  │
│    └─ Resources  cpu 2                                │
└───────────────────────────────────────────────────────┘
┌─ Offloading ──────────────────────────────────────────┐
│ Status  Healthy                                       │
│ Virtual nodes                                         │
│ └─ n                                                  │
│    ├─ Status          Healthy                         │
│    ├─ Secret          k                               │
│    ├─ Resource slice  s                               │
│    └─ Resources       cpu 2                           │
└───────────────────────────────────────────────────────┘
`,
    );
    expect(peersText({}, plain)).to.equal("The cluster has no peers.\n");
  });

  it("breaks long sentences instead of making frames as wide as they are", () => {
    const words = Array.from({ length: 40 }, (_, index) => `word${index}`);
    const alerts = [words.join(" ")];
    const [slice] = PEER.authentication.resourceSlices;
    const resourceSlices = slice ? [{ ...slice, accepted: false, alerts }] : [];
    const peer = {
      ...PEER,
      network: { ...PEER.network, alerts },
      authentication: { ...PEER.authentication, resourceSlices },
    };
    const lines = peersText({ "a-provider": peer }, plain).trimEnd().split("\n");
    expect(new Set(lines.map(widthOf))).to.have.property("size", 1);
    expect(widthOf(lines[0] ?? "")).to.be.at.most(110);
    const told = lines.join(" ").replace(/[│├─!\s]+/g, " ");
    expect(told.split(words.join(" ")), "both are told, word by word").to.have.length(3);
    expect(lines.join("\n")).to.match(/├─ ! word0 [^\n]+\n│ {4}│ {4}word/);
  });

  it("is coloured for people at a terminal only, and aligned all the same", () => {
    const coloured = styleFor({ isInteractive: true, env: {} });
    const text = clusterText(INFO, coloured);
    expect(text).to.contain("\u001b[31mUnhealthy");
    const lines = (of: string): number[] => of.split("\n").map(widthOf);
    expect(lines(text)).to.deep.equal(lines(clusterText(INFO, plain)));
    expect(clusterText(INFO, styleFor({ isInteractive: true, env: { NO_COLOR: "1" } }))).to.equal(
      clusterText(INFO, plain),
    );
  });
});
