import { setTimeout as delay } from "node:timers/promises";
import { agentImageRef } from "../../agent/image/build.js";
import { PodResource } from "../../agent/runtime/index.js";
import { upClusters, type ClusterSpec } from "../clusters/index.js";
import { deadPrograms, endProgram } from "../clusters/local/processes.js";
import { silent } from "../clusters/support/progress.js";
import { agentProcesses, killAll } from "../support/agent-processes.js";
import { exec } from "../support/exec.js";
import type { LabCluster } from "../support/lab.js";

/**
 * All that a crash of the machine would end. After an API server alone had ended again and again, Kubernetes' own controllers were seen to make no pods for some
 * ReplicaSets any more, for as long as it was looked at: presumably they wait for a pod that came and went while they saw nothing.
 */
const CONTROL_PLANE = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/** Of nftables, while a fault has it there. */
const TABLE = "soak";
/** Matches the link's packets only: what goes to an API server is let through. */
export const LINK = "meta l4proto udp";
export const API_PORT = 6443;

/** A cluster with what it was made from, so that what is killed of it can be started again. */
export interface SoakCluster {
  lab: LabCluster;
  spec: ClusterSpec;
}

/** Something that goes wrong for a while; resolves when it has been put right. */
export interface Fault {
  name: string;
  /** Whether processes of the agents end by it, be it that they lose a lease. */
  endsProcesses: boolean;
  happen(milliseconds: number): Promise<void>;
}

/** Every fault between a consumer and one provider. */
export function faultsBetween(consumer: SoakCluster, provider: SoakCluster): Fault[] {
  const name = provider.lab.cluster.name;
  const cut = (what: string, match: string): Fault => ({
    name: `${what} ${name}`,
    endsProcesses: false,
    happen: (milliseconds) => cutOff(consumer.lab, provider.lab, match, milliseconds),
  });
  return [
    kill(consumer.lab, "virtual-node"),
    kill(consumer.lab, "controller"),
    kill(consumer.lab, "gateway"),
    kill(provider.lab, "controller"),
    kill(provider.lab, "gateway"),
    cut("no way at all to", ""),
    cut("link down to", LINK),
    cut("API server out of reach of", `tcp dport ${API_PORT}`),
    killPrograms(provider, "control plane", CONTROL_PLANE),
    killPrograms(consumer, "control plane", CONTROL_PLANE),
    killPrograms(provider, "kubelet", [`kubelet-${provider.lab.cluster.nodes[0]?.name ?? ""}`]),
  ];
}

/** Without a chance to say goodbye. Its pod goes too: the kubelet would wait ever longer before it starts the same container again. */
function kill(lab: LabCluster, role: string): Fault {
  return {
    name: `${role} of ${lab.cluster.name} killed`,
    endsProcesses: true,
    happen: async () => {
      killAll((await agentProcesses(lab)).filter((one) => one.role === role));
      const { items } = await lab.client.list(PodResource);
      const pods = items.filter(({ spec }) =>
        spec?.containers.some(({ args = [], image }) => args[0] === role && image === agentImageRef()),
      );
      await Promise.all(pods.map(({ metadata }) => deletePod(lab, metadata?.name ?? "", metadata?.namespace)));
    },
  };
}

async function deletePod(lab: LabCluster, name: string, namespace?: string): Promise<void> {
  await lab.client.delete(PodResource, { name, namespace }, { gracePeriodSeconds: 0 });
}

function killPrograms({ lab, spec }: SoakCluster, what: string, programs: readonly string[]): Fault {
  return {
    name: `${what} of ${lab.cluster.name} killed`,
    endsProcesses: true,
    happen: async (milliseconds) => {
      for (const program of programs) endProgram(lab.cluster.name, program);
      await delay(milliseconds);
      await upClusters([spec], { progress: silent });
    },
  };
}

/** Starts what has ended by itself, as a kubelet does on other clusters: schedulers end when their cache no longer fits what an API server says after its own end. */
export async function revive({ lab, spec }: SoakCluster): Promise<void> {
  if (deadPrograms(lab.cluster.name).length > 0) await upClusters([spec], { progress: silent });
}

/** For so many milliseconds nothing that matches goes to the other cluster's nodes, or comes from there. An empty match is everything. */
export function cutOff(from: LabCluster, to: LabCluster, match: string, milliseconds: number): Promise<void> {
  return whileCutOff(from, to, match, () => delay(milliseconds));
}

/** Likewise, for as long as the work takes. */
export async function whileCutOff<T>(
  from: LabCluster,
  to: LabCluster,
  match: string,
  work: () => Promise<T>,
): Promise<T> {
  const addresses = `{ ${to.cluster.nodes.map(({ address }) => address).join(", ")} }`;
  const rules = `${match} ip daddr ${addresses} drop; ${match.replace("dport", "sport")} ip saddr ${addresses} drop;`;
  const chain = (hook: string): string => `chain ${hook} { type filter hook ${hook} priority -300; ${rules} }\n`;
  const table = `table ip ${TABLE} {\n${["input", "output", "forward"].map(chain).join("")}}\n`;
  await onNodes(from, ["-f", "-"], table);
  try {
    return await work();
  } finally {
    await onNodes(from, ["delete", "table", "ip", TABLE]);
  }
}

async function onNodes({ cluster }: LabCluster, args: string[], input?: string): Promise<void> {
  for (const { netns } of cluster.nodes)
    await exec("nsenter", [`--net=/run/netns/${netns}`, "nft", ...args], { input });
}
