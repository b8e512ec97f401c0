import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../../agent/runtime/index.js";
import { downClusters } from "../clusters/index.js";
import { whenInterrupted } from "../support/interruption.js";
import { prepareLab, type LabCluster } from "../support/lab.js";
import { writeProgram } from "../support/program.js";
import { VolumeProvisioner } from "../support/volume-provisioner.js";
import { offload, peerings } from "./environment.js";
import { GROWTH_LIMIT, hasGrown } from "./memory-watch.js";
import { soak, type SoakResult } from "./soak.js";

const RANGES = { podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" };
const CONSUMER = { name: "soak-consumer", ...RANGES };
const PROVIDER = { name: "soak-provider", ...RANGES };
const NAMESPACE = "soak";

/**
 * `npm run soak`: random changes and faults on clusters of its own for 20 minutes (`-- --minutes N`), then a comparison object by object. The
 * seed is printed; `-- --seed N` makes the same choices again. Needs the local backend, whose processes can be killed.
 */
async function main(): Promise<void> {
  const { minutes, seed } = readArguments();
  console.log(`soak of ${minutes} minutes, seed ${seed}`);
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-soak-"));
  const volumes = new VolumeProvisioner();
  const tidy = async (): Promise<void> => {
    if (process.env["KEEP_CLUSTERS"] === undefined) await downClusters([CONSUMER.name, PROVIDER.name]);
    await volumes.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  whenInterrupted("the clusters are taken down", tidy);
  try {
    const lab = await prepareLab([CONSUMER, PROVIDER]);
    const [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    await volumes.serve(provider);
    const stack = await writeProgram(lab, folder, "soak", peerings(lab, consumer, [provider]));
    await stack.up();
    await offload(consumer, NAMESPACE, PROVIDER.name);
    const started = Date.now();
    const result = await soak({
      consumer: { lab: consumer, spec: CONSUMER },
      provider: { lab: provider, spec: PROVIDER },
      namespace: NAMESPACE,
      remoteNamespace: NAMESPACE,
      virtualNode: PROVIDER.name,
      milliseconds: minutes * 60_000,
      seed,
      log: (line) => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(7)} s  ${line}`),
    });
    if (!report(result)) process.exitCode = 1;
  } finally {
    await tidy();
  }
}

function readArguments(): { minutes: number; seed: number } {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: process.env["SOAK_MINUTES"] ?? "20" },
      seed: { type: "string", default: process.env["SOAK_SEED"] ?? String(Date.now() % 1_000_000) },
    },
  });
  const minutes = Number(values.minutes);
  const seed = Number(values.seed);
  if (!(minutes > 0)) throw new Error(`--minutes: "${values.minutes}" is not a number of minutes`);
  if (!Number.isInteger(seed)) throw new Error(`--seed: "${values.seed}" is not a whole number`);
  return { minutes, seed };
}

/** Prints what was found; false when anything is wrong. */
function report(result: SoakResult): boolean {
  const { changes, faults, disagreements, duplicates, moved, ended, growths } = result;
  console.log(`\n${changes} changes, ${faults.length} faults`);
  for (const growth of growths) {
    const { process: name, fromMiB, toMiB, seconds, isJudged } = growth;
    const percent = (100 * (toMiB / fromMiB - 1)).toFixed(1);
    const verdict = isJudged ? (hasGrown(growth) ? "too much" : "fine") : "too short to tell";
    console.log(
      `${name}: ${fromMiB.toFixed(1)} to ${toMiB.toFixed(1)} MiB in ${seconds.toFixed(0)} s, ${percent} %: ${verdict}`,
    );
  }
  const grown = growths
    .filter(hasGrown)
    .map(({ process: name }) => `${name} has grown by more than ${GROWTH_LIMIT * 100} %`);
  const findings = [...disagreements, ...duplicates, ...moved, ...ended, ...grown];
  for (const finding of findings) console.log(`✘ ${finding}`);
  console.log(findings.length === 0 ? "both clusters agree" : `${findings.length} findings`);
  return findings.length === 0;
}

try {
  await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
