import { Command, CommanderError } from "commander";
import { messageOf } from "../agent/runtime/kube-error.js";
import { VERSION } from "../provider/version.js";
import { addInfoCommand } from "./commands/info.js";
import { addRenderCommand } from "./commands/render.js";
import { addTopologyCommand } from "./commands/topology.js";
import { ExitCode, UsageError, type Terminal } from "./terminal.js";

/**
 * Runs one command.
 *
 * @param args without the program's name
 * @returns the exit code; every failure has been told on the error stream, in one message without a trace
 */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await programFor(terminal).parseAsync([...args], { from: "user" });
    return ExitCode.success;
  } catch (error) {
    if (terminal.signal.aborted) return ExitCode.interrupted;
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.success : ExitCode.usage;
    terminal.error(`error: ${messageOf(error)}\n`);
    return error instanceof UsageError ? ExitCode.usage : ExitCode.failure;
  }
}

/** All commands with their options. */
export function programFor(terminal: Terminal): Command {
  const program = new Command("pulumi-liqo")
    .description(
      "Looks at peered clusters, and renders what peers them. Peering itself is a Pulumi program's business.",
    )
    .version(VERSION, "-V, --version", "this program's version")
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.error(text) })
    .showHelpAfterError('(see "--help")')
    .exitOverride();
  addInfoCommand(program, terminal);
  addTopologyCommand(program, terminal);
  addRenderCommand(program, terminal);
  return program;
}
