import { agentProcesses } from "../support/agent-processes.js";
import type { LabCluster } from "../support/lab.js";
import { TICKS_PER_SECOND, processorSeconds, text } from "./pod-processes.js";
import { figure, median, type Result } from "./result.js";

/** Seconds of processors at work: all of this machine's, and of that the virtual nodes' of one cluster. */
export interface ProcessorTime {
  machine: number;
  virtualNodes: number;
}

/** What comes of some work, and what processors have done meanwhile. */
export async function withProcessorTime<T>(
  consumer: LabCluster,
  work: () => Promise<T>,
): Promise<{ outcome: T; time: ProcessorTime }> {
  const virtualNodes = (await agentProcesses(consumer)).filter(({ role }) => role === "virtual-node");
  const now = async (): Promise<ProcessorTime> => ({
    machine: await busySeconds(),
    virtualNodes: await processorSeconds(virtualNodes.map(({ pid }) => pid)),
  });
  const before = await now();
  const outcome = await work();
  const after = await now();
  const time = { machine: after.machine - before.machine, virtualNodes: after.virtualNodes - before.virtualNodes };
  return { outcome, time };
}

/** Of several rounds, each figure's middle. */
export function middleTime(times: readonly ProcessorTime[]): ProcessorTime {
  return {
    machine: median(times.map(({ machine }) => machine)),
    virtualNodes: median(times.map(({ virtualNodes }) => virtualNodes)),
  };
}

/** Where the two cores of a machine are the bound, this tells what the second control plane takes, and what the virtual node itself. */
export function processorFigures(what: string, native: ProcessorTime, virtual: ProcessorTime): Result[] {
  return [
    figure(`${what}, processor time, on the provider itself`, native.machine, "s"),
    figure(`${what}, processor time, through the virtual node`, virtual.machine, "s"),
    figure(`${what}, of which the virtual node's own`, virtual.virtualNodes, "s"),
  ];
}

/** User, nice, system and both kinds of interrupts. */
async function busySeconds(): Promise<number> {
  const [, user, nice, system, , , irq, softirq] = (await text("/proc/stat")).split(/\s+/).map(Number);
  return [user, nice, system, irq, softirq].reduce<number>((sum, ticks = 0) => sum + ticks, 0) / TICKS_PER_SECOND;
}
