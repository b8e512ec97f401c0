import { readFileSync } from "node:fs";
import type { Metric, Sample } from "../runtime/metrics.js";
import { DROP_COUNTERS } from "./ruleset.js";

export interface GatewaySourcesOfMetrics {
  remoteClusterID: string;
  device: string;
  /** `kernel` or `userspace`; undefined until the device is there. */
  implementation: () => string | undefined;
  /** Whether this replica carries the traffic. */
  isActive: () => boolean;
  /** Latency in milliseconds. */
  connection: () => { connected: boolean; latency: number };
  /** The counters of the gateway's rules, in packets. */
  counters: () => Promise<Record<string, number>>;
}

/** Where the kernel counts what passes a device of this network namespace. */
const STATISTICS = "/sys/class/net";

/** The gateway's figures for Prometheus, under the names that tools for Liqo know (network specification, §5). */
export function gatewayMetrics(sources: GatewaySourcesOfMetrics, statistics = STATISTICS): Metric[] {
  const labels = { driver: "wireguard", cluster_id: sources.remoteClusterID };
  const ofPeer = (name: string, type: Metric["type"], help: string, read: () => number | undefined): Metric => ({
    name,
    type,
    help,
    labelNames: Object.keys(labels),
    samples: () => sampleOf(labels, read()),
  });
  const counted = (what: string) => () => readNumber(`${statistics}/${sources.device}/statistics/${what}`);
  return [
    ofPeer("liqo_peer_is_connected", "gauge", "Whether the other gateway answers.", () =>
      Number(sources.connection().connected),
    ),
    ofPeer("liqo_peer_latency_us", "gauge", "Round-trip time to the other gateway, in microseconds.", () => {
      const { connected, latency } = sources.connection();
      return connected ? latency * 1000 : undefined;
    }),
    ofPeer("liqo_peer_receive_bytes_total", "counter", "Bytes received through the tunnel.", counted("rx_bytes")),
    ofPeer("liqo_peer_transmit_bytes_total", "counter", "Bytes sent through the tunnel.", counted("tx_bytes")),
    ofPeer(
      "liqo_peer_receive_drops_total",
      "counter",
      "Packets from the tunnel that were dropped.",
      counted("rx_dropped"),
    ),
    ofPeer(
      "liqo_peer_transmit_drops_total",
      "counter",
      "Packets to the tunnel that were dropped.",
      counted("tx_dropped"),
    ),
    {
      name: "liqo_gateway_dropped_packets_total",
      type: "counter",
      help: "Packets that the gateway's guard refused: from the peer, and (link-access) from pods that send as nodes do.",
      labelNames: ["cluster_id", "reason"],
      samples: () => dropSamples(sources),
    },
    ofPeer("liqo_gateway_is_active", "gauge", "Whether this replica carries the traffic.", () =>
      Number(sources.isActive()),
    ),
    {
      name: "liqo_wireguard_implementation",
      type: "gauge",
      help: "What makes the tunnel: kernel or userspace.",
      labelNames: ["implementation"],
      samples: () => implementationSample(sources.implementation()),
    },
  ];
}

function sampleOf(labels: Record<string, string>, value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ labels, value }];
}

function implementationSample(implementation: string | undefined): Sample[] {
  return implementation ? [{ labels: { implementation }, value: 1 }] : [];
}

/** None where the rules cannot be read: the other figures are told all the same. */
async function dropSamples({ remoteClusterID, counters }: GatewaySourcesOfMetrics): Promise<Sample[]> {
  const counts = await counters().catch((): Record<string, number> => ({}));
  return DROP_COUNTERS.flatMap((reason) => sampleOf({ cluster_id: remoteClusterID, reason }, counts[reason]));
}

/** Undefined while there is no device. */
function readNumber(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
