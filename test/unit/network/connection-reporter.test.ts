import { expect } from "chai";
import { pino } from "pino";
import type { Connection } from "../../../agent/api/index.js";
import type { GatewayArguments } from "../../../agent/gateway/arguments.js";
import { ConnectionReporter } from "../../../agent/gateway/connection-reporter.js";
import { KubeError, type KubeClient } from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";

const ARGUMENTS = {
  name: "b",
  namespace: "liqo-tenant-b",
  gatewayUID: "1",
  mode: "client",
  remoteClusterID: "b",
  mtu: 1340,
  pingStatusIntervalMs: 10_000,
} as GatewayArguments;

/** The Connection as it is in the cluster, and each value that its status has had. */
class Cluster {
  connection?: Connection;
  readonly values: (string | undefined)[] = [];
  /** Those of them that were written for others to see that the gateway lives. */
  readonly heartbeats: (string | undefined)[] = [];
  /** While it is away, writes fail when they are released. */
  away?: Promise<void>;
  failure = new Error("the API server did not answer");
  writes = 0;

  /** A gateway's process that begins to report. */
  process(): ConnectionReporter {
    const client = {
      create: (_type: unknown, connection: Connection) => Promise.resolve((this.connection = connection)),
      mergePatch: async (
        _type: unknown,
        _id: unknown,
        { status }: Connection,
        { isHeartbeat }: { isHeartbeat?: boolean },
      ) => {
        this.writes += 1;
        if (this.away) {
          await this.away;
          throw this.failure;
        }
        this.connection = { ...this.connection!, status: { ...this.connection?.status, ...status } };
        this.values.push(status?.value);
        if (isHeartbeat) this.heartbeats.push(status?.value);
        return this.connection;
      },
    } as unknown as KubeClient;
    return new ConnectionReporter(
      client,
      ARGUMENTS,
      () => this.connection,
      () => undefined,
      pino({ level: "silent" }),
    );
  }
}

describe("what a gateway says of its connection", () => {
  const connected = { connected: true, latency: 1 };
  let cluster: Cluster;
  let former: ConnectionReporter;

  beforeEach(async () => {
    cluster = new Cluster();
    former = cluster.process();
    await former.ensure("userspace");
    former.report(connected);
  });

  it("is written in the end, though the write was lost and the tunnel has nothing new to tell", async () => {
    let fail = (): void => undefined;
    cluster.away = new Promise((resolve) => (fail = resolve));
    former.reportSilence("no answer");
    // While that write is under way.
    former.report({ connected: false, latency: 0 });
    fail();
    await cluster.away;
    expect(cluster.connection?.status?.value).to.equal("Connected");
    cluster.away = undefined;
    await until("the lost value", 5_000, () =>
      Promise.resolve(cluster.connection?.status?.value === "Error" || undefined),
    );
    expect(cluster.connection?.status?.message).to.equal("no answer");
  });

  it("is left to the other replica by one that yields, also what it could not write", async () => {
    cluster.away = Promise.resolve();
    former.report({ connected: false, latency: 0 });
    await new Promise((resolve) => setImmediate(resolve));
    former.yield();
    cluster.away = undefined;
    const before = [...cluster.values];
    // Longer than it would have waited for the next try.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(cluster.values).to.deep.equal(before);
  });

  it("is not tried again where there is no Connection to tell it", async () => {
    cluster.away = Promise.resolve();
    cluster.failure = new KubeError("not found", 404, "NotFound", "test");
    const before = cluster.writes;
    former.report({ connected: false, latency: 0 });
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(cluster.writes).to.equal(before + 1);
  });

  it("is told anew by the process that follows: a tunnel ends with the one that made it", async () => {
    expect(cluster.values).to.deep.equal(["Connecting", "Connected"]);
    const next = cluster.process();
    await next.begin();
    expect(cluster.connection?.status?.value).to.equal("Connecting");
    next.report(connected);
    expect(cluster.values.slice(2)).to.deep.equal(["Connecting", "Connected"]);
  });

  it("is told anew by a replica that takes over, also one that has served before", async () => {
    const standby = cluster.process();
    former.yield();
    await standby.ensure("userspace");
    standby.report(connected);
    standby.yield();
    await former.ensure("userspace");
    expect(cluster.values.slice(2)).to.deep.equal(["Connecting", "Connected", "Connecting"]);
  });

  it("is no news while only the latency is another, and news for whoever has not said it", async () => {
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    await settle();
    former.expectNews();
    former.report({ ...connected, latency: 2 });
    await settle();
    expect(cluster.values).to.deep.equal(["Connecting", "Connected", "Connected"]);
    expect(cluster.heartbeats).to.deep.equal(["Connected"]);
    former.yield();
    await former.ensure("userspace");
    former.report(connected);
    await settle();
    expect(cluster.values.slice(3)).to.deep.equal(["Connecting", "Connected"]);
    expect(cluster.heartbeats).to.deep.equal(["Connected"]);
  });

  it("is no longer that it is connected once there is no peer, with the reason, until there is one again", async () => {
    const reason = "there is no PublicKey";
    for (let pass = 0; pass < 2; pass++) await former.stand({ reason, isPeerKnown: false });
    expect(cluster.connection?.status).to.include({ value: "Connecting", message: reason });
    expect(cluster.values).to.have.length(3);
    await former.ensure("userspace");
    expect(cluster.connection?.status?.message).to.equal(null);
    former.report(connected);
    for (let pass = 0; pass < 2; pass++) await former.ensure("userspace");
    expect(cluster.connection?.status).to.include({ value: "Connected", message: null });
    expect(cluster.values).to.have.length(5);
  });

  it("names what stands in the way of a first connection to a peer that is known, and is silent before", async () => {
    cluster.connection = undefined;
    const first = cluster.process();
    await first.stand({ reason: "there is no PublicKey", isPeerKnown: false });
    expect(cluster.connection).to.equal(undefined);
    await first.stand({ reason: "the address cannot be resolved", isPeerKnown: true });
    expect(cluster.connection).to.have.nested.property("status.message", "the address cannot be resolved");
  });
});
