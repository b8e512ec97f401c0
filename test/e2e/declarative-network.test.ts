import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import { parse, stringify } from "yaml";
import {
  ConfigurationResource,
  ConnectionResource,
  GatewayClientResource,
  GatewayServerResource,
  NamespaceOffloadingResource,
  Labels,
  WgGatewayClientTemplateResource,
  WgGatewayServerTemplateResource,
  mapRemoteAddress,
  normalizeCidrs,
  peerConfiguration,
  tenantNamespaceName,
  type Configuration,
} from "../../agent/api/index.js";
import { makeCertificateRequest, makeKeyPair } from "../../agent/crypto/index.js";
import {
  CertificateSigningRequestResource,
  NamespaceResource,
  NodeResource,
  PodResource,
  ServiceAccountResource,
  ServiceResource,
  findCondition,
} from "../../agent/runtime/index.js";
import { downClusters } from "../clusters/index.js";
import { until } from "../clusters/support/wait.js";
import { prepareAuditedLab } from "../support/audit.js";
import { installAgent } from "../support/agent.js";
import { exec } from "../support/exec.js";
import {
  EXAMPLE,
  fillIn,
  networkSubstitutions,
  offloadingSubstitutions,
  type Described,
  type Manifest,
} from "../support/declarative-manifests.js";
import type { LabCluster } from "../support/lab.js";
import { probe, serverContainer } from "../support/probe.js";
import { waitFor } from "../support/wait.js";
import { deployWeb, isReady } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

/** The consumer is in two peerings, with clusters of equal pod ranges: it has the twin's under another name, which nobody else needs. */
const CLUSTERS = [
  { name: "declarative-consumer", podCIDR: "10.244.0.0/16", serviceCIDR: "10.96.0.0/16" },
  { name: "declarative-provider", podCIDR: "10.245.0.0/16", serviceCIDR: "10.97.0.0/16" },
  { name: "declarative-twin", podCIDR: "10.245.0.0/16", serviceCIDR: "10.98.0.0/16" },
];
/** The first two are called as in the document's examples. */
const IDS = { consumer: EXAMPLE.consumer, provider: EXAMPLE.provider, twin: "twin" } as const;

const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;
const APPS = "apps";
/** What the document leaves to whoever follows it. */
const USER = "friend";
const NODE = "of-the-provider";
const SHOP = "shop";

/** A cluster with what a person looks up in it, and makes, before writing the other one's manifests. */
interface Side extends Described {
  lab: LabCluster;
}

/** One life of three clusters, in order: each test builds on those before it. */
describe("peering by documented manifests alone", function () {
  this.timeout(360_000);
  stopAtFirstFailure();
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-declarative-"));
  let consumer: LabCluster, provider: LabCluster, twin: LabCluster;

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab(CLUSTERS);
    [consumer, provider, twin] = lab.clusters as [LabCluster, LabCluster, LabCluster];
    await Promise.all(
      lab.clusters.map(async (cluster, index) => {
        const { podCIDR, serviceCIDR } = CLUSTERS[index]!;
        const clusterId = idOf(cluster);
        const agent = { clusterId, image: lab.agentImage, podCIDRs: [podCIDR], serviceCIDR };
        await Promise.all([installAgent(cluster, agent), runServer(cluster)]);
      }),
    );
  });

  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    if (!KEEP) await downClusters(CLUSTERS.map(({ name }) => name));
  });

  it("connects where the provider has the server, by the examples where there are some, ranges as plain strings, Configurations in no namespace", async () => {
    const [client, looked] = await Promise.all([look(consumer), look(provider)]);
    const server = { ...looked, keys: EXAMPLE.providerKeys };
    for (const manifest of ["tenant-namespace-example-consumer", "configuration", "key-secret", "public-key"] as const)
      await apply(client, server, manifest);
    for (const manifest of [
      "tenant-namespace-example-provider",
      "configuration",
      "key-secret-example",
      "public-key-example",
    ] as const)
      await apply(server, client, manifest);
    await apply(server, client, "gateway-server");
    await apply(client, server, "gateway-client");
    await expectConnected(client, server, Date.now());
    const { items } = await consumer.client.list(ConfigurationResource);
    expect(items.map(({ metadata, spec }) => [metadata.namespace, spec.remote?.cidr])).to.deep.equal([
      ["default", { pod: [server.podCIDR], external: [server.externalCIDR] }],
    ]);
    expect([await isRemapped(consumer, provider), await isRemapped(provider, consumer)]).to.deep.equal([false, false]);
    await expectTraffic(consumer, provider);
  });

  it("ends in a node that takes pods, by credentials that the provider's owner has made by hand", async () => {
    const substitutions = offloadingSubstitutions({
      consumer: IDS.consumer,
      provider: IDS.provider,
      userName: USER,
      kubeconfig: await clientKubeconfig(provider, USER),
      virtualNode: NODE,
      namespace: SHOP,
    });
    for (const manifest of ["role-binding", "tenant"] as const)
      await applyText(provider, fillIn(manifest, substitutions));
    for (const manifest of ["identity-secret", "resource-slice"] as const)
      await applyText(consumer, fillIn(manifest, substitutions));
    const options = { fieldSelector: `metadata.name=${NODE}`, timeoutMs: 120_000, what: `node ${NODE} Ready` };
    const node = await waitFor(consumer.client, NodeResource, options, ([found]) =>
      found?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ? found : undefined,
    );
    expect(node.status?.allocatable).to.include({ cpu: "20", memory: "128Gi" });
    await consumer.client.apply(NamespaceResource, { metadata: { name: SHOP } }, { fieldManager: "test" });
    await applyText(consumer, fillIn("namespace-offloading", substitutions));
    const offloading = { namespace: SHOP, timeoutMs: 60_000, what: `namespace ${SHOP} offloaded` };
    await waitFor(consumer.client, NamespaceOffloadingResource, offloading, ([found]) =>
      found?.status?.offloadingPhase === "Ready" ? found : undefined,
    );
    await deployWeb(consumer, SHOP, { replicas: 1, node: NODE });
    const { items } = await provider.client.list(PodResource, { namespace: `${SHOP}-${IDS.consumer}` });
    expect(items.map(isReady)).to.deep.equal([true]);
  });

  it("connects where the consumer has the server, in any order, with a pod range that it alone remaps, ranges as lists on one side, Configurations in tenant namespaces", async () => {
    const [server, client] = await Promise.all([look(consumer), look(twin)]);
    await Promise.all([apply(server, client, "tenant-namespace"), apply(client, server, "tenant-namespace")]);
    await apply(client, server, "gateway-client");
    await apply(server, client, "gateway-server");
    await Promise.all([applyKeys(server, client), applyKeys(client, server)]);
    await Promise.all([
      apply(server, client, "configuration", tenantNamespaceName(IDS.twin)),
      apply(client, asLists(server), "configuration", tenantNamespaceName(IDS.consumer)),
    ]);
    await expectConnected(client, server, Date.now());
    expect([await isRemapped(consumer, twin), await isRemapped(twin, consumer)]).to.deep.equal([true, false]);
    await expectTraffic(consumer, twin);
    await expectTraffic(consumer, provider);
  });

  it("has gateways made by templates of one's own, in place of the stock ones", async () => {
    await Promise.all([makeTemplate(consumer, "server"), makeTemplate(twin, "client")]);
    const own = (field: string): string => JSON.stringify({ spec: { [field]: OWN } });
    const ofTwin = tenantNamespaceName(IDS.twin);
    const ofConsumer = tenantNamespaceName(IDS.consumer);
    const patch = (lab: LabCluster, namespace: string, gateway: string[], change: string): Promise<string> =>
      lab.kubectl(["patch", ...gateway, "-n", namespace, "--type=merge", "-p", change]);
    await Promise.all([
      patch(consumer, ofTwin, ["gatewayserver", "server"], own("serverTemplateRef")),
      patch(twin, ofConsumer, ["gatewayclient", "client"], own("clientTemplateRef")),
    ]);
    const isOwn = ({ metadata }: Pod): boolean => metadata?.labels?.["team"] === "network";
    const pods = await Promise.all([gatewayPod(consumer, ofTwin, isOwn), gatewayPod(twin, ofConsumer, isOwn)]);
    for (const { metadata, spec } of pods) {
      expect(metadata?.annotations).to.include({ "example.org/cluster-mtu": "1340" });
      expect(spec?.nodeSelector).to.deep.equal({ "kubernetes.io/os": "linux" });
      expect(spec?.containers[0]?.resources?.requests).to.deep.equal({ cpu: "15m", memory: "48Mi" });
    }
    const { items: services } = await consumer.client.list(ServiceResource, { namespace: ofTwin });
    expect(services[0]?.metadata?.annotations).to.include({ "example.org/address-pool": "edge" });
    await until("traffic by those gateways", 60_000, async () => (await expectTraffic(consumer, twin), true));
  });

  it("refuses what cannot be, by the field's name, and leaves the tunnel alone", async () => {
    const namespace = tenantNamespaceName(IDS.consumer);
    const before = await gatewayPod(provider, namespace);
    const server = ["gatewayserver", "-n", namespace, "server"];
    const change = (patch: object, object = server): Promise<string> =>
      provider.kubectl(["patch", ...object, "--type=merge", "-p", JSON.stringify(patch)]);
    const ranges = ["configuration", "-n", "default", `to-${IDS.consumer}`];
    const key = ["publickey", "-n", namespace, "gw-publickey"];
    const remote = (pod: string): object => ({ remote: { cidr: { pod } } });
    for (const [spec, field, object] of [
      [{ mtu: 100 }, "spec.mtu", server],
      [{ mtu: 9001 }, "spec.mtu", server],
      [{ endpoint: { port: 70_000 } }, "spec.endpoint.port", server],
      [{ endpoint: { serviceType: "ExternalName" } }, "spec.endpoint.serviceType", server],
      [remote("10.0.0.0/33"), "spec.remote.cidr.pod[0]", ranges],
      [remote("10.1.2.0/31"), "spec.remote.cidr.pod[0]", ranges],
      [{ publicKey: Buffer.alloc(31).toString("base64") }, "spec.publicKey", key],
      [{ publicKey: "not base64" }, "spec.publicKey", key],
    ] as const) {
      expect(await failure(change({ spec }, [...object])), field).to.contain(field);
    }
    const second = GatewayClientResource.build({
      metadata: { name: "second", namespace: "default", labels: { [Labels.remoteClusterID]: IDS.consumer } },
      spec: { endpoint: { addresses: ["192.0.2.1"], port: 51_840 } },
    });
    expect(await failure(provider.client.create(GatewayClientResource, second))).to.contain(
      `metadata.labels[${Labels.remoteClusterID}]`,
    );
    await change({ spec: { secretRef: { name: "nothing-of-the-kind" } } });
    await expectVerdict(provider, namespace, "False", "spec.secretRef.name");
    await change({ spec: { secretRef: { name: "gw-keys" } } });
    await expectVerdict(provider, namespace, "True", "");
    const templateOf = (name: string): object => ({ spec: { serverTemplateRef: { ...STOCK_REFERENCE, name } } });
    await change(templateOf("nothing-of-the-kind"));
    await expectVerdict(provider, namespace, "False", "spec.serverTemplateRef.name");
    await change(templateOf("wireguard-server"));
    await expectVerdict(provider, namespace, "True", "");
    // Another Service has the port: neither Service nor gateway may change then.
    await change({ spec: { endpoint: { port: 51_841, nodePort: 22 } } });
    await expectVerdict(provider, namespace, "False", "spec.endpoint.nodePort");
    expect((await gatewayPod(provider, namespace)).metadata?.uid).to.equal(before.metadata?.uid);
    await expectTraffic(consumer, provider);
    await change({ spec: { endpoint: { port: 51_840, nodePort: 30_742 } } });
    await expectVerdict(provider, namespace, "True", "");
    expect((await gatewayPod(provider, namespace)).metadata?.uid).to.equal(before.metadata?.uid);
  });

  /** By the commands of the document. */
  async function look(lab: LabCluster): Promise<Side> {
    const range = (name: string): Promise<string> =>
      lab.kubectl(["get", "networks.ipam.liqo.io", "-n", "liqo", name, "-o=jsonpath={.status.cidr}"]);
    const [id, podCIDR, externalCIDR, keys] = await Promise.all([
      lab.kubectl([
        "get",
        "configmaps",
        "-n",
        "liqo",
        "liqo-clusterid-configmap",
        "--template",
        "{{.data.CLUSTER_ID}}",
      ]),
      range("pod-cidr"),
      range("external-cidr"),
      newKeys(),
    ]);
    return { lab, id, podCIDR, externalCIDR, keys, address: lab.cluster.nodes[0]?.address ?? "" };
  }

  async function newKeys(): Promise<Described["keys"]> {
    const file = (name: string): string => path.join(folder, name);
    const name = `${Math.random()}`;
    const [secret, open] = [file(`${name}.private`), file(`${name}.public`)];
    await exec("openssl", ["genpkey", "-algorithm", "X25519", "-outform", "der", "-out", secret]);
    await exec("openssl", ["pkey", "-inform", "der", "-in", secret, "-pubout", "-outform", "der", "-out", open]);
    const key = (of: string): string => readFileSync(of).subarray(-32).toString("base64");
    return { privateKey: key(secret), publicKey: key(open) };
  }
});

const STOCK = {
  server: { name: "wireguard-server", namespace: "liqo" },
  client: { name: "wireguard-client", namespace: "liqo" },
};
const OWN = { name: "of-our-own", namespace: "gateway-templates" };
const STOCK_REFERENCE = {
  apiVersion: "networking.liqo.io/v1beta1",
  kind: "WgGatewayServerTemplate",
  namespace: "liqo",
};

/** A kubeconfig for a user whose certificate the cluster has signed, as Kubernetes' own documentation goes about it. */
async function clientKubeconfig(lab: LabCluster, user: string): Promise<string> {
  const { client, cluster } = lab;
  const { privateKey } = await makeKeyPair();
  const csr = makeCertificateRequest({ commonName: user, organization: "friends" }, privateKey);
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  await client.create(CertificateSigningRequestResource, {
    metadata: { name: user },
    spec: { request: base64(csr), signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] },
  });
  await lab.kubectl(["certificate", "approve", user]);
  const options = { fieldSelector: `metadata.name=${user}`, timeoutMs: 60_000, what: `the certificate of ${user}` };
  const certificate = await waitFor(
    client,
    CertificateSigningRequestResource,
    options,
    ([request]) => request?.status?.certificate,
  );
  const config = parse(readFileSync(cluster.kubeconfigPath, "utf8")) as { users: { user: object }[] };
  for (const entry of config.users)
    entry.user = { "client-certificate-data": certificate, "client-key-data": base64(privateKey) };
  return stringify(config);
}

async function applyKeys(own: Side, remote: Side): Promise<void> {
  for (const manifest of ["key-secret", "public-key"] as const) await apply(own, remote, manifest);
}

function idOf({ cluster }: LabCluster): string {
  return Object.values(IDS)[CLUSTERS.findIndex(({ name }) => name === cluster.name)] ?? "";
}

/** A cluster whose ranges are written as lists. */
function asLists(side: Side): Side {
  return { ...side, podCIDR: `[${side.podCIDR}]`, externalCIDR: `[${side.externalCIDR}]` };
}

/** Fills in and applies a networking manifest of one cluster; the namespace is for one that names none. */
function apply(own: Side, remote: Side, manifest: Manifest, namespace?: string): Promise<void> {
  return applyText(own.lab, fillIn(manifest, networkSubstitutions(manifest, own, remote)), namespace);
}

/** As a person would. */
async function applyText(lab: LabCluster, input: string, namespace?: string): Promise<void> {
  await lab.kubectl(["apply", ...(namespace ? ["-n", namespace] : []), "-f", "-"], { input });
}

/** The stock template under another name, with what people want to add. */
async function makeTemplate({ client }: LabCluster, kind: "server" | "client"): Promise<void> {
  const type = kind === "server" ? WgGatewayServerTemplateResource : WgGatewayClientTemplateResource;
  const stock = await client.get(type, STOCK[kind]);
  const spec = structuredClone(stock?.spec) as { template: { spec: Record<"deployment" | "service", StockTemplate> } };
  const { deployment, service } = spec.template.spec;
  const pod = deployment.spec.template;
  pod.metadata.labels["team"] = "network";
  pod.metadata.annotations = { "example.org/cluster-mtu": "{{ .Spec.MTU }}" };
  pod.spec.nodeSelector = { "kubernetes.io/os": "linux" };
  pod.spec.containers[0]!["resources"] = { requests: { cpu: "15m", memory: "48Mi" } };
  if (kind === "server") service.metadata.annotations = { "example.org/address-pool": "edge" };
  const by = { fieldManager: "test" };
  await client.apply(NamespaceResource, { metadata: { name: OWN.namespace } }, by);
  await client.apply(type, { metadata: OWN, spec: spec }, by);
}

interface Metadata {
  labels: Record<string, string>;
  annotations?: Record<string, string>;
}
interface StockTemplate {
  metadata: Metadata;
  spec: {
    template: { metadata: Metadata; spec: { nodeSelector?: object; containers: Record<string, unknown>[] } };
  };
}

async function runServer({ client }: LabCluster): Promise<void> {
  const by = { fieldManager: "test" };
  await client.apply(NamespaceResource, { metadata: { name: APPS } }, by);
  // Without it a pod is refused.
  const account = { namespace: APPS, timeoutMs: 120_000, what: `the default account of namespace ${APPS}` };
  await waitFor(client, ServiceAccountResource, account, (all) =>
    all.some(({ metadata }) => metadata?.name === "default"),
  );
  const spec = { terminationGracePeriodSeconds: 1, containers: [serverContainer()] };
  await client.apply(PodResource, { metadata: { name: "server", namespace: APPS }, spec }, by);
  const options = { namespace: APPS, timeoutMs: 120_000, what: "the server pod Ready" };
  await waitFor(client, PodResource, options, (pods) => pods.some(isReady));
}

async function expectConnected(client: Side, server: Side, applied: number): Promise<void> {
  const connected = async (own: Side, remote: Side): Promise<void> => {
    const options = {
      labelSelector: { [Labels.remoteClusterID]: remote.id },
      timeoutMs: 120_000,
      what: `the Connection with ${remote.id} Connected`,
    };
    await waitFor(own.lab.client, ConnectionResource, options, (connections) =>
      connections.some(({ status }) => status?.value === "Connected"),
    );
  };
  await Promise.all([connected(client, server), connected(server, client)]);
  console.log(`      connected ${Date.now() - applied} ms after the last manifest was applied`);
}

/** TCP and UDP, both ways, small and full-size packets. */
async function expectTraffic(a: LabCluster, b: LabCluster): Promise<void> {
  const failures = await Promise.all([ask(a, b), ask(b, a)]);
  expect(failures.flat()).to.deep.equal([]);
}

async function ask(from: LabCluster, to: LabCluster): Promise<string[]> {
  const server = await to.client.get(PodResource, { name: "server", namespace: APPS });
  const host = mapRemoteAddress(await configurationOf(from, to), server?.status?.podIP ?? "");
  return probe({ lab: from, namespace: APPS, pod: "server" }, [{ name: idOf(to), host, answer: "server" }]);
}

/** Whether a cluster has another name for the pods' range of a peer. */
async function isRemapped(from: LabCluster, to: LabCluster): Promise<boolean> {
  const { spec, status } = await configurationOf(from, to);
  const [own, here] = [spec, status].map((one) => normalizeCidrs(one?.remote?.cidr?.pod));
  expect(here).to.have.length(1);
  return here?.[0] !== own?.[0];
}

async function configurationOf(from: LabCluster, to: LabCluster): Promise<Configuration> {
  const { items } = await from.client.list(ConfigurationResource);
  const id = idOf(to);
  const configuration = peerConfiguration(items, id, tenantNamespaceName(id));
  if (!configuration) throw new Error(`${idOf(from)} has no Configuration of ${id}`);
  return configuration;
}

/** The only gateway pod, once it is as wanted. */
async function gatewayPod(
  { client }: LabCluster,
  namespace: string,
  isWanted: (pod: Pod) => boolean = () => true,
): Promise<Pod> {
  const options = { namespace, timeoutMs: 60_000, what: "one gateway pod" };
  return waitFor(client, PodResource, options, (pods) => pods.length === 1 && isWanted(pods[0]!) && pods[0]);
}

async function expectVerdict(
  { client }: LabCluster,
  namespace: string,
  status: "True" | "False",
  field: string,
): Promise<void> {
  const options = {
    namespace,
    timeoutMs: 60_000,
    what: `condition Accepted ${status} ${field}`,
    describe: (gateways: object[]) =>
      JSON.stringify(gateways.map((gateway) => (gateway as { status?: object }).status)),
  };
  await waitFor(client, GatewayServerResource, options, ([gateway]) => {
    const verdict = findCondition(gateway?.status?.conditions, "Accepted");
    const isCurrent = verdict?.observedGeneration === gateway?.metadata.generation;
    return isCurrent && verdict?.status === status && verdict.message.startsWith(field);
  });
}

async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as Error).message;
  }
  return "(accepted)";
}
