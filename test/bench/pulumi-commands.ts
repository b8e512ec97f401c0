import { atMost, figure, median, type Result } from "./result.js";
import type { PulumiStack } from "../support/pulumi.js";

const ROUNDS = 3;

/**
 * Wall-clock times of the CLI: up, a preview without changes, and destroy, each beside those of an empty program.
 * `settled` resolves when the clusters have finished with what was destroyed.
 */
export async function benchPulumi(
  peering: PulumiStack,
  empty: PulumiStack,
  settled: () => Promise<void>,
): Promise<Result[]> {
  const seconds: Record<"up" | "preview" | "destroy" | "emptyUp" | "emptyPreview" | "emptyDestroy", number[]> = {
    up: [],
    preview: [],
    destroy: [],
    emptyUp: [],
    emptyPreview: [],
    emptyDestroy: [],
  };
  for (let round = 1; round <= ROUNDS; round++) {
    console.log(`pulumi: round ${round} of ${ROUNDS}`);
    seconds.emptyUp.push(await timed(() => empty.up()));
    seconds.up.push(await timed(() => peering.up()));
    seconds.emptyPreview.push(await timed(() => empty.preview()));
    seconds.preview.push(await timed(() => peering.preview({ expectNoChanges: true })));
    seconds.emptyDestroy.push(await timed(() => empty.destroy()));
    seconds.destroy.push(await timed(() => peering.destroy()));
    await settled();
    const latest = Object.entries(seconds).map(([what, all]) => `${what} ${(all.at(-1) ?? NaN).toFixed(2)} s`);
    console.log(`  ${latest.join(", ")}`);
  }
  return [
    atMost("pulumi up of a Peering, network included", median(seconds.up), "s", 8),
    figure("pulumi up of an empty program", median(seconds.emptyUp), "s"),
    atMost("pulumi destroy of a Peering", median(seconds.destroy), "s", 5),
    figure("pulumi destroy of an empty program", median(seconds.emptyDestroy), "s"),
    atMost(
      "pulumi preview without changes, against an empty program's",
      median(seconds.preview) / median(seconds.emptyPreview),
      "x",
      1.5,
    ),
    figure("pulumi preview without changes", median(seconds.preview), "s"),
    figure("pulumi preview of an empty program", median(seconds.emptyPreview), "s"),
  ];
}

/** Runs the action and returns its seconds. */
export async function timed(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return (performance.now() - started) / 1000;
}
