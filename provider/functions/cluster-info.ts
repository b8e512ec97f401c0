import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod } from "kubernetes-types/core/v1";
import { ForeignClusterResource } from "../../agent/api/index.js";
import { LabelValues, Labels } from "../../agent/api/labels.js";
import { PodResource } from "../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../agent/runtime/kube-client.js";
import { findInstallation, type Installation } from "../resources/agent/existing.js";
import { allocatedRanges } from "../resources/agent/install.js";
import { inputsOfDeployment } from "../resources/agent/read.js";
import { shownAddress } from "../resources/agent/resolve.js";
import type { ClusterInfo } from "./info-schema.js";
import { moduleHealth } from "./module-health.js";

/** What Liqo's `info` tells (command line and status specification). @throws Error when the cluster has no agent */
export async function readClusterInfo(client: KubeClient, signal: AbortSignal): Promise<ClusterInfo> {
  const present = await requireInstallation(client, signal);
  const live = present.deployment ? inputsOfDeployment(present.deployment) : {};
  const [pods, ranges, foreign, address] = await Promise.all([
    client.list(PodResource, {
      namespace: present.namespace,
      labelSelector: `${Labels.appPartOf}=${LabelValues.partOf}`,
      signal,
    }),
    allocatedRanges(client, present.namespace, signal),
    client.list(ForeignClusterResource, { signal }),
    shownAddress(client, { podCIDRs: [], serviceCIDR: "", apiServerAddress: live.apiServerAddress ?? "" }, signal),
  ]);
  const peers = foreign.items.map(({ spec, status }) => ({
    clusterID: spec.clusterID ?? "",
    role: status?.role ?? "Unknown",
    networkingStatus: moduleHealth(status?.modules?.networking),
    authenticationStatus: moduleHealth(status?.modules?.authentication),
    offloadingStatus: moduleHealth(status?.modules?.offloading),
  }));
  return {
    health: healthOf(pods.items),
    local: {
      clusterID: present.clusterId,
      version: present.version ?? "",
      labels: live.clusterLabels ?? labelsOfArguments(present.deployment),
      APIServerAddr: address,
    },
    ...(ranges.podCIDRs.length > 0
      ? {
          network: {
            podCIDRs: ranges.podCIDRs,
            serviceCIDR: ranges.serviceCIDR ?? "",
            externalCIDR: ranges.externalCIDR ?? "",
            internalCIDR: ranges.internalCIDR ?? "",
          },
        }
      : {}),
    peerings: { peers },
  };
}

export async function requireInstallation(client: KubeClient, signal: AbortSignal): Promise<Installation> {
  const present = await findInstallation(client, signal);
  if (!present) throw new Error(`cluster ${client.cluster} has no agent: install one with liqo.Agent`);
  return present;
}

/** Liqo's own controller has other arguments, but this one in common. */
function labelsOfArguments(deployment: Deployment | undefined): Record<string, string> {
  const args = deployment?.spec?.template.spec?.containers.flatMap((container) => container.args ?? []) ?? [];
  const text = args.find((arg) => arg.startsWith("--cluster-labels="))?.slice("--cluster-labels=".length) ?? "";
  return Object.fromEntries(
    text
      .split(",")
      .filter((pair) => pair.includes("="))
      .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
}

export function healthOf(pods: Pod[]): ClusterInfo["health"] {
  const unhealthy = pods.filter((pod) => pod.status?.phase !== "Succeeded" && !isReady(pod));
  if (unhealthy.length === 0) return { healthy: true };
  const states = unhealthy.map((pod) => [pod.metadata?.name ?? "", stateOf(pod)] as const);
  return { healthy: false, unhealthyPods: Object.fromEntries(states) };
}

function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function stateOf(pod: Pod) {
  const containers = pod.status?.containerStatuses ?? [];
  return {
    status: pod.status?.phase ?? "Unknown",
    readyContainers: containers.filter(({ ready }) => ready).length,
    totalContainers: pod.spec?.containers.length ?? containers.length,
    restarts: containers.reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0),
  };
}
