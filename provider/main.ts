import { VERSION } from "./version.js";
import { failAllConstructs } from "./server/pending-constructs.js";
import { serve } from "./server/serve.js";
import { messageOf } from "../agent/runtime/kube-error.js";

/** Engines kill a plugin one second after they asked it to end. */
const DRAIN_MS = 900;

/** The plugin: `pulumi-resource-liqo [engine address]`. The first line on stdout is the port, alone. */
async function main(): Promise<void> {
  const engineAddress = process.argv.slice(2).find((argument) => !argument.startsWith("-"));
  const plugin = await serve({
    version: VERSION,
    engineAddress,
    // Read when first asked for: the engine hears the port sooner.
    load: () => import("./resources/index.js").then(({ registry }) => registry),
    // Takes longer than all before it: the first call does not wait for it.
    loadAhead: () => void loadAhead(),
  });
  const stop = () => {
    plugin.stop();
    process.exit(0);
  };
  process.once("SIGTERM", stop);
  // How engines ask a plugin to end before they kill it: at once when it has nothing to do.
  process.once("SIGINT", () => {
    setTimeout(stop, DRAIN_MS).unref();
    void plugin.drain().then(() => process.exit(0));
  });
  process.on("unhandledRejection", endConstructs);
  endWithParent(stop);
  process.stdout.write(`${plugin.port}\n`);
}

/** What nearly every command needs; whatever is wrong with it is said when it is used. */
async function loadAhead(): Promise<void> {
  await Promise.allSettled([import("./resources/index.js"), import("./server/construct.js")]);
}

/** An engine that was killed cannot end its plugins: nothing may go on in its name. */
function endWithParent(stop: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop();
  }, 1_000).unref();
}

/** The SDK's runtime reports a component's failed child this way. Anything else is a fault of ours: said, without ending other calls. */
function endConstructs(error: unknown): void {
  if (!failAllConstructs(error)) process.stderr.write(`${messageOf(error)}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`pulumi-resource-liqo: ${messageOf(error)}\n`);
  process.exit(1);
});
