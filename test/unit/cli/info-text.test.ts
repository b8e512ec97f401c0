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
      remapped: { pod: ["10.5.0.0/16"], external: ["10.71.0.0/16"] },
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
  it("tells of an installation in three sections with aligned columns", () => {
    expect(clusterText(INFO, plain)).to.equal(
      `Local installation
  Cluster ID     consumer
  Version        0.1.0
  API server     https://10.0.0.1:6443
  Labels         region=eu
  Pod CIDRs      10.1.0.0/16, 10.2.0.0/16
  Service CIDR   10.90.0.0/16
  External CIDR  10.70.0.0/16
  Internal CIDR  10.80.0.0/16

Installation health
  ✔ all pods of the agent are ready

Active peerings
  CLUSTER ID  ROLE                   NETWORK  AUTHENTICATION  OFFLOADING
  a-provider  Consumer and provider  Healthy  Unhealthy       Disabled
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
      /✘ a pod of the agent not ready\n {4}POD {4}STATUS {3}READY {2}RESTARTS\n {4}a-pod {2}Pending {2}0\/1 {4}3/,
    );
    expect(text)
      .to.match(/Network +disabled/)
      .and.match(/Active peerings\n {2}none/);
  });

  it("draws a tree for each peer, alerts first", () => {
    expect(peersText({ "a-provider": PEER }, plain)).to.equal(
      `a-provider (Provider)
├─ Network: Unhealthy
│  ├─ ! Connection: Error, no answer
│  ├─ CIDRs pod 10.1.0.0/16; external 10.70.0.0/16
│  ├─ remapped to pod 10.5.0.0/16; external 10.71.0.0/16
│  └─ gateway client of 1.2.3.4 port 51840
├─ Authentication: Healthy
│  ├─ API server https://10.0.0.2:6443
│  └─ slice s: consuming, accepted
│     └─ resources cpu 2
└─ Offloading: Healthy
   └─ virtual node n: Healthy
      ├─ slice s
      ├─ secret k
      └─ resources cpu 2
`,
    );
    expect(peersText({}, plain)).to.equal("The cluster has no peers.\n");
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
