import type { DaemonSet, Deployment } from "kubernetes-types/apps/v1";
import type { Pod } from "kubernetes-types/core/v1";
import { ForeignClusterResource, type ForeignCluster } from "../../agent/api/index.js";
import { LabelValues, Labels } from "../../agent/api/labels.js";
import { DataKeys, Names } from "../../agent/api/names.js";
import {
  ConfigMapResource,
  DaemonSetResource,
  DeploymentResource,
  PodResource,
} from "../../agent/runtime/core-resources.js";
import type { KubeClient, ListOptions } from "../../agent/runtime/kube-client.js";
import { CLUSTER_ID } from "../preconditions/agent.js";
import type { PeeringUser } from "../preconditions/told-namespace.js";
import { ifVisible } from "../waits/index.js";
import { findInstallation, type Installation } from "../resources/agent/existing.js";
import { allocatedRanges, type AllocatedRanges } from "../resources/agent/install.js";
import { inputsOfDeployment } from "../resources/agent/read.js";
import { shownAddress } from "../resources/agent/resolve.js";
import type { ClusterInfo } from "./info-schema.js";
import { moduleHealth } from "./module-health.js";
import { asFarAsVisible, HIDDEN_IN_CLUSTER, readOwnPeer } from "./peering-user-view.js";

/** What Liqo's `info` tells (command line and status specification); of it, to a peering user, what that may see. @throws Error when the cluster has no agent */
export async function readClusterInfo(client: KubeClient, signal: AbortSignal): Promise<ClusterInfo> {
  return asFarAsVisible(client, signal, {
    everything: () => readWholeInfo(client, signal),
    toPeeringUser: (user) => readInfoAsPeeringUser(client, user, signal),
  });
}

/** @throws KubeError when the credentials may not see it all, Error when the cluster has no agent */
export async function readWholeInfo(client: KubeClient, signal: AbortSignal): Promise<ClusterInfo> {
  const present = await requireInstallation(client, signal);
  const live = present.deployment ? inputsOfDeployment(present.deployment) : {};
  const ofAgent = {
    namespace: present.namespace,
    labelSelector: `${Labels.appPartOf}=${LabelValues.partOf}`,
    signal,
  };
  const [pods, workloads, ranges, foreign, address] = await Promise.all([
    client.list(PodResource, ofAgent),
    workloadsOf(client, ofAgent),
    allocatedRanges(client, present.namespace, signal),
    client.list(ForeignClusterResource, { signal }),
    shownAddress(client, { podCIDRs: [], serviceCIDR: "", apiServerAddress: live.apiServerAddress ?? "" }, signal),
  ]);
  return {
    health: healthOf(pods.items, workloads),
    local: {
      clusterID: present.clusterId,
      version: present.version ?? "",
      labels: live.clusterLabels ?? labelsOfArguments(present.deployment),
      APIServerAddr: address,
    },
    ...rangesOf(ranges),
    peerings: { peers: foreign.items.map(summaryOf) },
  };
}

function summaryOf({ spec, status }: ForeignCluster): ClusterInfo["peerings"]["peers"][number] {
  return {
    clusterID: spec.clusterID ?? "",
    role: status?.role ?? "Unknown",
    networkingStatus: moduleHealth(status?.modules?.networking),
    authenticationStatus: moduleHealth(status?.modules?.authentication),
    offloadingStatus: moduleHealth(status?.modules?.offloading),
  };
}

function rangesOf(ranges: AllocatedRanges): Pick<ClusterInfo, "network"> {
  if (ranges.podCIDRs.length === 0) return {};
  const { podCIDRs, serviceCIDR = "", externalCIDR = "", internalCIDR = "" } = ranges;
  return { network: { podCIDRs, serviceCIDR, externalCIDR, internalCIDR } };
}

/** The cluster's ID and ranges, and the own consumer as the only peer. */
export async function readInfoAsPeeringUser(
  client: KubeClient,
  user: PeeringUser,
  signal: AbortSignal,
): Promise<ClusterInfo> {
  const namespace = user.agentNamespace ?? Names.namespace;
  const [configMaps, ranges, own] = await Promise.all([
    client.list(ConfigMapResource, { labelSelector: CLUSTER_ID, namespace, signal }),
    allocatedRanges(client, namespace, signal),
    readOwnPeer(client, user, signal),
  ]);
  const [configMap] = configMaps.items;
  if (!configMap) throw new Error(`cluster ${client.cluster} has no agent: its owner installs one with liqo.Agent`);
  return {
    health: {},
    local: {
      clusterID: configMap.data?.[DataKeys.clusterID] ?? "",
      version: configMap.metadata?.labels?.[Labels.appVersion] ?? "",
      labels: {},
      APIServerAddr: client.transport.server,
    },
    ...rangesOf(ranges),
    peerings: { peers: own ? [{ ...summaryOf(own.foreign), offloadingStatus: "Unknown" }] : [] },
    notVisible: HIDDEN_IN_CLUSTER,
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

/** What keeps pods running. */
type Workload = Deployment | DaemonSet;

/** Those of the agent that may be seen: who may read pods alone learns of those. */
async function workloadsOf(client: KubeClient, options: ListOptions): Promise<Workload[]> {
  const lists = await Promise.all([
    ifVisible(client.list<Workload>(DeploymentResource, options)),
    ifVisible(client.list<Workload>(DaemonSetResource, options)),
  ]);
  return lists.flatMap((list) => list?.items ?? []);
}

/** Judged by what should run: a workload without pods is not well, and remains of former pods beside a ready one harm nobody. */
export function healthOf(pods: Pod[], workloads: Workload[]): ClusterInfo["health"] {
  const unhealthy = pods.filter((pod) => !isReady(pod) && !isRemainder(pod, pods, workloads));
  const without = workloads.filter(
    (workload) => isWanted(workload) && !pods.some((pod) => isOf(workload, pod) && !isSucceeded(pod)),
  );
  if (unhealthy.length + without.length === 0 && pods.some(isReady)) return { healthy: true };
  const states = [
    ...unhealthy.map((pod) => [pod.metadata?.name ?? "", stateOf(pod)] as const),
    ...without.map((workload) => [workload.metadata?.name ?? "", absenceOf(workload)] as const),
  ];
  return { healthy: false, unhealthyPods: Object.fromEntries(states) };
}

function isSucceeded(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded";
}

function isRemainder(pod: Pod, pods: Pod[], workloads: Workload[]): boolean {
  if (isSucceeded(pod)) return true;
  if (pod.status?.phase !== "Failed") return false;
  return pods.some((other) => isReady(other) && isSibling(pod, other, workloads));
}

/** By the workload rather than the ReplicaSet, which is another one after an update. */
function isSibling(pod: Pod, other: Pod, workloads: Workload[]): boolean {
  const owner = pod.metadata?.ownerReferences?.[0]?.uid;
  if (owner !== undefined && other.metadata?.ownerReferences?.some(({ uid }) => uid === owner)) return true;
  return workloads.some((workload) => isOf(workload, pod) && isOf(workload, other));
}

function isOf({ metadata, spec }: Workload, pod: Pod): boolean {
  const wanted = Object.entries(spec?.selector.matchLabels ?? {});
  if (wanted.length === 0 || metadata?.namespace !== pod.metadata?.namespace) return false;
  return wanted.every(([key, value]) => pod.metadata?.labels?.[key] === value);
}

/** A DaemonSet need not run where no node is for it; a Deployment of no replicas is one that somebody turned off. */
function isWanted({ status }: Workload): boolean {
  return (status as DaemonSet["status"])?.desiredNumberScheduled !== 0;
}

function absenceOf({ spec }: Workload) {
  const isOff = spec !== undefined && "replicas" in spec && spec.replicas === 0;
  const totalContainers = spec?.template.spec?.containers.length ?? 0;
  return { status: isOff ? "ScaledToZero" : "NoPods", readyContainers: 0, totalContainers, restarts: 0 };
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
