import type http from "node:http";
import type { Registry } from "prom-client";
import { messageOf } from "./kube-error.js";

/** One value of a figure, with the labels that tell it from others. */
export interface Sample {
  value: number;
  labels?: Record<string, string>;
}

/** A figure of a role for Prometheus; read when it is asked for, so that it costs nothing otherwise. */
export interface Metric {
  name: string;
  help: string;
  type: "counter" | "gauge";
  labelNames?: readonly string[];
  samples: () => Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** A figure of one value. */
export function singleMetric(name: string, type: Metric["type"], help: string, value: () => number): Metric {
  return { name, type, help, samples: () => [{ value: value() }] };
}

/** What every process tells of itself, under the names that all of Prometheus' libraries use. */
export function processMetrics(): Metric[] {
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  return [
    singleMetric("process_cpu_seconds_total", "counter", "Processor time of the process, in seconds.", () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    singleMetric("process_resident_memory_bytes", "gauge", "Memory of the process, in bytes.", () =>
      process.memoryUsage.rss(),
    ),
    singleMetric(
      "process_start_time_seconds",
      "gauge",
      "When the process began, in seconds since 1970.",
      () => startedAt,
    ),
  ];
}

/**
 * Answers requests for `/metrics`. The library is loaded by the first of them: most small processes are never asked. Requests at the same time share one look:
 * whoever asks without end, which needs no credentials, has no more than one program run at a time.
 */
export class MetricsAnswer {
  private registry?: Promise<Registry>;
  private look?: Promise<string>;

  constructor(private readonly metrics: readonly Metric[]) {}

  async to(response: http.ServerResponse): Promise<void> {
    this.registry ??= registryOf(this.metrics);
    const registry = await this.registry;
    await answerMetrics({ contentType: registry.contentType, metrics: () => this.shared(registry) }, response);
  }

  private shared(registry: Registry): Promise<string> {
    this.look ??= registry.metrics().finally(() => (this.look = undefined));
    return this.look;
  }
}

async function registryOf(metrics: readonly Metric[]): Promise<Registry> {
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  for (const metric of metrics) {
    const { name, help, type, labelNames = [] } = metric;
    const common = { name, help, labelNames, registers: [registry] };
    if (type === "gauge") new Gauge({ ...common, collect: setAll });
    else new Counter({ ...common, collect: addAll });

    async function setAll(this: InstanceType<typeof Gauge>): Promise<void> {
      const samples = await metric.samples();
      this.reset();
      for (const { labels = {}, value } of samples) this.set(labels, value);
    }
    async function addAll(this: InstanceType<typeof Counter>): Promise<void> {
      const samples = await metric.samples();
      // The role counts; what the library has is of the scrape before.
      this.reset();
      for (const { labels = {}, value } of samples) this.inc(labels, value);
    }
  }
  return registry;
}

/** Everything that a registry has, in Prometheus' text form. */
export async function answerMetrics(
  registry: Pick<Registry, "metrics" | "contentType">,
  response: http.ServerResponse,
): Promise<void> {
  try {
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType }).end(text);
  } catch (error) {
    response.writeHead(500, { "content-type": "text/plain" }).end(`${messageOf(error)}\n`);
  }
}
