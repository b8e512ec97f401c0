import { messageOf } from "./runtime/kube-error.js";
import { keepHeapSmall } from "./runtime/small-heap.js";

type Role = (argv: string[], signal: AbortSignal) => Promise<void>;

/**
 * Each role runs until its signal aborts (SIGTERM, SIGINT), its one task is done, or something fails that a restart must mend. Only the role that runs is loaded: that
 * spares the others' memory and start-up time.
 */
const ROLES: Record<string, () => Promise<Role>> = {
  controller: async () => (await import("./controller/main.js")).runController,
  gateway: async () => (await import("./gateway/main.js")).runGateway,
  fabric: async () => (await import("./fabric/main.js")).runFabric,
  proxy: async () => (await import("./proxy/main.js")).runProxy,
  "uninstall-guard": async () => (await import("./uninstall-guard/main.js")).runUninstallGuard,
  "virtual-node": async () => (await import("./virtual-node/main.js")).runVirtualNode,
};

/** They wait most of the time, one per link, node or virtual node: memory counts for more than the time that collecting it takes. */
const SMALL_ROLES: readonly string[] = ["gateway", "fabric", "proxy", "virtual-node"];

function main(): void {
  const [name = "", ...argv] = process.argv.slice(2);
  const load = ROLES[name];
  if (!load) {
    process.stderr.write(`usage: agent ${Object.keys(ROLES).join("|")} [arguments]\n`);
    process.exit(2);
  }
  if (SMALL_ROLES.includes(name)) keepHeapSmall();
  const abort = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => abort.abort());
  const run = async (): Promise<void> => (await load())(argv, abort.signal);
  run().then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${name}: ${messageOf(error)}\n`);
      process.exit(1);
    },
  );
}

main();
