import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod } from "kubernetes-types/core/v1";
import {
  ConfigurationResource,
  ConnectionResource,
  DataKeys,
  GatewayServerResource,
  LabelValues,
  Labels,
  Names,
  PublicKeyResource,
  WgGatewayServerTemplateResource,
  tenantNamespaceName,
} from "../../agent/api/index.js";
import { keySecretLabels, newKeyPair } from "../../agent/controller/network/gateways/key-secret.js";
import { NamespaceResource, PodResource, SecretResource, delay } from "../../agent/runtime/index.js";
import { downClusters } from "../clusters/index.js";
import { installAgent } from "../support/agent.js";
import { prepareLab, type LabCluster } from "../support/lab.js";
import { waitFor } from "../support/wait.js";
import { isReady } from "../support/workload.js";
import { processesOfAll, processorSeconds, proportionalMiB } from "./pod-processes.js";
import { timed } from "./pulumi-commands.js";
import { atMost, figure, type Result } from "./result.js";
import { PingResponder, SimulatedPeer } from "./simulated-peer.js";

export const LINKS_CLUSTER = { name: "bench-links", podCIDR: "10.244.0.0/16", serviceCIDR: "10.96.0.0/16" };
/** How many links there are after each step; LINKS="8,16,24" for a smaller machine. */
const STEPS = (process.env["LINKS"] ?? "10,25,50").split(",").map(Number);
/** Growth is linear: the last link costs no more than the first ones did, but for the noise of measuring. */
const LINEAR = 1.25;
/** All peers have the ranges that the cluster has itself, as clusters often do: each is moved out of the way. */
const PEER_RANGES = { pod: [LINKS_CLUSTER.podCIDR], external: ["10.70.0.0/16"] };
const FIRST_NODE_PORT = 31_000;
/** Of peers on the clusters' bridge, beyond those of nodes. */
const FIRST_ADDRESS = 200;
const SMALL = "small";
const STEP_MS = 600_000;
/** What still has to be done once a link is Connected is done within this time. */
const SETTLED_MS = 5_000;
/** For how long is looked at what links take while nothing changes. */
const IDLE_MS = 15_000;
const BY = { fieldManager: "bench" };

/** One link, before it is asked for. */
interface Link {
  peer: SimulatedPeer;
  remoteClusterID: string;
  nodePort: number;
  own: { privateKey: string; publicKey: string };
  theirs: { privateKey: string; publicKey: string };
}

/** What the processes of one of the agent's roles have taken so far. */
interface Usage {
  /** Seconds of a processor. */
  processor: number;
  mebibytes: number;
  /** What they take while nothing changes, in processors. */
  idle: number;
}

const ROLES = ["controller", "fabric", "proxy", "gateway"] as const;
type Role = (typeof ROLES)[number];
type Usages = Record<Role, Usage>;

/** What each link of a step costs. */
interface Cost {
  from: number;
  to: number;
  /** Until it is Connected. */
  seconds: number;
  /** Seconds of a processor, without what the links before it take meanwhile as they do always. */
  processor: number;
  /** Of these. */
  byRole: Record<Role, number>;
  mebibytes: number;
}

/**
 * One cluster in 50 peerings, by their manifests: the real controller, fabric and gateways, each gateway a pod with a tunnel that is Connected. The peers
 * are a network namespace with a WireGuard client each, which answers connection checks; each has the same ranges as the cluster, so all are remapped.
 * Prints what a link costs (time from its manifests to Connected, the agent's processor time, memory) as there come to be 10, 25 and 50, and how the
 * last compare with the first. Needs nodes whose processes are this machine's own.
 */
export async function benchLinks(): Promise<Result[]> {
  const peers: SimulatedPeer[] = [];
  const responder = new PingResponder();
  try {
    const lab = await prepareLab([LINKS_CLUSTER]);
    const [hub] = lab.clusters as [LabCluster];
    if (hub.cluster.backend !== "local") {
      console.log("links: left out, the pods of this cluster are not processes of this machine");
      return [];
    }
    const ranges = { podCIDRs: [LINKS_CLUSTER.podCIDR], serviceCIDR: LINKS_CLUSTER.serviceCIDR };
    await installAgent(hub, { clusterId: LINKS_CLUSTER.name, image: lab.agentImage, ...ranges });
    await smallTemplate(hub);
    const links = await makePeers(hub, responder, peers);
    return await grow(hub, links);
  } finally {
    await Promise.all(peers.map((peer) => peer.remove()));
    responder.close();
    await downClusters([LINKS_CLUSTER.name]);
  }
}

async function makePeers(hub: LabCluster, responder: PingResponder, peers: SimulatedPeer[]): Promise<Link[]> {
  const { bridge = "", nodes } = hub.cluster;
  const beside = (last: number): string => `${nodes[0]?.address.split(".").slice(0, 3).join(".")}.${last}`;
  const answers = { address: beside(1), port: await responder.listen(beside(1)) };
  const links: Link[] = [];
  for (let index = 0; index < Math.max(...STEPS); index++) {
    const [own, theirs] = [newKeyPair(), newKeyPair()];
    const name = `plq-peer-${index}`;
    const address = beside(FIRST_ADDRESS + index);
    const peer = await SimulatedPeer.create({ name, bridge, address, responder: answers, keys: theirs });
    peers.push(peer);
    links.push({ peer, remoteClusterID: `peer-${index}`, nodePort: FIRST_NODE_PORT + index, own, theirs });
  }
  return links;
}

async function grow(hub: LabCluster, links: readonly Link[]): Promise<Result[]> {
  const costs: Cost[] = [];
  let before = await used(hub);
  let from = 0;
  for (const to of STEPS) {
    const added = links.slice(from, to);
    const seconds = await timed(() => connect(hub, added, to));
    const settling = await timed(() => delay(SETTLED_MS));
    const after = await used(hub);
    const cost = costOf(before, after, { count: added.length, seconds, elapsed: seconds + settling });
    console.log(`links: ${from + 1} to ${to}: ${JSON.stringify(cost)} each`);
    costs.push({ from: from + 1, to, ...cost });
    before = after;
    from = to;
  }
  return results(costs, sum(before, ({ idle }) => idle) / from);
}

function costOf(
  before: Usages,
  after: Usages,
  { count, seconds, elapsed }: { count: number; seconds: number; elapsed: number },
): Omit<Cost, "from" | "to"> {
  const processorOf = (role: Role): number =>
    (after[role].processor - before[role].processor - before[role].idle * elapsed) / count;
  const byRole = Object.fromEntries(ROLES.map((role) => [role, processorOf(role)])) as Record<Role, number>;
  const mebibytes = (sum(after, (one) => one.mebibytes) - sum(before, (one) => one.mebibytes)) / count;
  const processor = ROLES.reduce((all, role) => all + byRole[role], 0);
  return { seconds: seconds / count, processor, byRole, mebibytes };
}

function sum(usages: Usages, of: (usage: Usage) => number): number {
  return ROLES.reduce((all, role) => all + of(usages[role]), 0);
}

function results(costs: readonly Cost[], idle: number): Result[] {
  const [first, last] = [costs[0]!, costs[costs.length - 1]!];
  return [
    ...costs.flatMap(({ from, to, seconds, processor, byRole, mebibytes }) => [
      figure(`links ${from} to ${to}: time until Connected, each`, seconds, "s"),
      figure(`links ${from} to ${to}: processor time of the agent, each`, processor, "s"),
      ...ROLES.map((role) => figure(`links ${from} to ${to}: of that, its ${role}`, byRole[role], "s")),
      figure(`links ${from} to ${to}: memory of the agent, each`, mebibytes, "MiB"),
    ]),
    figure(`${last.to} idle links: processor time of the agent, each`, idle * 100, "% of a core"),
    atMost("time per link, the last against the first", last.seconds / first.seconds, "x", LINEAR),
    atMost("processor time per link, the last against the first", last.processor / first.processor, "x", LINEAR),
    atMost("memory per link, the last against the first", last.mebibytes / first.mebibytes, "x", LINEAR),
  ];
}

/** Asks for links and waits until all there are so far are Connected. */
async function connect(hub: LabCluster, links: readonly Link[], total: number): Promise<void> {
  await Promise.all(links.map((link) => applyLink(hub, link)));
  await Promise.all(links.map((link) => answerGateway(hub, link)));
  const options = { timeoutMs: STEP_MS, what: `${total} links Connected` };
  await waitFor(
    hub.client,
    ConnectionResource,
    { ...options, describe: (all) => `${all.filter(({ status }) => status?.value === "Connected").length} are` },
    (all) => all.filter(({ status }) => status?.value === "Connected").length === total,
  );
}

/** The peer speaks as soon as the gateway runs, as a client does that tries again and again. */
async function answerGateway({ client, cluster }: LabCluster, link: Link): Promise<void> {
  const namespace = tenantNamespaceName(link.remoteClusterID);
  const options = { namespace, timeoutMs: STEP_MS, what: `the gateway to ${link.remoteClusterID} running` };
  await waitFor(client, PodResource, options, (pods) => pods.some(isReady));
  await link.peer.connect(link.own.publicKey, `${cluster.nodes[0]?.address}:${link.nodePort}`);
}

/** What a person applies for one link, by the documented manifests. */
async function applyLink({ client }: LabCluster, { remoteClusterID, nodePort, own, theirs }: Link): Promise<void> {
  const name = remoteClusterID;
  const namespace = tenantNamespaceName(remoteClusterID);
  const labels = { [Labels.remoteClusterID]: remoteClusterID };
  const metadata = { name, namespace, labels };
  const tenant = { ...labels, [Labels.tenantNamespace]: "true" };
  await client.apply(NamespaceResource, { metadata: { name: namespace, labels: tenant } }, BY);
  const data = { [DataKeys.privateKey]: own.privateKey, [DataKeys.publicKey]: own.publicKey };
  const keys = { metadata: { ...metadata, labels: keySecretLabels(remoteClusterID) }, data };
  await client.apply(SecretResource, keys, BY);
  await client.apply(ConfigurationResource, { metadata, spec: { remote: { cidr: PEER_RANGES } } }, BY);
  await client.apply(PublicKeyResource, { metadata, spec: { publicKey: theirs.publicKey } }, BY);
  const { apiVersion, kind } = WgGatewayServerTemplateResource;
  const spec = {
    endpoint: { port: 51_840, serviceType: "NodePort" as const, nodePort },
    mtu: 1340,
    secretRef: { name },
    serverTemplateRef: { apiVersion, kind, name: SMALL, namespace: Names.namespace },
  };
  await client.apply(GatewayServerResource, { metadata, spec }, BY);
}

/** The stock template, but for what it requests: a node of a small machine has room for 50 then. */
async function smallTemplate({ client }: LabCluster): Promise<void> {
  const namespace = Names.namespace;
  const stock = await client.get(WgGatewayServerTemplateResource, { name: Names.gatewayServerTemplate, namespace });
  const spec = structuredClone(stock?.spec) as { template: { spec: { deployment: Deployment } } } | undefined;
  const [container] = spec?.template.spec.deployment.spec?.template.spec?.containers ?? [];
  if (!container) throw new Error(`cluster ${LINKS_CLUSTER.name}: no stock template of gateways`);
  container.resources = { requests: { cpu: "5m", memory: "16Mi" } };
  await client.apply(WgGatewayServerTemplateResource, { metadata: { name: SMALL, namespace }, spec: spec }, BY);
}

/** What the agent has taken once it has been looked at for a while, and what it takes meanwhile. */
async function used({ client }: LabCluster): Promise<Usages> {
  const pods = (await client.list(PodResource)).items;
  const ours = pods.filter(({ spec }) => spec?.containers[0]?.image?.includes("pulumi-liqo/agent"));
  const processes = new Map<Role, number[]>();
  for (const role of ROLES) {
    const uids = ours.filter((pod) => roleOf(pod) === role).map(({ metadata }) => metadata?.uid ?? "");
    processes.set(role, await processesOfAll(uids));
  }
  const of = (role: Role): number[] => processes.get(role) ?? [];
  const began = await Promise.all(ROLES.map((role) => processorSeconds(of(role))));
  const mebibytes = await Promise.all(ROLES.map((role) => proportionalMiB(of(role))));
  const seconds = await timed(() => delay(IDLE_MS));
  const ended = await Promise.all(ROLES.map((role) => processorSeconds(of(role))));
  const usage = (index: number): Usage => {
    const [processor = 0, before = 0] = [ended[index], began[index]];
    return { processor, mebibytes: mebibytes[index] ?? 0, idle: (processor - before) / seconds };
  };
  return Object.fromEntries(ROLES.map((role, index) => [role, usage(index)])) as Usages;
}

function roleOf({ metadata }: Pod): Role {
  const labels = metadata?.labels ?? {};
  if (labels[Labels.networkingComponent] === LabelValues.gatewayComponent) return "gateway";
  return ROLES.find((role) => labels[Labels.appName] === role) ?? "controller";
}
