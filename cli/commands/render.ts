import { Option, type Command } from "commander";
import { newKeyPair } from "../../agent/controller/network/gateways/key-secret.js";
import type { ClusterArgs } from "../../provider/framework/index.js";
import { renderManifests } from "../../provider/functions/render-manifests.js";
import type { RenderInputs, RenderOutputs } from "../../provider/functions/rendering/schema.js";
import {
  addClusterFlags,
  clusterArgsOf,
  CommandContext,
  namesCluster,
  remoteFlagsOf,
  type ClusterFlags,
  type RemoteClusterFlags,
} from "../clusters.js";
import { formatData } from "../output/format.js";
import { UsageError, type Terminal } from "../terminal.js";
import { checkedInputs, readInputs, setInput, type Given } from "./given-inputs.js";
import { writeChart } from "./helm-chart.js";
import { printManifests, writeManifests } from "./rendered-output.js";

interface CommonFlags extends ClusterFlags {
  file?: string;
  set: string[];
  out?: string;
  output?: "json" | "yaml";
}

interface AgentFlags extends CommonFlags {
  clusterId?: string;
  fromCluster?: boolean;
  helm?: string;
}

interface PeeringFlags extends CommonFlags, RemoteClusterFlags {
  newKeys?: boolean;
  only?: "consumer" | "provider";
}

/** Of either command; what it has not is absent. */
type RenderFlags = CommonFlags & Pick<PeeringFlags, "only" | keyof RemoteClusterFlags>;

export function addRenderCommand(program: Command, terminal: Terminal): void {
  const render = program
    .command("render")
    .description("manifests of what a Pulumi program would apply; applies nothing");
  const agent = render
    .command("agent")
    .description("the agent of one cluster, as manifests or as a Helm chart")
    .option("--cluster-id <id>", "the cluster's ID among its peers")
    .option("--from-cluster", "read the ranges of pods and Services from the cluster")
    .addOption(
      new Option("--helm <folder>", "write a Helm chart instead, for any cluster").conflicts([
        "out",
        "output",
        "fromCluster",
      ]),
    )
    .action((flags: AgentFlags) => renderAgent(terminal, flags));
  addCommonOptions(agent, "the properties of an Agent", "such as podCIDRs=[10.244.0.0/16]");
  const peering = render
    .command("peering")
    .description(
      "both sides of a peering; what is left out is read from the clusters that options name: the consumer, and with remote- the provider",
    )
    .option("--new-keys", "make WireGuard keys for both gateways, so that neither waits for the other")
    .addOption(new Option("--only <side>", "one of the two clusters").choices(["consumer", "provider"]))
    .action((flags: PeeringFlags) => renderPeering(terminal, flags));
  addCommonOptions(peering, "the inputs of renderManifests", "such as networkLink.mtu=1400");
  addClusterFlags(peering, true);
}

function addCommonOptions(command: Command, what: string, example: string): void {
  command
    .option("-f, --file <file>", `${what} as YAML or JSON; "-" for the standard input`)
    .option(
      "--set <assignment>",
      `one of them, ${example}; repeatable`,
      (one: string, all: string[]) => [...all, one],
      [],
    )
    .option("--out <folder>", "write files instead of to the standard output")
    .addOption(
      new Option("-o, --output <format>", "json: the objects, and notes on what is missing")
        .choices(["json", "yaml"])
        .conflicts("out"),
    );
  addClusterFlags(command);
}

async function givenBy(flags: CommonFlags, terminal: Terminal): Promise<Given> {
  const fromFile = flags.file === undefined ? {} : await readInputs(flags.file, terminal);
  return flags.set.reduce(setInput, fromFile);
}

async function renderAgent(terminal: Terminal, flags: AgentFlags): Promise<void> {
  if (flags.helm !== undefined) {
    if (flags.file !== undefined || flags.set.length > 0 || flags.clusterId !== undefined) {
      throw new UsageError("--helm: a chart is for any cluster; its values are given to Helm, not here");
    }
    return writeChart(terminal, flags.helm);
  }
  const { clusterId = flags.clusterId, ...agent } = await givenBy(flags, terminal);
  if (clusterId === undefined) throw new UsageError("--cluster-id: is needed");
  const consumer = { clusterId, agent, ...(flags.fromCluster ? { cluster: clusterArgsOf(flags, terminal) } : {}) };
  await render(terminal, flags, { consumer }, withoutSide);
}

/** An agent is of one cluster: paths begin at its own properties, and options say more than inputs do here. */
function withoutSide(message: string): string {
  const short = message.replace(/\bconsumer\.(agent\.|(?=clusterId))/g, "");
  return short.replace("as no cluster is given to read it from", "or --from-cluster");
}

async function renderPeering(terminal: Terminal, flags: PeeringFlags): Promise<void> {
  const given = await givenBy(flags, terminal);
  const consumer = side("consumer", given["consumer"], clusterNamedBy(flags, terminal), flags.newKeys);
  const provider = side("provider", given["provider"], clusterNamedBy(remoteFlagsOf(flags), terminal), flags.newKeys);
  await render(terminal, flags, { ...(saysWhat(given) ? given : EVERYTHING), consumer, provider });
}

/** What a Peering is made of, where nothing in particular is asked for. */
const EVERYTHING: Given = { networkLink: {}, authentication: {}, resourceSlices: [{}] };

function saysWhat(given: Given): boolean {
  return Object.keys(given).some((key) => key !== "consumer" && key !== "provider");
}

/** Undefined where no option names a cluster: none is asked then. */
function clusterNamedBy(flags: ClusterFlags, terminal: Terminal): ClusterArgs | undefined {
  return namesCluster(flags) ? clusterArgsOf(flags, terminal) : undefined;
}

function side(name: string, given: unknown, cluster: ClusterArgs | undefined, newKeys = false): Given {
  const own = given ?? {};
  if (typeof own !== "object" || Array.isArray(own)) {
    throw new UsageError(`${name}: must be an object, such as { clusterId: ${name} }`);
  }
  return { ...(cluster ? { cluster } : {}), ...(newKeys ? { keys: newKeyPair() } : {}), ...own };
}

async function render(
  terminal: Terminal,
  flags: RenderFlags,
  given: Given,
  rename: (message: string) => string = (message) => message,
): Promise<void> {
  try {
    const inputs = checkedInputs(renderManifests.inputs, given);
    await deliver(terminal, flags, await rendered(terminal, flags, inputs));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    error.message = rename(error.message);
    throw error;
  }
}

async function rendered(terminal: Terminal, flags: RenderFlags, inputs: RenderInputs): Promise<RenderOutputs> {
  const args = inputs.provider?.cluster;
  const remote = args && { args, flags: remoteFlagsOf(flags) };
  const context = new CommandContext(terminal, flags, remote);
  try {
    return await renderManifests.call(context, inputs);
  } finally {
    context.close();
  }
}

async function deliver(terminal: Terminal, { output, out, only }: RenderFlags, outputs: RenderOutputs): Promise<void> {
  const wanted: RenderOutputs = only ? { [only]: outputs[only], notes: outputs.notes } : outputs;
  if (output) return terminal.out(formatData(wanted, output));
  const rendered = [wanted.consumer, wanted.provider].filter((one) => one !== undefined);
  if (out === undefined) printManifests(terminal, rendered);
  else await writeManifests(terminal, out, rendered);
  for (const note of outputs.notes) terminal.error(`note: ${note}\n`);
}
