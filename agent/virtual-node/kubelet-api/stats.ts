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
export function statsSummary(nodeName: string, usages: PodUsage[], now = new Date()): object {
  const time = kubeTime(now);
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

/**
 * `/metrics/resource` wants counters of cpu time, the provider tells rates: the rates are added up over the time between
 * looks, which gives readers the same rates back.
 */
export class CpuCounters {
  private readonly counters = new Map<string, { seconds: number; at: number }>();

  /** Seconds of cpu time so far. */
  advance(key: string, cores: number, now: number): number {
    const present = this.counters.get(key);
    const seconds = present ? present.seconds + (cores * Math.max(0, now - present.at)) / 1000 : 0;
    this.counters.set(key, { seconds, at: now });
    return Math.max(LEAST_SECONDS, seconds);
  }

  /** Forgets all that was not advanced at that time. */
  keepOnly(now: number): void {
    for (const [key, { at }] of this.counters) if (at !== now) this.counters.delete(key);
  }
}

/** The text of `/metrics/resource`. */
export function resourceMetrics(usages: PodUsage[], counters: CpuCounters, failed: boolean, now = Date.now()): string {
  const lines: Record<string, string[]> = {};
  const add = (name: string, labels: Record<string, string | undefined>, value: number, timed = true): void => {
    const text = Object.entries(labels).map(([key, label]) => `${key}="${label ?? ""}"`);
    const series = text.length > 0 ? `${name}{${text.join(",")}}` : name;
    (lines[name] ??= []).push(`${series} ${value}${timed ? ` ${now}` : ""}`);
  };
  let nodeCpu = 0;
  let nodeMemory = 0;
  for (const { pod, containers } of usages) {
    const { name, namespace, uid } = pod.metadata ?? {};
    let podCpu = 0;
    let podMemory = 0;
    for (const container of containers) {
      const labels = { container: container.name, namespace, pod: name };
      const started = startOf(pod, container.name);
      const cpu = counters.advance(`${uid}/${container.name}/${started}`, container.cpu, now);
      add("container_cpu_usage_seconds_total", labels, cpu);
      add("container_memory_working_set_bytes", labels, container.memory);
      if (started) add("container_start_time_seconds", labels, Date.parse(started) / 1000, false);
      podCpu += container.cpu;
      podMemory += container.memory;
    }
    add("pod_cpu_usage_seconds_total", { namespace, pod: name }, counters.advance(`${uid}`, podCpu, now));
    add("pod_memory_working_set_bytes", { namespace, pod: name }, podMemory);
    nodeCpu += podCpu;
    nodeMemory += podMemory;
  }
  add("node_cpu_usage_seconds_total", {}, counters.advance("node", nodeCpu, now));
  // Nor does it take zero bytes, as of a node without pods.
  add("node_memory_working_set_bytes", {}, Math.max(1, nodeMemory));
  add("scrape_error", {}, failed ? 1 : 0, false);
  add("resource_scrape_error", {}, failed ? 1 : 0, false);
  counters.keepOnly(now);
  return Object.entries(lines)
    .map(([name, series]) => `# TYPE ${name} ${name.endsWith("_total") ? "counter" : "gauge"}\n${series.join("\n")}\n`)
    .join("");
}

function startOf(pod: Pod, container: string): string | undefined {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.find(({ name }) => name === container)?.state?.running?.startedAt;
}
