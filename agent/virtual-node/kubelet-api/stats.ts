import type { Pod } from "kubernetes-types/core/v1";
import { quantityToNumber } from "../../api/index.js";
import { kubeTime } from "../../runtime/index.js";

/** What `metrics.k8s.io` tells of a pod; the runtime has no type for it. */
export interface PodMetrics {
  metadata: { name: string; namespace: string };
  containers: { name: string; usage: { cpu: string; memory: string } }[];
}

/** Usage of one container, in cores and bytes. */
export interface ContainerUsage {
  name: string;
  cpu: number;
  memory: number;
}

/** A local pod with what it uses at the provider. */
export interface PodUsage {
  pod: Pod;
  containers: ContainerUsage[];
}

/** What was collected of all pods of the node. */
export interface CollectedUsages {
  usages: PodUsage[];
  /** The provider could not be asked for some of them. */
  failed: boolean;
  /** When, in milliseconds since the epoch. */
  at: number;
}

/** Joins local pods with the provider's metrics; a pod without any is left out. */
export function podUsages(pods: Pod[], metrics: PodMetrics[]): PodUsage[] {
  const byName = new Map(metrics.map((entry) => [entry.metadata.name, entry]));
  return pods.flatMap((pod) => {
    const entry = byName.get(pod.metadata?.name ?? "");
    if (!entry) return [];
    const containers = entry.containers.map(({ name, usage }) => ({
      name,
      cpu: quantityToNumber(usage.cpu),
      memory: quantityToNumber(usage.memory),
    }));
    return { pod, containers };
  });
}

/** `/stats/summary` (offloading specification, §7.7). */
export function statsSummary(nodeName: string, { usages, at }: Omit<CollectedUsages, "failed">): object {
  const time = kubeTime(new Date(at));
  const usage = (containers: ContainerUsage[]): object => {
    const cpu = containers.reduce((sum, container) => sum + container.cpu, 0);
    const memory = Math.round(containers.reduce((sum, container) => sum + container.memory, 0));
    return {
      cpu: { time, usageNanoCores: Math.round(cpu * 1e9) },
      memory: { time, usageBytes: memory, workingSetBytes: memory },
    };
  };
  return {
    node: { nodeName, startTime: time, ...usage(usages.flatMap(({ containers }) => containers)) },
    pods: usages.map(({ pod, containers }) => ({
      podRef: { name: pod.metadata?.name, namespace: pod.metadata?.namespace, uid: pod.metadata?.uid },
      startTime: pod.status?.startTime ?? time,
      containers: containers.map((container) => ({
        name: container.name,
        startTime: startOf(pod, container.name) ?? time,
        ...usage([container]),
      })),
      ...usage(containers),
    })),
  };
}

/** metrics-server takes a counter that stands at zero for one that is missing: whatever has started has used some time. */
const LEAST_SECONDS = 0.001;

/** The counter of all of the node's pods. */
const OF_NODE = "node";

/**
 * `/metrics/resource` wants counters of cpu time, the provider tells rates: the rates are added up over the time between
 * collections, which gives readers the same rates back.
 */
export class CpuCounters {
  private counters = new Map<string, number>();
  private advancedAt = 0;

  /** To be called once with each collection. Of what is not in it any more, the counter is forgotten; what is new begins. */
  advance({ usages, at }: Omit<CollectedUsages, "failed">): void {
    const seconds = Math.max(0, at - this.advancedAt) / 1000;
    const next = new Map<string, number>();
    const add = (key: string, cores: number): void => {
      const present = this.counters.get(key);
      next.set(key, present === undefined ? 0 : present + cores * seconds);
    };
    for (const { pod, containers } of usages) {
      for (const container of containers) add(containerKey(pod, container.name), container.cpu);
      add(podKey(pod), coresOf([{ pod, containers }]));
    }
    add(OF_NODE, coresOf(usages));
    this.counters = next;
    this.advancedAt = at;
  }

  /** Seconds of cpu time so far. */
  of(key: string): number {
    return Math.max(LEAST_SECONDS, this.counters.get(key) ?? 0);
  }
}

function coresOf(usages: readonly PodUsage[]): number {
  return usages.flatMap(({ containers }) => containers).reduce((sum, { cpu }) => sum + cpu, 0);
}

function podKey({ metadata }: Pod): string {
  return `${metadata?.uid}`;
}

/** Of one run of it: what begins again counts from nothing. */
function containerKey(pod: Pod, container: string): string {
  return `${podKey(pod)}/${container}/${startOf(pod, container)}`;
}

/** The text of `/metrics/resource`, with the counters as the collection has left them. */
export function resourceMetrics({ usages, failed, at }: CollectedUsages, counters: CpuCounters): string {
  const lines: Record<string, string[]> = {};
  const add = (name: string, labels: Record<string, string | undefined>, value: number, timed = true): void => {
    const text = Object.entries(labels).map(([key, label]) => `${key}="${label ?? ""}"`);
    const series = text.length > 0 ? `${name}{${text.join(",")}}` : name;
    (lines[name] ??= []).push(`${series} ${value}${timed ? ` ${at}` : ""}`);
  };
  let nodeMemory = 0;
  for (const { pod, containers } of usages) {
    const { name, namespace } = pod.metadata ?? {};
    let podMemory = 0;
    for (const container of containers) {
      const labels = { container: container.name, namespace, pod: name };
      const started = startOf(pod, container.name);
      add("container_cpu_usage_seconds_total", labels, counters.of(containerKey(pod, container.name)));
      add("container_memory_working_set_bytes", labels, container.memory);
      if (started) add("container_start_time_seconds", labels, Date.parse(started) / 1000, false);
      podMemory += container.memory;
    }
    add("pod_cpu_usage_seconds_total", { namespace, pod: name }, counters.of(podKey(pod)));
    add("pod_memory_working_set_bytes", { namespace, pod: name }, podMemory);
    nodeMemory += podMemory;
  }
  add("node_cpu_usage_seconds_total", {}, counters.of(OF_NODE));
  // Nor does it take zero bytes, as of a node without pods.
  add("node_memory_working_set_bytes", {}, Math.max(1, nodeMemory));
  add("scrape_error", {}, failed ? 1 : 0, false);
  add("resource_scrape_error", {}, failed ? 1 : 0, false);
  return Object.entries(lines)
    .map(([name, series]) => `# TYPE ${name} ${name.endsWith("_total") ? "counter" : "gauge"}\n${series.join("\n")}\n`)
    .join("");
}

function startOf(pod: Pod, container: string): string | undefined {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.find(({ name }) => name === container)?.state?.running?.startedAt;
}
