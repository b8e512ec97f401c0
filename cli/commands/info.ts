import { Option, type Command } from "commander";
import { getClusterInfo } from "../../provider/functions/get-cluster-info.js";
import { getPeeringInfo } from "../../provider/functions/get-peering-info.js";
import { addClusterFlags, clusterArgsOf, CommandContext, type ClusterFlags } from "../clusters.js";
import { formatData, formatField, type DataFormat } from "../output/format.js";
import { clusterText, peersText } from "../output/info-text.js";
import { styleFor } from "../output/style.js";
import type { Terminal } from "../terminal.js";

interface InfoFlags extends ClusterFlags {
  output?: DataFormat;
  get?: string;
}

export function addInfoCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("info")
    .argument("[peers...]", 'cluster IDs of peers to tell of in full; "peer" alone for all of them')
    .description("what a cluster's agent says of itself and of its peers")
    .addOption(new Option("-o, --output <format>", "for programs").choices(["json", "yaml"]))
    .option("--get <path>", "one field only, by a dotted path such as local.clusterID")
    .action((peers: string[], flags: InfoFlags) => runInfo(terminal, peers, flags));
  addClusterFlags(command);
}

async function runInfo(terminal: Terminal, peers: string[], flags: InfoFlags): Promise<void> {
  const context = new CommandContext(terminal, flags);
  const style = styleFor(terminal);
  const { output, get } = flags;
  const cluster = clusterArgsOf(flags, terminal);
  try {
    if (peers.length === 0) {
      const { value, ...info } = await getClusterInfo.call(context, { cluster, get });
      if (get !== undefined) return terminal.out(formatField(value, output));
      return terminal.out(output ? formatData(info, output) : clusterText(info, style));
    }
    const answer = await getPeeringInfo.call(context, { cluster, clusterIDs: namedPeers(peers), get });
    if (get !== undefined) return terminal.out(formatField(answer.value, output));
    terminal.out(output ? formatData(answer.peers, output) : peersText(answer.peers, style));
  } finally {
    context.close();
  }
}

/** Liqo's command line has "info peer ID…", where no ID means all. */
function namedPeers([first, ...rest]: string[]): string[] {
  if (first === undefined) return [];
  return first === "peer" ? rest : [first, ...rest];
}
