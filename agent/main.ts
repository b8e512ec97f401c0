import { runController } from "./controller/main.js";
import { runFabric } from "./fabric/main.js";
import { runGateway } from "./gateway/main.js";
import { messageOf } from "./runtime/index.js";
import { runVirtualNode } from "./virtual-node/main.js";

/** Each role runs until its signal aborts (SIGTERM, SIGINT) or something fails that a restart must mend. */
const ROLES: Record<string, (argv: string[], signal: AbortSignal) => Promise<void>> = {
  controller: runController,
  gateway: runGateway,
  fabric: runFabric,
  "virtual-node": runVirtualNode,
};

function main(): void {
  const [name = "", ...argv] = process.argv.slice(2);
  const role = ROLES[name];
  if (!role) {
    process.stderr.write(`usage: agent ${Object.keys(ROLES).join("|")} [arguments]\n`);
    process.exit(2);
  }
  const abort = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => abort.abort());
  role(argv, abort.signal).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${name}: ${messageOf(error)}\n`);
      process.exit(1);
    },
  );
}

main();
