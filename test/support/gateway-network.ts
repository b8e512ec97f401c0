import { LabelValues, Labels } from "../../agent/api/index.js";
import { TUNNEL_DEVICE } from "../../agent/gateway/constants.js";
import { commandRunner, NftablesTable, type Run } from "../../agent/net/index.js";
import { PodResource } from "../../agent/runtime/index.js";
import { processesOf } from "../bench/pod-processes.js";
import type { LabCluster } from "./lab.js";

/** Sends a datagram from its first argument to each of the others. */
const SEND = `
const socket = require("node:dgram").createSocket("udp4");
const [, from, ...to] = process.argv;
socket.bind(0, from, async () => {
  for (const one of to) await new Promise((resolve) => socket.send("x", 9, one, resolve));
  process.exit();
});`;

/** Of a table that nothing else in a gateway's network has. */
const ROUTES = 5;

/** The network of the gateway's pod of one link, seen and used from outside; where the nodes' processes are this machine's own (local backend). */
export class GatewayNetwork {
  private constructor(private readonly run: Run) {}

  /** @throws Error when there is no such gateway */
  static async of({ client, cluster }: LabCluster, remoteClusterID: string): Promise<GatewayNetwork> {
    const labelSelector = {
      [Labels.networkingComponent]: LabelValues.gatewayComponent,
      [Labels.remoteClusterID]: remoteClusterID,
    };
    const [pod] = (await client.list(PodResource, { labelSelector })).items;
    const [process] = await processesOf(pod?.metadata?.uid ?? "(none)");
    if (process === undefined) throw new Error(`cluster ${cluster.name}: no gateway to ${remoteClusterID} runs here`);
    return new GatewayNetwork(commandRunner(["nsenter", `--net=/proc/${process}/ns/net`]));
  }

  /** What its guard has counted since its rules were last written, in packets. */
  counters(): Promise<Record<string, number>> {
    return new NftablesTable(this.run).counters();
  }

  /** Sends a datagram from any address to each of the others into the tunnel, as a gateway would of which somebody else is in command. */
  async send(from: string, to: readonly string[]): Promise<void> {
    const ip = (...args: string[]): Promise<string> => this.run("ip", args);
    await ip("address", "add", `${from}/32`, "dev", "lo");
    await ip("route", "replace", "default", "dev", TUNNEL_DEVICE, "table", String(ROUTES));
    await ip("rule", "add", "priority", "4", "from", from, "lookup", String(ROUTES));
    try {
      await this.run(process.execPath, ["--eval", SEND, from, ...to]);
    } finally {
      await ip("rule", "del", "priority", "4");
      await ip("route", "flush", "table", String(ROUTES));
      await ip("address", "del", `${from}/32`, "dev", "lo");
    }
  }
}
