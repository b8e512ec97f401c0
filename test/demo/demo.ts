import { rmSync } from "node:fs";
import { NamespaceResource, messageOf } from "../../agent/runtime/index.js";
import { downClusters, listClusters, pulumiFolder } from "../clusters/index.js";
import type { ExecOptions } from "../support/exec.js";
import { whenInterrupted } from "../support/interruption.js";
import { openCluster, prepareLab, type LabCluster } from "../support/lab.js";
import { deployWeb } from "../support/workload.js";
import { showPeering, showTraffic } from "./checks.js";
import { DEMO_CLUSTERS, NAMESPACE, STATE_FOLDER, demoStack, type Demo } from "./environment.js";
import { Steps } from "./steps.js";

const interruption = new AbortController();
/** What Pulumi does now. Told to end, it saves what there is and frees the stack. */
let pulumiRuns: Promise<unknown> = Promise.resolve();

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
    await demo.stack.cancel();
  });
  await runPulumi(steps, "pulumi up", (options) => demo.stack.up(options));
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
    await runPulumi(steps, "pulumi destroy", async (options) => {
      await stack.pulumi(["stack", "select", "--create", "demo"]);
      await stack.cancel();
      // Of what a killed CLI was making only another run of it learns what there is.
      if (await stack.hasPendingOperations()) await stack.up(options);
      await stack.destroy(options);
      await stack.remove();
    });
  }
  await steps.run("clusters down", () => downClusters(DEMO_CLUSTERS.map(({ name }) => name)));
  rmSync(STATE_FOLDER, { recursive: true, force: true });
  steps.table();
}

async function runPulumi(
  steps: Steps,
  name: string,
  command: (options: ExecOptions) => Promise<unknown>,
): Promise<void> {
  pulumiRuns = command({ onLine: (line) => steps.note(line), interruption: interruption.signal });
  await steps.run(name, () => pulumiRuns);
}

const commands: Record<string, () => Promise<void>> = { up, down };
const command = commands[process.argv[2] ?? "up"];
if (!command) {
  console.error("usage: demo.ts up|down");
  process.exit(2);
}
whenInterrupted("`npm run demo` goes on from here, `npm run demo:down` takes it away", async () => {
  interruption.abort();
  // Its failure has been told with its step.
  await pulumiRuns.catch(() => undefined);
});
command().then(
  () => process.exit(0),
  (error: unknown) => {
    if (interruption.signal.aborted) return;
    console.error(`\n${messageOf(error)}`);
    process.exit(1);
  },
);
