import { parseArgs } from "node:util";
import { DEFAULT_MTU } from "./constants.js";

export interface GatewayArguments {
  name: string;
  namespace: string;
  remoteClusterID: string;
  /** UID of the GatewayServer or GatewayClient, which owns the Connection. */
  gatewayUID: string;
  mode: "server" | "client";
  mtu: number;
  /** Servers: the UDP port. */
  listenPort: number;
  /** Clients: where the server is reached, tried in turn. */
  endpointAddresses: string[];
  endpointPort: number;
  /** Forces one implementation of WireGuard. */
  implementation?: "kernel" | "userspace";
  keysFolder: string;
  /** The key Secret, watched so that new keys count at once; without it only the mounted file counts. */
  keySecret?: string;
  /** Whether there are several replicas, of which one serves. */
  leaderElection: boolean;
  podName: string;
  /** The node this gateway runs on. */
  nodeName: string;
  /** Connection check (network specification, §7), in milliseconds. */
  pingIntervalMs: number;
  pingLossThreshold: number;
  pingStatusIntervalMs: number;
}

/** Reads the gateway's command line. @throws Error naming the argument that is missing or not valid */
export function parseGatewayArguments(argv: string[], env: NodeJS.ProcessEnv = process.env): GatewayArguments {
  const text = (value: string) => ({ type: "string" as const, default: value });
  const { values } = parseArgs({
    args: argv,
    options: {
      name: text(""),
      namespace: text(""),
      "remote-cluster-id": text(""),
      "gateway-uid": text(""),
      mode: text(""),
      mtu: text(""),
      "listen-port": text("51840"),
      "endpoint-address": { type: "string", multiple: true, default: [] },
      "endpoint-addresses": text(""),
      "endpoint-port": text("51840"),
      implementation: text(""),
      "keys-folder": text("/etc/wireguard/keys"),
      "key-secret": text(""),
      "leader-election": { type: "boolean", default: false },
      "ping-interval": text("2s"),
      "ping-loss-threshold": text("5"),
      "ping-update-status-interval": text("10s"),
    },
  });
  for (const name of ["name", "namespace", "remote-cluster-id", "gateway-uid"] as const) {
    if (!values[name]) throw new Error(`--${name} is required`);
  }
  const { implementation } = values;
  if (implementation !== "" && implementation !== "kernel" && implementation !== "userspace") {
    throw new Error(`--implementation: "${implementation}" is neither kernel nor userspace`);
  }
  if (values["leader-election"] && !env["POD_NAME"]) throw new Error("--leader-election: POD_NAME is not set");
  return {
    name: values.name,
    namespace: values.namespace,
    remoteClusterID: values["remote-cluster-id"],
    gatewayUID: values["gateway-uid"],
    mode: modeOf(values.mode),
    mtu: integer("mtu", values.mtu, 0, 65_535) || DEFAULT_MTU,
    listenPort: integer("listen-port", values["listen-port"], 1, 65_535),
    endpointAddresses: [...values["endpoint-address"], ...values["endpoint-addresses"].split(",")].filter(
      (a) => a !== "",
    ),
    endpointPort: integer("endpoint-port", values["endpoint-port"], 1, 65_535),
    implementation: implementation || undefined,
    keysFolder: values["keys-folder"],
    keySecret: values["key-secret"] || undefined,
    leaderElection: values["leader-election"],
    podName: env["POD_NAME"] ?? "",
    nodeName: env["NODE_NAME"] ?? "",
    pingIntervalMs: seconds("ping-interval", values["ping-interval"]),
    pingLossThreshold: integer("ping-loss-threshold", values["ping-loss-threshold"], 1, 1000),
    pingStatusIntervalMs: seconds("ping-update-status-interval", values["ping-update-status-interval"]),
  };
}

function modeOf(value: string): "server" | "client" {
  if (value !== "server" && value !== "client") throw new Error(`--mode: "${value}" is neither server nor client`);
  return value;
}

function integer(name: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) {
    throw new Error(`--${name}: "${value}" is not a whole number from ${min} to ${max}`);
  }
  return number;
}

function seconds(name: string, value: string): number {
  const number = Number(value.replace(/s$/, ""));
  if (!Number.isFinite(number) || number <= 0) throw new Error(`--${name}: "${value}" is not a number of seconds`);
  return number * 1000;
}
