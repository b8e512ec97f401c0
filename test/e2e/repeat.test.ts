import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { stringify } from "yaml";
import { NamespaceResource } from "../../agent/runtime/index.js";
import { downClusters } from "../clusters/index.js";
import { installAgent } from "../support/agent.js";
import { interrupt } from "../support/interrupt.js";
import { REPOSITORY, prepareLab, type LabCluster } from "../support/lab.js";
import { compareListings, listEverything } from "../support/listing.js";
import { PulumiStack } from "../support/pulumi.js";
import { waitFor } from "../support/wait.js";
import { deployWeb } from "../support/workload.js";

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

/** Peering and unpeering in a row: an earlier life must not be felt in a later one. */
describe(`peering and unpeering ${CYCLES} times in a row`, function () {
  this.timeout(180_000);
  this.bail(true);

  let consumer: LabCluster;
  let provider: LabCluster;
  let cycle: Cycle;
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-repeat-"));
  const seconds: Record<string, number[]> = {};

  before(async function () {
    this.timeout(10 * 60_000);
    const lab = await prepareLab(CLUSTERS);
    [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    const ranges = { podCIDRs: ["10.200.0.0/16"], serviceCIDR: "10.90.0.0/16" };
    await Promise.all([
      installAgent(consumer, { clusterId: "consumer", image: lab.agentImage, ...ranges }),
      installAgent(provider, { clusterId: "provider", image: lab.agentImage, ...ranges }),
    ]);
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
});

/** Namespaces that end take some seconds of Kubernetes' own. */
async function gone({ client, cluster }: LabCluster): Promise<void> {
  const what = `no namespace ending in ${cluster.name}`;
  await waitFor(client, NamespaceResource, { timeoutMs: 60_000, what }, (all) =>
    all.every(({ metadata }) => metadata?.deletionTimestamp === undefined),
  );
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
