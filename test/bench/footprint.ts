import { LabelValues, Labels } from "../../agent/api/index.js";
import { PodResource } from "../../agent/runtime/index.js";
import type { LabCluster } from "../support/lab.js";
import { processesOf, processorSeconds, proportionalMiB } from "./pod-processes.js";
import { atMost, type Result } from "./result.js";

const IDLE_SECONDS = 60;

interface Role {
  name: string;
  selector: Record<string, string>;
  mebibytes: number;
  /** Percent of a core. */
  cpu?: number;
}

const ROLES: readonly Role[] = [
  {
    name: "gateway pod",
    selector: { [Labels.networkingComponent]: LabelValues.gatewayComponent },
    mebibytes: 60,
    cpu: 0.5,
  },
  { name: "fabric pod", selector: { [Labels.appName]: "fabric" }, mebibytes: 50 },
  {
    name: "virtual node's pod",
    selector: { [Labels.offloadingComponent]: LabelValues.virtualKubeletComponent },
    mebibytes: 80,
    cpu: 0.5,
  },
];

/**
 * What the pods of a peering take while nothing passes: memory as the sum of their processes' proportional shares, wireguard-go included, and
 * processor time over a minute, with that of the programs they call. Only where the nodes' processes are this machine's own (local backend).
 */
export async function benchFootprint(consumer: LabCluster, provider: LabCluster): Promise<Result[]> {
  const sides = [
    ["consumer", consumer],
    ["provider", provider],
  ] as const;
  const measured = await Promise.all(
    sides.flatMap(([side, lab]) => ROLES.map((role) => footprint(lab, role, `the ${side}'s ${role.name} at idle`))),
  );
  return measured.flat();
}

async function footprint(lab: LabCluster, { selector, mebibytes, cpu }: Role, what: string): Promise<Result[]> {
  const [pod] = (await lab.client.list(PodResource, { labelSelector: selector })).items;
  const processes = await processesOf(pod?.metadata?.uid ?? "(none)");
  if (processes.length === 0) return [];
  const before = await processorSeconds(processes);
  await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000));
  const percent = (((await processorSeconds(processes)) - before) / IDLE_SECONDS) * 100;
  return [
    atMost(`memory of ${what}`, await proportionalMiB(processes), "MiB", mebibytes),
    ...(cpu === undefined ? [] : [atMost(`processor time of ${what}`, percent, "% of a core", cpu)]),
  ];
}
