import { downClusters, upClusters, type ClusterSpec } from "../clusters/index.js";
import { timed } from "./pulumi-commands.js";
import { atMost, type Result } from "./result.js";

/** How long two clusters take from nothing to Ready once their components are cached; they are left running. */
export async function benchClusters(specs: readonly ClusterSpec[]): Promise<Result> {
  // The first time fills the caches, where this is the first run on the machine.
  await upClusters(specs);
  await downClusters(specs.map(({ name }) => name));
  return atMost("two single-node clusters Ready, cached", await timed(() => upClusters(specs)), "s", 20);
}
