import { readdir } from "node:fs/promises";
import type { LabCluster } from "../support/lab.js";
import { text } from "./pod-processes.js";
import { figure, type Result } from "./result.js";

/** Resident memory of the agents' processes, by role; only where the nodes' processes are this machine's own (local backend). */
export async function benchMemory(consumer: LabCluster, provider: LabCluster): Promise<Result[]> {
  const results: Result[] = [];
  for (const [side, lab] of [
    ["consumer", consumer],
    ["provider", provider],
  ] as const) {
    const roles = await residentMiBByRole(lab);
    for (const [role, mebibytes] of roles) results.push(figure(`memory of the ${side}'s ${role}`, mebibytes, "MiB"));
    const total = [...roles.values()].reduce((sum, value) => sum + value, 0);
    if (roles.size > 0) results.push(figure(`memory of the ${side}'s agent, all roles`, total, "MiB"));
  }
  return results;
}

/** Sums up processes whose command line is "node …agent.cjs ROLE" inside the cluster's network namespaces' cgroups. */
async function residentMiBByRole(lab: LabCluster): Promise<Map<string, number>> {
  const nodes = new Set(lab.cluster.nodes.map(({ name }) => name));
  const roles = new Map<string, number>();
  for (const pid of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const role = /agent\.cjs\0([a-z-]+)/.exec(await text(`/proc/${pid}/cmdline`))?.[1];
    const cgroup = await text(`/proc/${pid}/cgroup`);
    if (!role || ![...nodes].some((node) => cgroup.includes(node))) continue;
    const kibibytes = Number(/VmRSS:\s+(\d+)/.exec(await text(`/proc/${pid}/status`))?.[1] ?? 0);
    roles.set(role, (roles.get(role) ?? 0) + kibibytes / 1024);
  }
  return roles;
}
