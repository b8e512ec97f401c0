import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { stringify } from "yaml";
import type { Pod } from "kubernetes-types/core/v1";
import { ForeignClusterResource, LabelValues, Labels, type ForeignCluster } from "../../agent/api/index.js";
import { buildAgentImage } from "../../agent/image/build.js";
import { NamespaceResource, NodeResource, PodResource } from "../../agent/runtime/index.js";
import { VERSION } from "../../provider/version.js";
import { downClusters, loadImage } from "../clusters/index.js";
import { until } from "../clusters/support/wait.js";
import { prepareAuditedLab } from "../support/audit.js";
import { allRun, installAgent, ownObjects } from "../support/agent.js";
import type { ExecOptions } from "../support/exec.js";
import { interrupt } from "../support/interrupt.js";
import { REPOSITORY, type LabCluster } from "../support/lab.js";
import { compareListings, listEverything } from "../support/listing.js";
import { PulumiStack } from "../support/pulumi.js";
import { waitFor } from "../support/wait.js";
import { WEB_PORT, deployWeb, isReady } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

const CLUSTERS = [
  { name: "repeat-a", podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" },
  { name: "repeat-b", podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" },
];
const NAMESPACE = "repeat";
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;
/** Each of the ways once; a long run takes 50. */
const CYCLES = Number(process.env["CYCLES"] ?? 4);

/** A resource that is at work: both clusters have been written to by then. */
const MIDWAY = { up: /\+ +liqo:index:ResourceSlice \S+ creating/, destroy: /- +liqo:index:ResourceSlice \S+ deleting/ };

type Way = (cycle: Cycle) => Promise<void>;

interface Cycle {
  stack: PulumiStack;
  consumer: LabCluster;
  /** The program offloads the namespace, too. */
  offload: (isWanted: boolean) => void;
}

const WAYS: Record<string, Way> = {
  "up and destroy": async ({ stack, offload }) => {
    offload(false);
    await stack.up();
    await stack.destroy();
  },
  "up with an offloaded namespace and pods, destroyed while they run": async ({ stack, consumer, offload }) => {
    offload(true);
    await stack.up();
    const node = String((await stack.outputs())["virtualNodeName"]);
    await deployWeb(consumer, NAMESPACE, { replicas: 2, node });
    await stack.destroy();
  },
  "up killed midway, completed and destroyed": async ({ stack, offload }) => {
    offload(true);
    await interrupt(stack, "up", MIDWAY.up, "SIGKILL");
    await stack.cancel();
    // What was being made when the CLI was killed is known to the clusters alone: the next up finds it.
    await stack.up();
    await stack.destroy();
  },
  "destroy killed midway, and again": async ({ stack, offload }) => {
    offload(true);
    await stack.up();
    await interrupt(stack, "destroy", MIDWAY.destroy, "SIGKILL");
    await stack.cancel();
    await stack.destroy();
  },
};

/** The same minor version as this one, the next patch. */
const NEXT_PATCH = VERSION.replace(/\d+$/, (patch) => String(Number(patch) + 1));
const OTHER_MINOR = VERSION.replace(/\.\d+\./, (minor) => `.${Number(minor.slice(1, -1)) + 1}.`);

/** Peering and unpeering in a row: an earlier life must not be felt in a later one. */
describe(`peering and unpeering ${CYCLES} times in a row`, function () {
  this.timeout(360_000);
  stopAtFirstFailure();

  let consumer: LabCluster;
  let provider: LabCluster;
  let cycle: Cycle;
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-repeat-"));
  const seconds: Record<string, number[]> = {};

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab(CLUSTERS);
    [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    const ranges = { podCIDRs: ["10.200.0.0/16"], serviceCIDR: "10.90.0.0/16" };
    await Promise.all([
      installAgent(consumer, { clusterId: "consumer", image: lab.agentImage, ...ranges }),
      installAgent(provider, { clusterId: "provider", image: lab.agentImage, ...ranges }),
    ]);
    // The first listing is to have them.
    await Promise.all([consumer, provider].map(ownObjects));
    const project = path.join(folder, "program");
    mkdirSync(project);
    const offload = (isWanted: boolean): void =>
      writeFileSync(path.join(project, "Pulumi.yaml"), stringify(program(consumer, provider, isWanted)));
    offload(false);
    const stateFolder = path.join(folder, "state");
    const stack = new PulumiStack({ project, stateFolder, stack: "repeat", binFolder: lab.pulumiBin, config: {} });
    await stack.init();
    cycle = { stack, consumer, offload };
  });

  after(async () => {
    for (const [way, all] of Object.entries(seconds))
      console.log(`      ${way}: ${all.map((one) => one.toFixed(1)).join(", ")} s`);
    await cycle?.stack.remove();
    rmSync(folder, { recursive: true, force: true });
    if (!KEEP) await downClusters(CLUSTERS.map(({ name }) => name));
  });

  for (let number = 1; number <= CYCLES; number += 1) {
    const [name, way] = Object.entries(WAYS)[(number - 1) % Object.keys(WAYS).length] as [string, Way];
    it(`${number}: ${name}`, async () => {
      const before = [await listEverything(consumer.client), await listEverything(provider.client)] as const;
      await consumer.client.create(NamespaceResource, { metadata: { name: NAMESPACE } });
      const started = Date.now();
      await way(cycle);
      (seconds[name] ??= []).push((Date.now() - started) / 1000);
      await consumer.client.delete(NamespaceResource, { name: NAMESPACE });
      await Promise.all([gone(consumer), gone(provider)]);
      for (const [index, side] of [consumer, provider].entries()) {
        const left = compareListings(before[index] ?? new Set(), await listEverything(side.client));
        expect(left, side.cluster.name).to.deep.equal({ added: [], removed: [] });
      }
    });
  }

  describe("and then in both directions", () => {
    const namespaces = { consumer: NAMESPACE, provider: `${NAMESPACE}-back` };
    let write: (directions: Partial<Directions>) => void;
    /** Offloaded pods and where they are reached, by the cluster whose they are. */
    const web: Record<"consumer" | "provider", string> = { consumer: "", provider: "" };

    before(async () => {
      const project = path.join(folder, "program");
      write = (directions) =>
        writeFileSync(path.join(project, "Pulumi.yaml"), stringify(bothWays(consumer, provider, directions)));
      await Promise.all([
        consumer.client.create(NamespaceResource, { metadata: { name: namespaces.consumer } }),
        provider.client.create(NamespaceResource, { metadata: { name: namespaces.provider } }),
      ]);
      write({ there: "1", back: "1" });
      await cycle.stack.up();
      const outputs = await cycle.stack.outputs();
      for (const [side, lab, output] of [
        ["consumer", consumer, "there"],
        ["provider", provider, "back"],
      ] as const) {
        const [pod] = await deployWeb(lab, namespaces[side], { replicas: 1, node: String(outputs[output]) });
        web[side] = pod?.status?.podIP ?? "";
      }
    });

    it("one side's agents are upgraded to the next patch version: what runs goes on, and slices change between the two versions", async () => {
      const next = await buildAgentImage({ version: NEXT_PATCH });
      await loadImage(next.archive, [provider.cluster]);
      const before = await Promise.all([
        running(consumer, namespaces.consumer),
        running(provider, namespaces.provider),
      ]);
      const ranges = { podCIDRs: ["10.200.0.0/16"], serviceCIDR: "10.90.0.0/16" };
      await installAgent(provider, { clusterId: "provider", image: next.ref, version: NEXT_PATCH, ...ranges });
      write({ there: "2", back: "2" });
      await cycle.stack.up();
      for (const { client } of [consumer, provider]) {
        const virtual = { labelSelector: "liqo.io/type=virtual-node", timeoutMs: 60_000, what: "allocatable cpu 2" };
        await waitFor(client, NodeResource, virtual, ([node]) => node?.status?.allocatable?.["cpu"] === "2");
      }
      // Without a standby there is no tunnel while the gateway is replaced.
      await allRun(provider, next.ref, { [Labels.networkingComponent]: LabelValues.gatewayComponent });
      const asked = await keepAsking(consumer, namespaces.consumer, web.consumer);
      const [count = 0, inVain] = await asked.end();
      expect(count).to.be.greaterThan(0);
      expect(inVain).to.equal(0);
      // While there was no tunnel, virtual nodes and with them their pods may have counted as not ready.
      await until("the same pods, Ready", 60_000, async () => {
        const after = [running(consumer, namespaces.consumer), running(provider, namespaces.provider)];
        expect(await Promise.all(after)).to.deep.equal(before);
        return true;
      });
    });

    it("agents of another minor version are refused, with both versions, and nothing changes", async () => {
      const label = (version: string): Promise<string> =>
        provider.kubectl([
          ...["label", "deployment", "-n", "liqo", "liqo-controller-manager", "--overwrite"],
          `app.kubernetes.io/version=${version}`,
        ]);
      await label(OTHER_MINOR);
      write({ there: "1", back: "1" });
      const { code, stdout, stderr } = await cycle.stack.up({ allowFailure: true });
      expect(code).to.not.equal(0);
      expect(`${stdout}${stderr}`).to.contain(VERSION).and.to.contain(OTHER_MINOR);
      const { items } = await consumer.client.list(NodeResource, { labelSelector: "liqo.io/type=virtual-node" });
      expect(items[0]?.status?.allocatable?.["cpu"]).to.equal("2");
      await label(NEXT_PATCH);
    });

    it("one direction ends under load, and the other notices nothing", async () => {
      const before = await running(provider, namespaces.provider);
      const tunnels = (): Promise<string[]> => running(consumer, "liqo-tenant-provider");
      const gateways = (await tunnels()).filter((pod) => pod.startsWith("gw-"));
      const asked = await keepAsking(provider, namespaces.provider, web.provider);
      write({ back: "2" });
      await cycle.stack.up();
      const [count = 0, inVain] = await asked.end();
      console.log(`      ${count} requests through the tunnel meanwhile, ${inVain} in vain`);
      expect(count).to.be.greaterThan(0);
      expect(inVain).to.equal(0);
      expect(await running(provider, namespaces.provider)).to.deep.equal(before);
      expect((await tunnels()).filter((pod) => pod.startsWith("gw-"))).to.deep.equal(gateways);
      const roles = {
        fieldSelector: "metadata.name=consumer",
        timeoutMs: 60_000,
        what: "the consumer in the role of a provider alone",
        describe: (all: ForeignCluster[]) => String(all[0]?.status?.role),
      };
      await waitFor(provider.client, ForeignClusterResource, roles, ([one]) => one?.status?.role === "Provider");
      await cycle.stack.destroy();
    });
  });
});

/** Who asks through the tunnel without pause, from a local pod; `end` tells how many were asked, and how many in vain. */
async function keepAsking(
  lab: LabCluster,
  namespace: string,
  address: string,
): Promise<{ end: () => Promise<number[]> }> {
  const inClient = (command: string, options?: ExecOptions): Promise<string> =>
    lab.kubectl(["exec", "-n", namespace, "client", "--", "sh", "-c", command], options);
  const ask = `timeout 3 wget -q -O /dev/null http://${address}:${WEB_PORT}/index.html`;
  await inClient(`rm -f /tmp/stop /tmp/asked; until ${ask}; do sleep 0.2; done`);
  const loop = `while [ ! -e /tmp/stop ]; do ${ask} || f=$((f+1)); i=$((i+1)); touch /tmp/asked; sleep 0.05; done; echo $i $((f+0))`;
  const counts = inClient(loop, { timeoutMs: 350_000 });
  counts.catch(() => undefined);
  await inClient("until [ -e /tmp/asked ]; do sleep 0.1; done");
  const end = async (): Promise<number[]> => {
    await inClient("touch /tmp/stop");
    return (await counts).trim().split(" ").map(Number);
  };
  return { end };
}

/** Who runs what: the pods of a namespace by name and identity, with their restarts. */
async function running({ client }: LabCluster, namespace: string): Promise<string[]> {
  const { items } = await client.list(PodResource, { namespace });
  const restarts = (pod: Pod): number =>
    (pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
  return items.map((pod) => `${pod.metadata?.name} ${pod.metadata?.uid} ${restarts(pod)} ${isReady(pod)}`).sort();
}

/** Namespaces that end take some seconds of Kubernetes' own. */
async function gone({ client, cluster }: LabCluster): Promise<void> {
  const what = `no namespace ending in ${cluster.name}`;
  await waitFor(client, NamespaceResource, { timeoutMs: 120_000, what }, (all) =>
    all.every(({ metadata }) => metadata?.deletionTimestamp === undefined),
  );
}

/** The cpu that is asked for, by direction; one that is left out is no peering. */
type Directions = Record<"there" | "back", string>;

/** A peering in each direction, with a namespace of each cluster offloaded. */
function bothWays(consumer: LabCluster, provider: LabCluster, directions: Partial<Directions>): object {
  const base = program(consumer, provider, false);
  const at = ({ cluster }: LabCluster): object => ({ kubeconfig: cluster.kubeconfigPath });
  const resources = Object.entries(directions).flatMap(([name, cpu]) => {
    const [own, other] = name === "there" ? [consumer, provider] : [provider, consumer];
    const namespace = name === "there" ? NAMESPACE : `${NAMESPACE}-back`;
    // One tunnel for both, whoever has its server.
    const gatewayServerLocation = name === "there" ? "Provider" : "Consumer";
    const peering = {
      type: "liqo:Peering",
      properties: {
        ...{ consumer: at(own), provider: at(other), gatewayServer: { type: "NodePort" }, gatewayServerLocation, cpu },
      },
      // One after the other: the second takes up what it finds.
      ...(name === "back" && directions.there ? { options: { dependsOn: ["${there}"] } } : {}),
    };
    const offloading = {
      type: "liqo:NamespaceOffloading",
      properties: { cluster: at(own), namespace },
      options: { dependsOn: [`\${${name}}`] },
    };
    return [
      [name, peering],
      [`${name}-namespace`, offloading],
    ] as const;
  });
  const outputs = Object.fromEntries(
    Object.keys(directions).map((name) => [name, `\${${name}.virtualNodeName}`] as const),
  );
  return { ...base, resources: Object.fromEntries<object>(resources), outputs };
}

function program(consumer: LabCluster, provider: LabCluster, offloads: boolean): object {
  const at = ({ cluster }: LabCluster): object => ({ kubeconfig: cluster.kubeconfigPath });
  const peering = {
    type: "liqo:Peering",
    properties: { consumer: at(consumer), provider: at(provider), gatewayServer: { type: "NodePort" }, cpu: "1" },
  };
  const offloading = {
    type: "liqo:NamespaceOffloading",
    properties: { cluster: at(consumer), namespace: NAMESPACE },
    options: { dependsOn: ["${peering}"] },
  };
  return {
    name: "repeat",
    runtime: "yaml",
    plugins: { providers: [{ name: "liqo", path: path.join(REPOSITORY, "dist/provider"), version: "0.1.0" }] },
    resources: { peering, ...(offloads ? { offloading } : {}) },
    outputs: { virtualNodeName: "${peering.virtualNodeName}" },
  };
}
