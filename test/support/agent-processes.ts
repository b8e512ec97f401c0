import { readdir, readFile } from "node:fs/promises";
import { end, identify } from "../clusters/support/processes.js";
import type { LabCluster } from "./lab.js";

/** A process of an agent, where the nodes' processes are this machine's own (local backend). */
export interface AgentProcess {
  pid: number;
  /** controller, gateway, fabric, proxy, virtual-node. */
  role: string;
  residentKiB: number;
  /** Of the pod that it is in; "" where its control group does not tell. */
  podUid: string;
}

/** A cluster's agent processes: those whose command line is "node …agent.cjs ROLE" in its nodes' control groups. */
export async function agentProcesses({ cluster }: LabCluster): Promise<AgentProcess[]> {
  const nodes = cluster.nodes.map(({ name }) => name);
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const found = await Promise.all(pids.map((pid) => agentProcess(pid, nodes)));
  return found.flatMap((one) => one ?? []);
}

/** Ends them without a chance to say goodbye; one may have ended by itself since it was found. */
export function killAll(processes: readonly AgentProcess[]): void {
  for (const { pid } of processes) {
    const running = identify(pid);
    if (running) end(running);
  }
}

async function agentProcess(pid: string, nodes: string[]): Promise<AgentProcess | undefined> {
  const role = /agent\.cjs\0([a-z-]+)/.exec(await text(`/proc/${pid}/cmdline`))?.[1];
  if (!role) return undefined;
  const groups = await text(`/proc/${pid}/cgroup`);
  const names = groups.split(/[/\n]/);
  if (!nodes.some((node) => names.includes(`plq-${node}`))) return undefined;
  const residentKiB = Number(/VmRSS:\s+(\d+)/.exec(await text(`/proc/${pid}/status`))?.[1] ?? 0);
  return { pid: Number(pid), role, residentKiB, podUid: podUidOf(groups) };
}

/** The UID of the pod that a process is in, by the text of its control groups; "" outside pods. */
export function podUidOf(groups: string): string {
  return /\/pod([0-9a-f-]{36})/.exec(groups)?.[1] ?? "";
}

/** Empty for what has gone meanwhile. */
function text(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}
