import { Option, type Command } from "commander";
import type { ClusterArgs } from "../../provider/framework/index.js";
import { getClusterInfo } from "../../provider/functions/get-cluster-info.js";
import { getPeeringInfo } from "../../provider/functions/get-peering-info.js";
import { addClusterFlags, clusterArgsOf, CommandContext, type ClusterFlags } from "../clusters.js";
import { formatData, formatField, type DataFormat } from "../output/format.js";
import { clusterText, peersText } from "../output/info-text.js";
import { styleFor, type Style } from "../output/style.js";
import type { Terminal } from "../terminal.js";

interface InfoFlags extends ClusterFlags {
  output?: DataFormat;
  get?: string;
  verbose?: boolean;
}

export function addInfoCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("info")
    .argument("[peers...]", 'cluster IDs of peers to tell of in full; "peer" alone for all of them')
    .description("what a cluster's agent says of itself and of its peers")
    .addOption(new Option("-o, --output <format>", "for programs").choices(["json", "yaml"]))
    .option("-g, --get <path>", "one field only, by a dotted path such as local.clusterID")
    .option("-v, --verbose", "of each peer in full as well, and on the error stream which cluster is asked")
    .action((peers: string[], flags: InfoFlags) => runInfo(terminal, peers, flags));
  addClusterFlags(command);
}

async function runInfo(terminal: Terminal, peers: string[], flags: InfoFlags): Promise<void> {
  const context = new CommandContext(terminal, flags);
  const cluster = clusterArgsOf(flags, terminal);
  try {
    if (flags.verbose) context.log("info", await describeAsked(context, cluster));
    const ask = peers.length === 0 ? clusterAnswer : peersAnswer;
    terminal.out(await ask(context, cluster, { ...flags, style: styleFor(terminal), clusterIDs: namedPeers(peers) }));
  } finally {
    context.close();
  }
}

/** Which cluster the options lead to: with several kubeconfigs and contexts that is easily another one than was meant. */
async function describeAsked(context: CommandContext, cluster: ClusterArgs): Promise<string> {
  const { cluster: name, transport } = await context.client(cluster);
  return `note: asked is cluster ${name} at ${transport.server}`;
}

interface Asked extends InfoFlags {
  style: Style;
  clusterIDs: string[];
}

async function clusterAnswer(context: CommandContext, cluster: ClusterArgs, asked: Asked): Promise<string> {
  const { output, get, verbose, style } = asked;
  const { value, ...info } = await getClusterInfo.call(context, { cluster, get });
  if (get !== undefined) return formatField(value, output);
  if (output) return formatData(info, output);
  const text = clusterText(info, style);
  const isPeered = info.peerings.peers.length > 0;
  return verbose && isPeered ? `${text}\n${await peersAnswer(context, cluster, asked)}` : text;
}

async function peersAnswer(context: CommandContext, cluster: ClusterArgs, asked: Asked): Promise<string> {
  const { output, get, style, clusterIDs } = asked;
  const { peers, value } = await getPeeringInfo.call(context, { cluster, clusterIDs, get });
  if (get !== undefined) return formatField(value, output);
  return output ? formatData(peers, output) : peersText(peers, style);
}

/** Liqo's command line has "info peer ID…", where no ID means all. */
function namedPeers([first, ...rest]: string[]): string[] {
  if (first === undefined) return [];
  return first === "peer" ? rest : [first, ...rest];
}
