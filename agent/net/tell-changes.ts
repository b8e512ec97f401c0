import type { Logger } from "../runtime/logger.js";
import type { Run } from "./command.js";

/** The same programs, with a line of the log, at level info, for each change that they have made to links, addresses, routes and tables. Questions tell nothing. */
export function tellChanges(run: Run, logger: Logger): Run {
  return async (program, args, input) => {
    const output = await run(program, args, input);
    for (const change of changesOf(program, args, input)) tellChange(logger, program, change);
    return output;
  };
}

/** One line, of a change that the program's arguments do not show. */
export function tellChange(logger: Logger, program: string, change: string): void {
  logger.info({ program, change }, "changed");
}

/** What a run of a program changes, as lines: of iproute2 its commands, of nftables the table, whose rules are many. Of WireGuard's sessions nothing. */
export function changesOf(program: string, args: readonly string[], input = ""): string[] {
  if (args.includes("-j")) return [];
  if (program === "ip") return args.includes("-batch") ? input.split("\n").filter(Boolean) : [args.join(" ")];
  if (program !== "nft" || !args.includes("-f")) return [];
  const written = /^table (.+?) \{$/m.exec(input)?.[1];
  const deleted = /^delete table (.+)$/m.exec(input)?.[1];
  return [written === undefined ? `delete table ${deleted}` : `table ${written}`];
}
