import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { buildProvider } from "../../scripts/build.js";
import { pulumiFolder } from "../clusters/index.js";
import { PulumiStack } from "../support/pulumi.js";
import { PluginProcess } from "./plugin-process.js";
import { timed } from "./pulumi-commands.js";
import { atMost, figure, median, type Result } from "./result.js";
import { SimulatedClusters } from "./simulated-clusters/clusters.js";

/** Those of the goals; PEERINGS="1,5" for a first look, in which rows are called after what was there. */
const COUNTS = (process.env["PEERINGS"] ?? "1,20,100").split(",").map(Number);
const MOST = Math.max(...COUNTS);
/** A Peering is a component with a NetworkLink, an Authentication and a ResourceSlice. */
const RESOURCES_EACH = 4;
const ROUNDS = 3;
const DEADLINE_MS = 600_000;
const STARTS = 7;
/** So many Peerings have a hundred resources. */
const FOR_MEMORY = Math.min(MOST, 100 / RESOURCES_EACH);
const CONSUMER = "consumer";

/**
 * What many peerings in one program cost: the real CLI and plugin, one consumer and as many providers, all simulated in this process. An empty program is one
 * of as many Stashes, a kind of resource that the engine brings itself and creates and keeps as any other, in the same language (YAML).
 */
export async function benchScale(): Promise<Result[]> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-bench-scale-"));
  const clusters = new SimulatedClusters(folder);
  try {
    await clusters.start();
    const programs = new Programs(folder, await pulumiFolder(), await buildProvider(), clusters);
    await programs.prepare(MOST);
    const results = await benchStart(path.join(programs.pluginFolder, "pulumi-resource-liqo"));
    for (const count of COUNTS) results.push(...(await benchCount(programs, clusters, count)));
    return [...results, ...(await benchMemory(programs)), ...(await benchCreation(programs))];
  } finally {
    clusters.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Programs of Peerings and empty ones, each a stack of its own. */
class Programs {
  constructor(
    private readonly folder: string,
    private readonly binFolder: string,
    readonly pluginFolder: string,
    private readonly clusters: SimulatedClusters,
  ) {}

  /** Makes the consumer and the providers. */
  async prepare(providers: number): Promise<void> {
    await this.clusters.add(CONSUMER, "10.200.0.0/16");
    for (let index = 0; index < providers; index++) await this.clusters.add(provider(index), "10.201.0.0/16");
  }

  peerings(count: number, env: NodeJS.ProcessEnv = {}): Promise<PulumiStack> {
    const kubeconfig = (id: string) => ({ kubeconfig: path.join(this.folder, `${id}.kubeconfig`) });
    const properties = (index: number) => ({ consumer: kubeconfig(CONSUMER), provider: kubeconfig(provider(index)) });
    const resource = (index: number) => ({ type: "liqo:Peering", properties: properties(index) });
    return this.stack(`peerings-${count}`, repeat(count, "peering", resource), env);
  }

  empty(count: number): Promise<PulumiStack> {
    const stash = { type: "pulumi:index:Stash", properties: { input: "nothing" } };
    return this.stack(
      `empty-${count}`,
      repeat(count, "stash", () => stash),
    );
  }

  private async stack(name: string, resources: object, env: NodeJS.ProcessEnv = {}): Promise<PulumiStack> {
    const project = path.join(this.folder, name);
    await mkdir(project, { recursive: true });
    const plugins = { providers: [{ name: "liqo", path: this.pluginFolder, version: "0.1.0" }] };
    // What is JSON is YAML, too.
    await writeFile(path.join(project, "Pulumi.yaml"), JSON.stringify({ name, runtime: "yaml", plugins, resources }));
    const { folder: stateFolder, binFolder } = this;
    const stack = new PulumiStack({ project, stateFolder, stack: "bench", binFolder, config: {}, env });
    await stack.init();
    return stack;
  }
}

function provider(index: number): string {
  return `provider-${index + 1}`;
}

function repeat(count: number, name: string, resource: (index: number) => object): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}-${index + 1}`, resource(index)]));
}

type Operation = "up" | "preview";

async function benchCount(programs: Programs, clusters: SimulatedClusters, count: number): Promise<Result[]> {
  const resources = count * RESOURCES_EACH;
  const peerings = await programs.peerings(count);
  const empty = await programs.empty(resources);
  const requestsEach = (): number => total(clusters.takeRequests()) / resources;
  requestsEach();
  await peerings.up({ timeoutMs: DEADLINE_MS });
  const results = [figure(`requests for each of ${resources} new resources`, requestsEach(), "")];
  await empty.up({ timeoutMs: DEADLINE_MS });
  const seconds: Record<Operation, { full: number[]; empty: number[] }> = {
    up: { full: [], empty: [] },
    preview: { full: [], empty: [] },
  };
  for (let round = 1; round <= ROUNDS; round++) {
    for (const operation of ["up", "preview"] as const) {
      seconds[operation].empty.push(await timed(() => empty[operation]({ timeoutMs: DEADLINE_MS })));
      clusters.takeRequests();
      seconds[operation].full.push(await timed(() => unchanged(peerings, operation)));
      if (round > 1) continue;
      results.push(
        atMost(`requests for each of ${resources} resources, ${operation} without changes`, requestsEach(), "", 4),
      );
    }
  }
  for (const operation of ["up", "preview"] as const) {
    const [full, bare] = [median(seconds[operation].full), median(seconds[operation].empty)];
    const what = `pulumi ${operation} without changes, ${count} peerings`;
    results.push(
      figure(what, full, "s"),
      figure(`pulumi ${operation} of an empty program, ${resources} resources`, bare, "s"),
      atMost(`${what}: more than the empty program, each resource`, ((full - bare) / resources) * 1000, "ms", 20),
    );
  }
  clusters.takeRequests();
  results.push(
    figure(`pulumi refresh of ${count} peerings`, await timed(() => peerings.refresh({ timeoutMs: DEADLINE_MS })), "s"),
  );
  results.push(figure(`requests for each of ${resources} resources, refresh`, requestsEach(), ""));
  await peerings.destroy({ timeoutMs: DEADLINE_MS });
  await empty.destroy({ timeoutMs: DEADLINE_MS });
  return results;
}

function unchanged(stack: PulumiStack, operation: Operation): Promise<unknown> {
  return operation === "up"
    ? stack.up({ timeoutMs: DEADLINE_MS })
    : stack.preview({ expectNoChanges: true, timeoutMs: DEADLINE_MS });
}

/** From the start of the executable to its answer, with the compiled code of an earlier run. */
async function benchStart(executable: string): Promise<Result[]> {
  const milliseconds: number[] = [];
  for (let start = 0; start <= STARTS; start++) {
    const began = performance.now();
    const plugin = await PluginProcess.start(executable);
    await plugin.firstAnswer();
    // The first start compiles.
    if (start > 0) milliseconds.push(performance.now() - began);
    await plugin.stop();
  }
  return [atMost("start of the plugin to its first answer", median(milliseconds), "ms", 250)];
}

/** The plugin's highest memory while a hundred resources are made, looked at again, and deleted: one process for all, as the engine is told to use it. */
async function benchMemory(programs: Programs): Promise<Result[]> {
  const plugin = await PluginProcess.start(path.join(programs.pluginFolder, "pulumi-resource-liqo"));
  const stack = await programs.peerings(FOR_MEMORY, { PULUMI_DEBUG_PROVIDERS: `liqo:${plugin.port}` });
  await stack.up();
  const made = await plugin.highestMiB();
  await stack.preview({ expectNoChanges: true });
  await stack.refresh();
  await stack.destroy();
  const all = await plugin.highestMiB();
  await plugin.stop();
  return [
    atMost(`highest memory of the plugin, ${FOR_MEMORY * RESOURCES_EACH} resources made`, made, "MiB", 120),
    figure("highest memory of the plugin, the same with preview, refresh and destroy", all, "MiB"),
  ];
}

/** One new peering and many at once, turn by turn; of each the middle one counts. Beside them what the engine alone takes for as many resources. */
async function benchCreation(programs: Programs): Promise<Result[]> {
  const many = COUNTS[1] ?? 1;
  const seconds = { one: [] as number[], many: [] as number[], fewEmpty: [] as number[], manyEmpty: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    seconds.one.push(await creation(await programs.peerings(1)));
    seconds.many.push(await creation(await programs.peerings(many)));
    seconds.fewEmpty.push(await creation(await programs.empty(RESOURCES_EACH)));
    seconds.manyEmpty.push(await creation(await programs.empty(many * RESOURCES_EACH)));
  }
  const [one, all] = [median(seconds.one), median(seconds.many)];
  return [
    figure("pulumi up of one new peering", one, "s"),
    figure(`pulumi up of ${many} new peerings`, all, "s"),
    atMost(`pulumi up of ${many} new peerings, against one's`, all / one, "x", 3),
    figure(
      `pulumi up of ${many * RESOURCES_EACH} empty resources, against that of ${RESOURCES_EACH}`,
      median(seconds.manyEmpty) / median(seconds.fewEmpty),
      "x",
    ),
  ];
}

/** Seconds that the stack takes to be made; it is gone afterwards. */
async function creation(stack: PulumiStack): Promise<number> {
  const seconds = await timed(() => stack.up({ timeoutMs: DEADLINE_MS }));
  await stack.destroy({ timeoutMs: DEADLINE_MS });
  return seconds;
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, one) => sum + one, 0);
}
