import { singleMetric, type Metric } from "../runtime/metrics.js";

export interface FabricSources {
  /** Links from this node to gateways. */
  links: () => number;
  passes: () => number;
  failures: () => number;
}

/** A node's figures for Prometheus. */
export function fabricMetrics({ links, passes, failures }: FabricSources): Metric[] {
  return [
    singleMetric("liqo_fabric_links", "gauge", "Links from this node to gateways.", links),
    singleMetric(
      "liqo_fabric_applied_total",
      "counter",
      "Looks at the node's network, which was brought to what it should be.",
      passes,
    ),
    singleMetric("liqo_fabric_errors_total", "counter", "Looks that failed.", failures),
  ];
}
