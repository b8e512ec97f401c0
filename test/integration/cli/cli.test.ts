import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import { parse, parseAllDocuments } from "yaml";
import {
  ConfigurationResource,
  ConnectionResource,
  ForeignClusterResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  ResourceSliceResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import { agentManifests, resourceTypeOf } from "../../../agent/install/index.js";
import {
  NamespaceResource,
  NodeResource,
  PodResource,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { runCommand } from "../../support/terminal.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

const TENANT = "liqo-tenant-provider";
const REMOTE = { [Labels.remoteClusterID]: "provider" };
const PUBLIC_KEY = "SU+Ba3jBNgofBrZtVHwad1VJotcVs4TmgpOdFQhx/UE=";

const CLUSTER_SECTIONS = ["Local installation info", "Installation health", "Active peerings"];
const PEER_SECTIONS = ["Peer cluster info", "Network", "Authentication", "Offloading"];

const sectionsOf = (text: string): string[] => [...text.matchAll(/^┌─ (.+?) ─+┐$/gm)].map(([, title = ""]) => title);

/** What a consumer has once it is peered, as its agent would have left it; there are no agents here. */
describe("the command line on real API servers", function () {
  this.timeout(120_000);
  let consumer: ApiServer;
  let empty: ApiServer;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    [consumer, empty] = await Promise.all([
      startApiServer({ name: "one" }),
      startApiServer({ name: "two", crds: false }),
    ]);
    await seedInstallation();
    await seedPeering();
  });
  after(async () => {
    await Promise.all([consumer?.stop(), empty?.stop()]);
  });

  /** An object with its status, which is a resource of its own. */
  const apply = async (
    type: ResourceType,
    { status, ...object }: KubeObject & { spec?: unknown; status?: unknown },
  ) => {
    await consumer.client.apply(type, object, { fieldManager: "test" });
    if (!status) return;
    const { name, namespace } = object.metadata ?? {};
    const options = { fieldManager: "test", subresource: "status" } as const;
    await consumer.client.apply<KubeObject & { status?: unknown }>(
      type,
      { metadata: { name, namespace }, status },
      options,
    );
  };

  async function seedInstallation(): Promise<void> {
    const inputs = agentInputs.parse({ clusterId: "consumer", clusterLabels: { region: "eu" } });
    const ranges = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16", apiServerAddress: "https://10.0.0.1:6443" };
    const wanted = ["Namespace", "ConfigMap", "Deployment", "Network", "ServiceAccount"];
    for (const object of agentManifests(installInputs(inputs, ranges)).filter(({ kind = "" }) =>
      wanted.includes(kind),
    )) {
      const { cidr } = (object as { spec?: { cidr?: string } }).spec ?? {};
      await apply(resourceTypeOf(object), { ...object, ...(object.kind === "Network" ? { status: { cidr } } : {}) });
    }
    const pod = { name: "controller", namespace: "liqo", labels: { "app.kubernetes.io/part-of": "liqo" } };
    await apply(PodResource, { metadata: pod, spec: { containers: [{ name: "c", image: "i" }] } });
  }

  async function seedPeering(): Promise<void> {
    await apply(NamespaceResource, {
      metadata: { name: TENANT, labels: { ...REMOTE, [Labels.tenantNamespace]: "true" } },
    });
    const ready = { type: "NetworkConnectionStatus", status: "Established" };
    const modules = {
      networking: { enabled: true, conditions: [ready] },
      authentication: { enabled: true, conditions: [] },
      offloading: {
        enabled: true,
        conditions: [{ type: "OffloadingNodeStatus", status: "NotReady", message: "node is not ready" }],
      },
    };
    await apply(ForeignClusterResource, {
      metadata: { name: "provider", labels: REMOTE },
      spec: { clusterID: "provider" },
      status: { role: "Provider", modules, apiServerUrl: "https://10.0.0.2:6443" },
    });
    const cidr = { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] };
    const remapped = { pod: ["10.5.0.0/16"], external: ["10.71.0.0/16"] };
    await apply(ConfigurationResource, {
      metadata: { name: "provider", namespace: TENANT, labels: REMOTE },
      spec: { remote: { cidr } },
      status: { remote: { cidr: remapped } },
    });
    const metadata = { name: "provider", namespace: TENANT, labels: REMOTE };
    await apply(GatewayClientResource, {
      metadata,
      spec: { endpoint: { addresses: ["10.9.9.9"], port: 30742, protocol: "UDP" } },
      status: { publicKey: PUBLIC_KEY },
    });
    await apply(ConnectionResource, {
      metadata,
      spec: { type: "Client", gatewayRef: {} },
      status: { value: "Connected", latency: { value: "700μs" } },
    });
    const resources = { cpu: "4", memory: "8Gi" };
    const accepted = ["Authentication", "Resources"].map((type) => ({ type, status: "Accepted" }));
    await apply(ResourceSliceResource, {
      metadata: { ...metadata, name: "slice" },
      spec: { class: "default", providerClusterID: "provider" },
      status: { conditions: accepted, resources },
    });
    await apply(VirtualNodeResource, {
      metadata: { ...metadata, name: "slice", labels: { ...REMOTE, [Labels.resourceSliceName]: "slice" } },
      spec: {
        clusterID: "provider",
        createNode: true,
        kubeconfigSecretRef: { name: "key" },
        resourceQuota: { hard: resources },
      },
    });
    await apply(NodeResource, {
      metadata: { name: "slice", labels: { [Labels.type]: "virtual-node" } },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
    const container = { name: "c", image: "i", resources: { requests: { cpu: "500m", memory: "1Gi" } } };
    for (const [name, phase] of [
      ["a", "Running"],
      ["b", "Pending"],
      ["done", "Succeeded"],
    ] as const) {
      const pod: Pod = {
        metadata: { name, namespace: "default" },
        spec: { nodeName: "slice", containers: [container] },
      };
      await consumer.client.create(PodResource, pod);
      await apply(PodResource, { metadata: { name, namespace: "default" }, status: { phase } });
    }
  }

  const info = (...args: string[]) => runCommand(["info", "--kubeconfig", consumer.kubeconfigPath, ...args]);

  it("tells of a cluster with the fields that Liqo's tool has, as JSON and as YAML", async () => {
    const { code, out } = await info("-o", "json");
    expect(code).to.equal(0);
    expect(JSON.parse(out)).to.deep.equal({
      health: {
        healthy: false,
        unhealthyPods: {
          controller: { status: "Pending", readyContainers: 0, totalContainers: 1, restarts: 0 },
          "liqo-controller-manager": { status: "NoPods", readyContainers: 0, totalContainers: 1, restarts: 0 },
          "liqo-proxy": { status: "NoPods", readyContainers: 0, totalContainers: 1, restarts: 0 },
        },
      },
      local: {
        clusterID: "consumer",
        version: "0.1.0",
        labels: { region: "eu" },
        APIServerAddr: "https://10.0.0.1:6443",
      },
      network: {
        podCIDRs: ["10.1.0.0/16"],
        serviceCIDR: "10.2.0.0/16",
        externalCIDR: "10.70.0.0/16",
        internalCIDR: "10.80.0.0/16",
      },
      peerings: {
        peers: [
          {
            clusterID: "provider",
            role: "Provider",
            networkingStatus: "Healthy",
            authenticationStatus: "Healthy",
            offloadingStatus: "Unhealthy",
          },
        ],
      },
    });
    expect(parse((await info("-o", "yaml")).out)).to.deep.equal(JSON.parse(out));
  });

  it("tells of peers in full, all or some, with or without Liqo's word for it", async () => {
    const { out } = await info("provider", "-o", "json");
    expect(JSON.parse(out)).to.deep.equal({
      provider: {
        info: { clusterID: "provider", role: "Provider" },
        network: {
          status: "Healthy",
          CIDRs: {
            remote: { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] },
            remapped: { pod: ["10.5.0.0/16"], external: ["10.71.0.0/16"] },
          },
          gateway: { address: ["10.9.9.9"], port: 30742, role: "Client" },
        },
        authentication: {
          status: "Healthy",
          APIServerAddr: "https://10.0.0.2:6443",
          resourceSlices: [
            { name: "slice", action: "Consuming", accepted: true, resources: { cpu: "4", memory: "8Gi" } },
          ],
        },
        offloading: {
          status: "Unhealthy",
          alerts: ["OffloadingNodeStatus: NotReady, node is not ready"],
          virtualNodes: [
            {
              name: "slice",
              status: "Healthy",
              secret: "key",
              resourceSlice: "slice",
              resources: { cpu: "4", memory: "8Gi" },
            },
          ],
        },
      },
    });
    for (const args of [["peer"], ["peer", "provider"]]) expect((await info(...args, "-o", "json")).out).to.equal(out);
    const { out: text } = await info("peer");
    expect(sectionsOf(text)).to.deep.equal(PEER_SECTIONS);
    expect(text).to.match(/│ Status +Unhealthy +│\n│ ! OffloadingNodeStatus: NotReady, node is not ready +│/);
    expect(text).to.match(/│ └─ slice +│\n│ {4}├─ Action +Consuming +│\n│ {4}├─ Accepted +yes +│/);
  });

  it("tells people of a cluster in sections, and of its peers in full with --verbose, which changes no field", async () => {
    const brief = await info();
    expect(sectionsOf(brief.out)).to.deep.equal(CLUSTER_SECTIONS);
    expect(brief.error).to.equal("");
    for (const option of ["--verbose", "-v"]) {
      const { code, out, error } = await info(option);
      expect(code).to.equal(0);
      expect(out).to.equal(`${brief.out}\n${(await info("peer")).out}`);
      expect(error).to.equal(`note: asked is cluster one at ${consumer.url}\n`);
    }
    expect((await info("-v", "-o", "json")).out).to.equal((await info("-o", "json")).out);
    expect((await info("provider", "-v", "-g", "network.status")).out).to.equal("Healthy\n");
    const failed = await runCommand(["info", "-v", "--kubeconfig", empty.kubeconfigPath]);
    expect(failed).to.include({ code: 1, out: "" });
    expect(failed.error).to.match(/^note: asked is cluster two at https:.*\nerror: cluster two has no agent/);
  });

  it("gives single fields: scalars bare, any case, Liqo's short names", async () => {
    const field = async (...args: string[]) => (await info(...args)).out;
    expect(await field("--get", "clusterid")).to.equal("consumer\n");
    expect(await field("--get", "LOCAL.clusterid")).to.equal("consumer\n");
    expect(await field("--get", "health.healthy")).to.equal("false\n");
    expect(await field("provider", "--get", "authentication.status")).to.equal("Healthy\n");
    expect(parse(await field("peer", "provider", "--get", "authentication.resourceslices"))).to.have.nested.property(
      "[0].resources.cpu",
      "4",
    );
    expect(await field("--get", "network.podCIDRs", "-o", "json")).to.equal('[\n  "10.1.0.0/16"\n]\n');
  });

  it("says what is wrong in one line, without a trace, with exit code 1", async () => {
    const failing = async (given: Promise<{ code: number; out: string; error: string }>): Promise<string> => {
      const { code, out, error } = await given;
      expect({ code, out }).to.deep.equal({ code: 1, out: "" });
      expect(error.trimEnd().split("\n")).to.have.length(1);
      return error;
    };
    expect(await failing(info("nobody"))).to.match(/^error: cluster one has no peer nobody; its peers are provider/);
    expect(await failing(info("--get", "local.size"))).to.match(
      /^error: get: there is no "size" in local; there is clusterID, version/,
    );
    expect(await failing(runCommand(["info", "--kubeconfig", empty.kubeconfigPath]))).to.match(
      /^error: cluster two has no agent/,
    );
    const gone = path.join(path.dirname(consumer.kubeconfigPath), "gone.kubeconfig");
    await writeFile(gone, consumer.kubeconfig.replace(/server: .*/, "server: https://127.0.0.1:9"));
    expect(await failing(runCommand(["info", "--kubeconfig", gone])))
      .to.match(/127\.0\.0\.1:9/)
      .and.match(/one/);
  });

  it("takes context, cluster and user as kubectl does", async () => {
    const { code } = await info("--context", "one", "--cluster", "one", "--user", "kubernetes-admin");
    expect(code).to.equal(0);
    expect(await info("--context", "none")).to.deep.include({
      code: 2,
      error: 'error: --context: the kubeconfig has no context "none"; there are one\n',
    });
    expect((await info("--cluster", "x")).error).to.equal(
      'error: --cluster: the kubeconfig has no cluster "x"; there are one\n',
    );
    expect((await info("--user", "x")).error).to.equal(
      'error: --user: the kubeconfig has no user "x"; there are kubernetes-admin\n',
    );
    const env = { HOME: "/nowhere", KUBECONFIG: consumer.kubeconfigPath };
    expect((await runCommand(["info", "--get", "clusterid"], { env })).out).to.equal("consumer\n");
  });

  it("draws clusters, those that do not answer, too, with what pods ask for of what is granted", async () => {
    const clusters = ["--kubeconfig", consumer.kubeconfigPath, "--kubeconfig", empty.kubeconfigPath];
    const { code, out, error } = await runCommand(["topology", ...clusters, "-o", "json"]);
    expect(code).to.equal(0);
    expect(error).to.match(/^warning: two: cluster two has no agent/);
    const topology = JSON.parse(out) as { clusters: { clusterID: string }[]; links: unknown; peerings: unknown };
    expect(topology.clusters.map(({ clusterID }) => clusterID)).to.deep.equal(["consumer", "provider", "two"]);
    expect(topology.links).to.deep.equal([
      { clusters: ["consumer", "provider"], status: "Healthy", server: "provider", roundTripMilliseconds: 0.7 },
    ]);
    expect(topology.peerings).to.deep.equal([
      {
        consumer: "consumer",
        provider: "provider",
        authenticationStatus: "Healthy",
        offloadingStatus: "Unhealthy",
        alerts: ["OffloadingNodeStatus: NotReady, node is not ready"],
        virtualNodes: [
          { name: "slice", status: "Healthy", granted: { cpu: "4", memory: "8Gi" }, used: { cpu: "1", memory: "2Gi" } },
        ],
      },
    ]);
    expect((await runCommand(["topology", ...clusters, "-o", "svg"])).out)
      .to.match(/^<svg/)
      .and.contain("mem 2/8 Gi")
      .and.contain("700 µs");
    expect((await runCommand(["topology", ...clusters, "-o", "mermaid"])).out).to.match(/^flowchart LR\n/);
    expect(await runCommand(["topology", ...clusters.slice(2)])).to.include({ code: 1 });
    const stale = path.join(path.dirname(consumer.kubeconfigPath), "stale.kubeconfig");
    const kubeconfig = parse(consumer.kubeconfig) as { contexts: unknown[] };
    const contexts = [...kubeconfig.contexts, { name: "stale", context: { cluster: "gone", user: "gone" } }];
    await writeFile(stale, JSON.stringify({ ...kubeconfig, contexts, "current-context": undefined }));
    const all = await runCommand(["topology", "--kubeconfig", stale, "--all-contexts", "-o", "json"]);
    expect(all.code, all.error).to.equal(0);
    expect(all.error).to.match(/^warning: stale: .*names no cluster/);
    const files = await runCommand([
      "topology",
      ...clusters.slice(0, 2),
      "--all-contexts",
      "--out",
      path.dirname(consumer.kubeconfigPath),
    ]);
    expect(files.error).to.match(/written: .*topology\.svg\nwritten: .*topology\.mmd\n$/);
  });

  it("fills what is left out of a rendering from the clusters, and changes nothing there", async () => {
    const before = (await consumer.client.list(GatewayServerResource)).items.length;
    const inputs =
      "provider: { clusterId: provider, podCIDRs: [10.8.0.0/16], names: { publicKey: theirs } }\nnetworkLink: {}\n";
    const args = ["render", "peering", "--kubeconfig", consumer.kubeconfigPath, "-f", "-", "--only", "provider"];
    const { code, out } = await runCommand(args, { stdin: inputs });
    expect(code).to.equal(0);
    const objects = parseAllDocuments(out).map((document) => document.toJS() as KubeObject & { spec?: unknown });
    const find = (kind: string) => objects.find((one) => one.kind === kind)?.spec;
    expect(find("Configuration")).to.deep.equal({
      remote: { cidr: { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] } },
    });
    expect(find("PublicKey")).to.deep.equal({ publicKey: PUBLIC_KEY });
    expect((await consumer.client.list(GatewayServerResource)).items).to.have.length(before);
  });
});
