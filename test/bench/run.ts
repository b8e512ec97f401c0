import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Labels } from "../../agent/api/index.js";
import { NamespaceResource, messageOf } from "../../agent/runtime/index.js";
import { downClusters } from "../clusters/index.js";
import { whenInterrupted } from "../support/interruption.js";
import { REPOSITORY, prepareLab, type LabCluster } from "../support/lab.js";
import { offloadNamespace } from "../support/offload-namespace.js";
import { PulumiStack } from "../support/pulumi.js";
import { waitFor } from "../support/wait.js";
import { benchClusters } from "./clusters.js";
import { benchFootprint } from "./footprint.js";
import { LINKS_CLUSTER, benchLinks } from "./links.js";
import { benchMemory } from "./memory.js";
import { benchNetwork } from "./network.js";
import { benchPeerings } from "./peerings.js";
import { inPlaces, placesOf } from "./pod-place.js";
import { benchManyMorePods, benchPods } from "./pods.js";
import { benchScalePods } from "./scale-pods.js";
import { benchStreams } from "./streams.js";
import { benchPulumi } from "./pulumi-commands.js";
import { printTable, type Result } from "./result.js";
import { benchScale } from "./scale.js";

const CONSUMER = { name: "bench-consumer" };
const PROVIDER = { name: "bench-provider" };
const NAMESPACE = "bench";

/** What is measured between two joined clusters. */
type Part = "pulumi" | "footprint" | "network" | "pods" | "streams" | "many-pods";

/** What can be measured by itself, each on clusters of its own: `npm run bench -- NAME…`. */
const BENCHES: Record<string, () => Promise<Result[]>> = {
  peering: () => benchPeering(["pulumi", "footprint", "network", "pods", "streams"]),
  "many-pods": () => benchPeering(["many-pods"], 2),
  links: benchLinks,
  peerings: benchPeerings,
  "scale-pods": () => benchScalePods(),
  scale: benchScale,
};

/** Parts of one of these, for those who look at nothing else. */
const PARTS: Record<string, () => Promise<Result[]>> = {
  footprint: () => benchPeering(["footprint"]),
  network: () => benchPeering(["network"]),
  pods: () => benchPeering(["pods"]),
  streams: () => benchPeering(["streams"]),
};

const OF_PODS = { pods: benchPods, streams: benchStreams, "many-pods": benchManyMorePods };

/** `npm run bench`: measures, prints the figures beside their goals and, when all was measured, writes results.json. Goals that are missed do not fail it. */
async function main(names: readonly string[]): Promise<void> {
  const known = { ...BENCHES, ...PARTS };
  const unknown = names.find((name) => known[name] === undefined);
  if (unknown !== undefined)
    throw new Error(`there is no bench "${unknown}"; there are ${Object.keys(known).join(", ")}`);
  const results: Result[] = [];
  for (const name of names.length > 0 ? names : Object.keys(BENCHES)) results.push(...((await known[name]?.()) ?? []));
  printTable(results);
  if (names.length > 0) return;
  writeFileSync(path.join(REPOSITORY, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
}

/** Two clusters, joined: commands of Pulumi, the agents' footprint, the data path, and pods on the virtual node. */
async function benchPeering(parts: readonly Part[], providerNodes = 1): Promise<Result[]> {
  const stateFolder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-bench-"));
  const specs = [CONSUMER, { ...PROVIDER, nodes: providerNodes }];
  const results = providerNodes === 1 ? [await benchClusters(specs)] : [];
  const lab = await prepareLab(specs);
  const [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
  const stack = (project: string, config: Record<string, string>): PulumiStack =>
    new PulumiStack({
      project: path.join(REPOSITORY, "test/bench/projects", project),
      stateFolder,
      stack: "bench",
      binFolder: lab.pulumiBin,
      config,
    });
  const kubeconfigs = {
    consumerKubeconfig: consumer.cluster.kubeconfigPath,
    providerKubeconfig: provider.cluster.kubeconfigPath,
  };
  const empty = stack("empty", {});
  const agents = stack("agents", { ...kubeconfigs, image: lab.agentImage });
  const peering = stack("peering", kubeconfigs);
  try {
    for (const each of [empty, agents, peering]) await each.init();
    console.log("installing the agents");
    await agents.up();
    if (parts.includes("pulumi"))
      results.push(...(await benchPulumi(peering, empty, () => settled([consumer, provider]))));
    await peering.up();
    await offloadNamespace(consumer, NAMESPACE);
    if (parts.includes("footprint")) {
      results.push(...(await benchMemory(consumer, provider)));
      results.push(...(await benchFootprint(consumer, provider)));
    }
    if (parts.includes("network")) results.push(...(await benchNetwork(consumer, provider, NAMESPACE, PROVIDER.name)));
    const places = placesOf(consumer, provider, NAMESPACE, PROVIDER.name);
    for (const [part, measure] of Object.entries(OF_PODS))
      if (parts.includes(part as Part)) results.push(...(await inPlaces(places, measure)));
  } finally {
    for (const each of [empty, agents, peering]) await each.remove();
    await downClusters(specs.map(({ name }) => name));
    rmSync(stateFolder, { recursive: true, force: true });
  }
  return results;
}

/** Kubernetes takes five seconds over an empty namespace: a peering that starts earlier would wait for the last one's. */
async function settled(clusters: readonly LabCluster[]): Promise<void> {
  const options = {
    labelSelector: Labels.tenantNamespace,
    timeoutMs: 60_000,
    what: "the end of the tenant namespaces",
  };
  await Promise.all(
    clusters.map(({ client }) =>
      waitFor(client, NamespaceResource, options, (namespaces) => namespaces.length === 0 || undefined),
    ),
  );
}

const CLUSTERS = [CONSUMER, PROVIDER, LINKS_CLUSTER].map(({ name }) => name);
whenInterrupted("the clusters are taken down", () => downClusters(CLUSTERS));
main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(messageOf(error));
    process.exit(1);
  },
);
