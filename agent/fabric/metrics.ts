import type { Metric } from "../runtime/metrics.js";

export interface FabricSources {
  /** Links from this node to gateways. */
  links: () => number;
  passes: () => number;
  failures: () => number;
}

/** A node's figures for Prometheus. */
export function fabricMetrics({ links, passes, failures }: FabricSources): Metric[] {
  return [
    {
      name: "liqo_fabric_links",
      type: "gauge",
      help: "Links from this node to gateways.",
      samples: () => [{ value: links() }],
    },
    {
      name: "liqo_fabric_applied_total",
      type: "counter",
      help: "Looks at the node's network, which was brought to what it should be.",
      samples: () => [{ value: passes() }],
    },
    {
      name: "liqo_fabric_errors_total",
      type: "counter",
      help: "Looks that failed.",
      samples: () => [{ value: failures() }],
    },
  ];
}
