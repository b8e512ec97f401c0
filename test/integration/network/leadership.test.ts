import { expect } from "chai";
import { Labels } from "../../../agent/api/index.js";
import { Leadership } from "../../../agent/gateway/leadership/leadership.js";
import { leaseName } from "../../../agent/gateway/leadership/lease-name.js";
import { LEASE_SECONDS } from "../../../agent/runtime/holder-lease.js";
import {
  KubeClient,
  LeaseResource,
  NamespaceResource,
  PodResource,
  createLogger,
} from "../../../agent/runtime/index.js";
import { Hopeless, until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { freePorts } from "../support/programs.js";
import { startRelay, type Relay } from "../support/relay.js";

const GATEWAY = "b";
const DEADLINE_MS = 30_000;
/** A standby looks at the Lease every two seconds: once to see the last renewal, and once to see that it has run out. */
const LOOKS_MS = 5_000;

/** One of two replicas of a gateway, whose ways to the API server and to the other one's heartbeats can be cut. */
interface Replica {
  name: string;
  leadership: Leadership;
  /** To the API server. */
  way: Relay;
  /** From it to the heartbeats of the other one. */
  hearing: Relay;
}

describe("the choice among a gateway's replicas that the network cuts off, on a real API server", function () {
  this.timeout(120_000);
  let server: ApiServer;
  let count = 0;
  /** One for each test. */
  let namespace = "";
  let replicas: Replica[] = [];
  /** Who has begun and ceased to serve, in order. */
  let changes: string[] = [];

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ crds: false });
  });

  beforeEach(async () => {
    namespace = `liqo-tenant-b${++count}`;
    changes = [];
    await server.client.create(NamespaceResource, { metadata: { name: namespace } });
    replicas = await startReplicas();
    const [holder, standby] = both();
    await until("one that serves", DEADLINE_MS, () => holder.leadership.isLeader || undefined);
    await standby.leadership.start();
    await until("a standby that hears it", DEADLINE_MS, () => standby.hearing.connections() > 0 || undefined);
  });

  afterEach(async () => {
    for (const { way, hearing } of replicas) {
      for (const relay of [way, hearing]) relay.thaw();
      way.breakConnections();
    }
    await Promise.all(replicas.map(({ leadership }) => leadership.stop()));
    for (const { way, hearing } of replicas) for (const relay of [way, hearing]) relay.close();
  });

  after(() => server?.stop());

  it("leaves one that is heard its place when the API server is out of its reach alone", async () => {
    const [holder, standby] = both();
    holder.way.freeze();
    await untilExpired();
    expect(changes, "one serves all the time").to.deep.equal(["one serves"]);
    expect(holder.leadership.isLeader).to.equal(true);
    expect(standby.leadership.isLeader).to.equal(false);
  });

  it("cuts no tunnel when the API server is out of reach for all, and renews when it is back", async () => {
    const [holder, standby] = both();
    const transitions = await leaseTransitions();
    for (const { way } of [holder, standby]) way.freeze();
    await untilExpired();
    for (const { way } of [holder, standby]) restore(way);
    const cutUntil = Date.now();
    await until("a renewal", DEADLINE_MS, async () => (await renewedAt()) > cutUntil || undefined);
    expect(changes).to.deep.equal(["one serves"]);
    expect(await leaseTransitions()).to.equal(transitions);
  });

  it("has one that is cut off from all leave its place before another one takes it", async () => {
    const [holder, standby] = both();
    standby.hearing.freeze();
    holder.way.freeze();
    await until("another one that serves", DEADLINE_MS, () => standby.leadership.isLeader || undefined);
    expect(changes).to.deep.equal(["one serves", "one ceases", "two serves"]);
    restore(holder.way);
    await until("its label", DEADLINE_MS, async () => (await activePods()).join() === "two" || undefined);
    expect(changes, "for good").to.have.length(3);
  });

  it("has one that was heard until its Lease had run out leave its place first, too", async () => {
    const [holder, standby] = both();
    holder.way.freeze();
    await untilExpired();
    standby.hearing.freeze();
    await until("another one that serves", DEADLINE_MS, () => standby.leadership.isLeader || undefined);
    expect(changes).to.deep.equal(["one serves", "one ceases", "two serves"]);
  });

  it("has one that is heard leave its place when its pod is taken from it, as from a node that counts as lost", async () => {
    const [holder, standby] = both();
    holder.way.freeze();
    await untilExpired();
    await server.client.delete(PodResource, { name: "one", namespace }, { gracePeriodSeconds: 0 });
    await until("another one that serves", DEADLINE_MS, () => standby.leadership.isLeader || undefined);
    await until("the former one's end", DEADLINE_MS, () => !holder.leadership.isLeader || undefined);
    // The one hangs up before it asks for the Lease, the other one looks ten times a second.
    expect(changes).to.have.members(["one serves", "one ceases", "two serves"]);
  });

  it("takes a place again that it has left and nobody has taken", async () => {
    const [holder, standby] = both();
    standby.hearing.freeze();
    for (const { way } of [holder, standby]) way.freeze();
    await until("that it has left", DEADLINE_MS, () => !holder.leadership.isLeader || undefined);
    restore(holder.way);
    await until("that it serves again", DEADLINE_MS, () => holder.leadership.isLeader || undefined);
    expect(changes).to.deep.equal(["one serves", "one ceases", "one serves"]);
  });

  it("goes on without the API server where there is no other replica", async () => {
    const [holder, standby] = both();
    await standby.leadership.stop();
    await server.client.delete(PodResource, { name: "two", namespace }, { gracePeriodSeconds: 0 });
    // It renews less often once it knows.
    const before = await renewedAt();
    await until("a renewal", DEADLINE_MS, async () => (await renewedAt()) > before || undefined);
    holder.way.freeze();
    await untilExpired();
    expect(changes).to.deep.equal(["one serves"]);
  });

  function both(): [Replica, Replica] {
    const [holder, standby] = replicas;
    if (!holder || !standby) throw new Error("no replicas");
    return [holder, standby];
  }

  /** Both, of which the first has begun. */
  async function startReplicas(): Promise<Replica[]> {
    const [one = 0, two = 0] = await freePorts(2);
    await Promise.all(["one", "two"].map(makePod));
    const made = [await makeReplica("one", one, two), await makeReplica("two", two, one)];
    await made[0]?.leadership.start();
    return made;
  }

  async function makeReplica(podName: string, own: number, others: number): Promise<Replica> {
    const way = await startRelay(() => server.url);
    const hearing = await startRelay(() => `http://127.0.0.1:${others}`);
    const client = KubeClient.fromText(server.kubeconfig.replaceAll(server.url, `https://127.0.0.1:${way.port}`));
    const args = { name: GATEWAY, namespace, mode: "client" as const, podName };
    const onChange = (): void => void changes.push(`${podName} ${leadership.isLeader ? "serves" : "ceases"}`);
    const ports = { own, others: hearing.port };
    const logger = createLogger("gateway");
    logger.level = process.env["LOG_LEVEL"] ?? "error";
    const leadership = new Leadership(client, args, logger, onChange, ports);
    return { name: podName, leadership, way, hearing };
  }

  async function makePod(name: string): Promise<void> {
    const id = { name, namespace };
    await server.client.create(PodResource, {
      metadata: { ...id, labels: { [Labels.gatewayName]: GATEWAY } },
      spec: { containers: [{ name: "gateway", image: "none" }] },
    });
    const podIP = "127.0.0.1";
    const status = { phase: "Running", podIP, podIPs: [{ ip: podIP }] };
    await server.client.mergePatch(PodResource, id, { status }, { subresource: "status" });
  }

  function restore(relay: Relay): void {
    relay.thaw();
    relay.breakConnections();
  }

  async function untilExpired(): Promise<void> {
    const withinMs = LEASE_SECONDS * 1_000 + LOOKS_MS;
    await until("the Lease's end", withinMs + DEADLINE_MS, async () => {
      if (changes.length > 1) throw new Hopeless(changes.join(", "));
      return Date.now() - (await renewedAt()) > withinMs || undefined;
    });
  }

  async function renewedAt(): Promise<number> {
    const lease = await server.client.get(LeaseResource, leaseID());
    return Date.parse(lease?.spec?.renewTime ?? "");
  }

  async function leaseTransitions(): Promise<number | undefined> {
    return (await server.client.get(LeaseResource, leaseID()))?.spec?.leaseTransitions;
  }

  function leaseID(): { name: string; namespace: string } {
    return { name: leaseName({ name: GATEWAY, namespace, mode: "client" }), namespace };
  }

  async function activePods(): Promise<string[]> {
    const { items } = await server.client.list(PodResource, { namespace });
    return items
      .filter(({ metadata }) => metadata?.labels?.[Labels.gatewayActive] === "true")
      .map(({ metadata }) => metadata?.name ?? "");
  }
});
