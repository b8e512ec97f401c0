import { writeFile } from "node:fs/promises";
import path from "node:path";
import { Option, type Command } from "commander";
import { messageOf } from "../../agent/runtime/kube-error.js";
import { providerConfig, type ClusterArgs } from "../../provider/framework/index.js";
import { getTopology } from "../../provider/functions/get-topology.js";
import type { Topology } from "../../provider/functions/topology/schema.js";
import { contextNames, readCluster } from "../../provider/kube/kubeconfig.js";
import { clusterArgsOf, CommandContext, parseDuration, type ClusterFlags } from "../clusters.js";
import { formatData } from "../output/format.js";
import { UsageError, type Terminal } from "../terminal.js";
import { topologyMermaid } from "../topology/mermaid.js";
import { topologySvg } from "../topology/svg.js";
import { THEMES, type ThemeName } from "../topology/theme.js";

interface TopologyFlags extends Pick<ClusterFlags, "requestTimeout"> {
  kubeconfig: string[];
  context: string[];
  allContexts?: boolean;
  output?: "svg" | "mermaid" | "json";
  out: string;
  theme: ThemeName;
}

const collect = (one: string, all: string[]): string[] => [...all, one];

export function addTopologyCommand(program: Command, terminal: Terminal): void {
  program
    .command("topology")
    .description("a picture of clusters, the networks between them with round-trip times, and who uses whose resources")
    .option("--kubeconfig <file>", "a kubeconfig; repeatable (default: KUBECONFIG, then ~/.kube/config)", collect, [])
    .option("--context <name>", "a context; repeatable (default: the current one of each kubeconfig)", collect, [])
    .addOption(new Option("--all-contexts", "every context of each kubeconfig").conflicts("context"))
    .addOption(new Option("-o, --output <format>", "to the standard output").choices(["svg", "mermaid", "json"]))
    .option("--out <folder>", "where topology.svg and topology.mmd go, without --output", ".")
    .addOption(new Option("--theme <theme>", "colours; auto follows the reader's").choices([...THEMES]).default("auto"))
    .option("--request-timeout <duration>", 'how long an answer may take, such as "30s"', parseDuration)
    .action((flags: TopologyFlags) => runTopology(terminal, flags));
}

async function runTopology(terminal: Terminal, flags: TopologyFlags): Promise<void> {
  const context = new CommandContext(terminal, { requestTimeout: flags.requestTimeout });
  try {
    const clusters = await namedClusters(terminal, flags);
    const topology = await getTopology.call(context, { clusters });
    const silent = topology.clusters.filter(({ error }) => error !== undefined);
    for (const { clusterID, error } of silent) terminal.error(`warning: ${clusterID}: ${error ?? ""}\n`);
    for (const { clusterID, notVisible } of topology.clusters) {
      if (notVisible) terminal.error(`note: ${clusterID}: ${notVisible.join(" ")}\n`);
    }
    if (silent.length === clusters.length) throw new Error("none of the clusters could be asked");
    await deliver(terminal, flags, topology);
  } finally {
    context.close();
  }
}

async function deliver(terminal: Terminal, { output, out, theme }: TopologyFlags, topology: Topology): Promise<void> {
  switch (output) {
    case "json":
      return terminal.out(formatData(topology, "json"));
    case "mermaid":
      return terminal.out(topologyMermaid(topology));
    case "svg":
      return terminal.out(topologySvg(topology, theme));
    case undefined:
      await write(terminal, path.join(out, "topology.svg"), topologySvg(topology, theme));
      await write(terminal, path.join(out, "topology.mmd"), topologyMermaid(topology));
  }
}

async function write(terminal: Terminal, file: string, text: string): Promise<void> {
  try {
    await writeFile(path.resolve(terminal.folder, file), text);
  } catch (error) {
    throw new Error(`cannot write ${file}: ${messageOf(error)}`, { cause: error });
  }
  terminal.error(`written: ${file}\n`);
}

/** Every context in every kubeconfig that was named; a context need not be in each of several files. */
async function namedClusters(terminal: Terminal, flags: TopologyFlags): Promise<ClusterArgs[]> {
  const [only, ...others] = flags.kubeconfig.length > 0 ? flags.kubeconfig : [undefined];
  const { context: contexts, allContexts } = flags;
  if (others.length === 0 && contexts.length > 0) {
    return contexts.map((context) => clusterArgsOf({ kubeconfig: only, context }, terminal));
  }
  const perFile = await Promise.all(
    [only, ...others].map(async (kubeconfig) => {
      const args = clusterArgsOf({ kubeconfig }, terminal);
      if (!allContexts && contexts.length === 0) return [args];
      const there = await contextsOf(args, terminal);
      const wanted = allContexts ? there : contexts.filter((name) => there.includes(name));
      return wanted.map((context) => ({ ...args, context }));
    }),
  );
  const clusters = perFile.flat();
  const missing = contexts.filter((name) => !clusters.some(({ context }) => context === name));
  if (missing.length > 0) throw new UsageError(`--context: no kubeconfig has ${missing.join(", ")}`);
  return clusters;
}

async function contextsOf(args: ClusterArgs, terminal: Terminal): Promise<string[]> {
  try {
    return await contextNames(readCluster(args, providerConfig.parse({}), terminal.env));
  } catch (error) {
    throw new UsageError(`--kubeconfig: ${messageOf(error)}`);
  }
}
