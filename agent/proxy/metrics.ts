import { singleMetric, type Metric } from "../runtime/metrics.js";

/** What the proxy counts. */
export interface ProxyFigures {
  open: number;
  connected: number;
  refused: number;
  failed: number;
}

/** The proxy's figures for Prometheus. */
export function proxyMetrics(figures: () => ProxyFigures): Metric[] {
  return [
    singleMetric(
      "liqo_proxy_open_connections",
      "gauge",
      "Connections of peers to the API server.",
      () => figures().open,
    ),
    {
      name: "liqo_proxy_connections_total",
      type: "counter",
      help: "Requests for a connection: connected, refused (not to the API server), or failed (no answer from it).",
      labelNames: ["result"],
      samples: () =>
        (["connected", "refused", "failed"] as const).map((result) => ({
          labels: { result },
          value: figures()[result],
        })),
    },
  ];
}
