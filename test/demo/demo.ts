import { rmSync } from "node:fs";
import { NamespaceResource, messageOf } from "../../agent/runtime/index.js";
import { downClusters, listClusters, pulumiFolder } from "../clusters/index.js";
import { openCluster, prepareLab, type LabCluster } from "../support/lab.js";
import { deployWeb } from "../support/workload.js";
import { showPeering, showTraffic } from "./checks.js";
import { DEMO_CLUSTERS, NAMESPACE, STATE_FOLDER, demoStack, type Demo } from "./environment.js";
import { Steps } from "./steps.js";

/** `npm run demo`: two real clusters, a real `pulumi up`, pods offloaded, traffic both ways; each check's outcome is printed. */
async function up(): Promise<void> {
  const steps = new Steps();
  steps.title("Clusters, plugin and agent image");
  const lab = await steps.run("everything built, two clusters Ready, images loaded", () => prepareLab(DEMO_CLUSTERS));
  const [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
  const demo: Demo = { lab, consumer, provider, stack: demoStack(lab, consumer, provider) };

  steps.title("pulumi up");
  await steps.run("namespace for the workload", async () => {
    await consumer.client.apply(NamespaceResource, { metadata: { name: NAMESPACE } }, { fieldManager: "demo" });
  });
  await steps.run("pulumi stack init (state in a local folder)", async () => {
    await demo.stack.init();
  });
  await steps.run("pulumi up", async () => {
    await demo.stack.up({ onLine: (line) => steps.note(line) });
  });
  const outputs = await demo.stack.outputs();
  steps.note(JSON.stringify(outputs, null, 2));

  steps.title("A web service of 3 pods in the offloaded namespace");
  const node = String(outputs["virtualNodeName"]);
  const pods = await steps.run("3 pods Ready on the virtual node", () =>
    deployWeb(consumer, NAMESPACE, { replicas: 3, node }),
  );

  steps.title("What a person sees");
  await showPeering(demo, steps, pods);
  await showTraffic(demo, steps, pods);
  steps.table();
  console.log("\nEvery check passed. `npm run demo:down` ends it.");
}

/** `npm run demo:down`: `pulumi destroy`, then the clusters. */
async function down(): Promise<void> {
  const steps = new Steps();
  const clusters = await listClusters();
  const [consumer, provider] = DEMO_CLUSTERS.map(({ name }) => clusters.find((cluster) => cluster.name === name));
  if (consumer && provider) {
    const sides = [await openCluster(consumer), await openCluster(provider)] as const;
    const stack = demoStack({ pulumiBin: await pulumiFolder(), agentImage: "" }, ...sides);
    await steps.run("pulumi destroy", async () => {
      await stack.pulumi(["stack", "select", "--create", "demo"]);
      await stack.cancel();
      await stack.destroy({ onLine: (line) => steps.note(line) });
      await stack.remove();
    });
  }
  await steps.run("clusters down", () => downClusters(DEMO_CLUSTERS.map(({ name }) => name)));
  rmSync(STATE_FOLDER, { recursive: true, force: true });
  steps.table();
}

const commands: Record<string, () => Promise<void>> = { up, down };
const command = commands[process.argv[2] ?? "up"];
if (!command) {
  console.error("usage: demo.ts up|down");
  process.exit(2);
}
command().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(`\n${messageOf(error)}`);
    process.exit(1);
  },
);
