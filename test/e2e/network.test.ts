import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import {
  ConfigurationResource,
  ConnectionResource,
  InternalNodeResource,
  NetworkResource,
  normalizeCidrs,
} from "../../agent/api/index.js";
import { buildAgentImage } from "../../agent/image/build.js";
import { ServiceResource } from "../../agent/runtime/index.js";
import { downClusters, loadImage, upClusters } from "../clusters/index.js";
import { until } from "../clusters/support/wait.js";
import { installAgent } from "../support/agent.js";
import { openCluster, type LabCluster } from "../support/lab.js";
import { TCP_PORT, UDP_PORT, answered, inPod, nodesOf, probeAll } from "../support/probe.js";
import { exposeRemote } from "../support/remote-service.js";
import { expectTraffic, podTargets, runServers } from "../support/traffic.js";
import { waitFor } from "../support/wait.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

/**
 * Overlapping pod ranges, of which one cluster has two: each node's pods are in their own. Traffic of the second node must find the gateway on
 * the first, or the other way round.
 */
const POD_CIDRS = { a: ["10.244.0.0/24", "10.244.1.0/24"], b: ["10.244.0.0/16"] };
const CLUSTERS = [
  { name: "net-a", nodes: 2, podCIDR: "10.244.0.0/16", serviceCIDR: "10.96.0.0/16" },
  { name: "net-b", nodes: 1, podCIDR: "10.244.0.0/16", serviceCIDR: "10.97.0.0/16" },
];
const NODE_PORT = 30_742;
/** Of the Service for a remote pod, on every node. */
const SERVICE_PORTS = { tcp: 31_888, udp: 31_889 };
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;

/** One life of a link, in order: each test builds on those before it. */
describe("network between two clusters from plain manifests", function () {
  this.timeout(360_000);
  stopAtFirstFailure();
  let a: LabCluster, b: LabCluster;
  let podsA: Pod[], podsB: Pod[];
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-network-"));

  before(async function () {
    this.timeout(25 * 60_000);
    const clusters = await upClusters(CLUSTERS);
    const image = await buildAgentImage();
    await loadImage(image.archive, clusters);
    [a, b] = (await Promise.all(clusters.map(openCluster))) as [LabCluster, LabCluster];
    await Promise.all(
      [a, b].map((lab, index) => {
        const { name: clusterId, serviceCIDR } = CLUSTERS[index]!;
        const podCIDRs = index === 0 ? POD_CIDRS.a : POD_CIDRS.b;
        return installAgent(lab, { clusterId, image: image.ref, podCIDRs, serviceCIDR });
      }),
    );
    [podsA, podsB] = await Promise.all([runServers(a), runServers(b)]);
  });

  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    if (!KEEP) await downClusters(CLUSTERS.map(({ name }) => name));
  });

  it("connects within seconds of the last manifest", async () => {
    const [keysA, keysB] = [keyPair(), keyPair()];
    const server = b.cluster.nodes[0]?.address ?? "";
    await apply(a, [
      tenantNamespace("net-b"),
      configuration("net-b", POD_CIDRS.b),
      keySecret("net-b", keysA),
      publicKey("net-b", keysB),
    ]);
    await apply(b, [
      tenantNamespace("net-a"),
      configuration("net-a", POD_CIDRS.a),
      keySecret("net-a", keysB),
      publicKey("net-a", keysA),
    ]);
    await apply(b, [gatewayServer("net-a")]);
    const started = Date.now();
    await apply(a, [gatewayClient("net-b", server)]);
    const applied = Date.now();
    await Promise.all([connected(a), connected(b)]);
    console.log(
      `      connected ${Date.now() - applied} ms after kubectl apply ended, ${Date.now() - started} ms after it began`,
    );
  });

  it("maps each of the other's ranges where they overlap with its own", async () => {
    for (const [lab, theirs] of [
      [a, POD_CIDRS.b],
      [b, POD_CIDRS.a],
    ] as const) {
      const { items } = await lab.client.list(ConfigurationResource);
      const { spec, status } = items[0] ?? {};
      expect(spec?.remote?.cidr?.pod).to.deep.equal(theirs);
      const mapped = normalizeCidrs(status?.remote?.cidr?.pod);
      expect(mapped.map((cidr) => cidr.split("/")[1])).to.deep.equal(theirs.map((cidr) => cidr.split("/")[1]));
      for (const cidr of mapped) expect(cidr).to.not.match(/^10\.244\./);
    }
  });

  it("has a pod of each range to be asked", () => {
    const ranges = [...podsA, ...podsB].map(({ status }) => status?.podIP?.replace(/\d+$/, "0/24"));
    expect(ranges).to.have.members([...POD_CIDRS.a, "10.244.0.0/24"]);
  });

  it("carries TCP and UDP between all pods, both ways, small and full-size packets", async () => {
    await expectTraffic(a, b);
  });

  it("carries traffic of nodes and of Services", async () => {
    const [target] = await podTargets(a, podsB, b);
    const remote = { ...target!, name: "remote" };
    expect(await probeAll(nodesOf(a), [remote])).to.deep.equal([]);
    const ports = [
      { name: "tcp", protocol: "TCP", port: TCP_PORT, nodePort: SERVICE_PORTS.tcp },
      { name: "udp", protocol: "UDP", port: UDP_PORT, nodePort: SERVICE_PORTS.udp },
    ];
    await exposeRemote(a, { name: "remote", namespace: "default" }, { type: "NodePort", ports }, remote.host);
    const service = await a.client.get(ServiceResource, { name: "remote", namespace: "default" });
    await answered(
      "nodes to lead to the Service",
      podsA.map((pod) => inPod(a, pod)),
      [{ ...remote, host: service?.spec?.clusterIP ?? "" }],
    );
    const atNodes = a.cluster.nodes.map(({ name, address }) => ({
      ...remote,
      name,
      host: address,
      tcpPort: SERVICE_PORTS.tcp,
      udpPort: SERVICE_PORTS.udp,
    }));
    await answered("nodes' ports to lead to the Service", nodesOf(b), atNodes);
  });

  it("comes back by itself when gateways are killed", async () => {
    for (const lab of [b, a]) {
      await lab.kubectl([
        "delete",
        "pods",
        "-A",
        "-l",
        "networking.liqo.io/component=gateway",
        "--grace-period=0",
        "--force",
        "--wait=false",
      ]);
      const started = Date.now();
      const [remote] = await podTargets(a, podsB, b);
      await until("an answer", 90_000, () => ask(podsA[0]!, remote!.host), 0);
      console.log(`      gateway of ${lab.cluster.name} killed: traffic flows again after ${Date.now() - started} ms`);
      await expectTraffic(a, b);
    }
  });

  it("leaves nothing on the nodes once the link is deleted", async () => {
    await Promise.all([
      a.kubectl(["delete", "gatewayclients,configurations", "--all", "-A"]),
      b.kubectl(["delete", "gatewayservers,configurations", "--all", "-A"]),
    ]);
    for (const lab of [a, b]) {
      for (const node of lab.cluster.nodes) {
        const deadline = Date.now() + 60_000;
        let left = leftOnNode(node.netns ?? "");
        while (left !== "" && Date.now() < deadline) {
          await new Promise((resolve) => setTimeout(resolve, 200));
          left = leftOnNode(node.netns ?? "");
        }
        expect(left).to.equal("");
      }
      await waitFor(lab.client, NetworkResource, { timeoutMs: 60_000, what: "release of remote ranges" }, (networks) =>
        networks.every(({ metadata }) => metadata.namespace === "liqo"),
      );
      expect((await lab.client.list(InternalNodeResource)).items).to.have.length(lab.cluster.nodes.length);
    }
  });

  async function apply(lab: LabCluster, manifests: string[]): Promise<void> {
    const file = path.join(folder, `${lab.cluster.name}.yaml`);
    writeFileSync(file, manifests.join("\n---\n"));
    await lab.kubectl(["apply", "-f", file]);
  }

  /** Asks a remote pod from one of A's; fails without an answer within a second. */
  function ask({ metadata }: Pod, host: string): Promise<string> {
    const script = `await fetch("http://${host}:${TCP_PORT}", { signal: AbortSignal.timeout(1000) })`;
    const program = ["node", "--input-type=module", "-e", script];
    return a.kubectl(["exec", "-n", "default", metadata?.name ?? "", "--", ...program]);
  }
});

async function connected(lab: LabCluster): Promise<void> {
  const options = { timeoutMs: 120_000, what: `Connection of ${lab.cluster.name} Connected` };
  await waitFor(lab.client, ConnectionResource, options, (connections) =>
    connections.some(({ status }) => status?.value === "Connected"),
  );
}

function leftOnNode(netns: string): string {
  const script = "ip rule; ip route show table all; ip link; nft list tables";
  const text = execFileSync("nsenter", [`--net=/run/netns/${netns}`, "sh", "-c", script], { encoding: "utf8" });
  return text
    .split("\n")
    .filter((line) => /27753|liqo/.test(line))
    .join("\n");
}

interface KeyPair {
  privateKey: string;
  publicKey: string;
}

function keyPair(): KeyPair {
  const privateKey = execFileSync("wg", ["genkey"], { encoding: "utf8" }).trim();
  return { privateKey, publicKey: execFileSync("wg", ["pubkey"], { input: privateKey, encoding: "utf8" }).trim() };
}

// The manifests of the declarative way, as documentation has them.

function tenantNamespace(remote: string): string {
  return `apiVersion: v1
kind: Namespace
metadata:
  labels:
    liqo.io/remote-cluster-id: ${remote}
    liqo.io/tenant-namespace: "true"
  name: tenant-of-${remote}
spec: {}`;
}

function configuration(remote: string, pod: readonly string[]): string {
  return `apiVersion: networking.liqo.io/v1beta1
kind: Configuration
metadata:
  labels:
    liqo.io/remote-cluster-id: ${remote}
  name: their-ranges
  namespace: tenant-of-${remote}
spec:
  remote:
    cidr:
      external: 10.70.0.0/16
      pod: [${pod.join(", ")}]`;
}

function keySecret(remote: string, { privateKey, publicKey }: KeyPair): string {
  return `apiVersion: v1
kind: Secret
metadata:
  labels:
    liqo.io/remote-cluster-id: ${remote}
    networking.liqo.io/gateway-resource: "true"
  name: gw-keys
  namespace: tenant-of-${remote}
type: Opaque
data:
  privateKey: ${privateKey}
  publicKey: ${publicKey}`;
}

function publicKey(remote: string, keys: KeyPair): string {
  return `apiVersion: networking.liqo.io/v1beta1
kind: PublicKey
metadata:
  labels:
    liqo.io/remote-cluster-id: ${remote}
    networking.liqo.io/gateway-resource: "true"
  name: their-key
  namespace: tenant-of-${remote}
spec:
  publicKey: ${keys.publicKey}`;
}

function gatewayServer(remote: string): string {
  return `apiVersion: networking.liqo.io/v1beta1
kind: GatewayServer
metadata:
  labels:
    liqo.io/remote-cluster-id: ${remote}
  name: server
  namespace: tenant-of-${remote}
spec:
  endpoint:
    port: 51840
    serviceType: NodePort
    nodePort: ${NODE_PORT}
  mtu: 1340
  secretRef:
    name: gw-keys
  serverTemplateRef:
    apiVersion: networking.liqo.io/v1beta1
    kind: WgGatewayServerTemplate
    name: wireguard-server
    namespace: liqo`;
}

function gatewayClient(remote: string, address: string): string {
  return `apiVersion: networking.liqo.io/v1beta1
kind: GatewayClient
metadata:
  creationTimestamp: null
  labels:
    liqo.io/remote-cluster-id: ${remote}
  name: client
  namespace: tenant-of-${remote}
spec:
  clientTemplateRef:
    apiVersion: networking.liqo.io/v1beta1
    kind: WgGatewayClientTemplate
    name: wireguard-client
    namespace: liqo
  secretRef:
    name: gw-keys
  endpoint:
    addresses:
    - ${address}
    port: ${NODE_PORT}
    protocol: UDP
  mtu: 1340`;
}
