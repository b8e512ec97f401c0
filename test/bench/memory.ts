import { agentProcesses } from "../support/agent-processes.js";
import type { LabCluster } from "../support/lab.js";
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

async function residentMiBByRole(lab: LabCluster): Promise<Map<string, number>> {
  const roles = new Map<string, number>();
  for (const { role, residentKiB } of await agentProcesses(lab))
    roles.set(role, (roles.get(role) ?? 0) + residentKiB / 1024);
  return roles;
}
