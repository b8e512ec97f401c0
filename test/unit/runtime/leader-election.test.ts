import { mock } from "node:test";
import { expect } from "chai";
import type { Lease } from "kubernetes-types/coordination/v1";
import { pino } from "pino";
import { KubeError, LeaderElection, type KubeClient } from "../../../agent/runtime/index.js";

/** What an API server may do to a request. */
type Conduct = "answers" | "refuses" | "is silent";

/** The one Lease of an API server. */
class LeaseServer {
  conduct: Conduct = "answers";
  writes = 0;
  given = 0;
  lease?: Lease;
  private version = 0;

  readonly client = {
    get: (_type: unknown, _name: unknown, signal?: AbortSignal) => this.answer(() => this.lease, signal),
    create: (_type: unknown, lease: Lease, { signal }: { signal?: AbortSignal }) =>
      this.answer(() => this.write(lease), signal),
    replace: (_type: unknown, lease: Lease, { signal }: { signal?: AbortSignal } = {}) =>
      this.answer(() => this.write(lease), signal),
  } as unknown as KubeClient;

  write(lease: Lease): Lease {
    const { resourceVersion } = lease.metadata ?? {};
    if (this.lease && this.lease.metadata?.resourceVersion !== resourceVersion)
      throw new KubeError("conflict", 409, "Conflict", "test");
    this.writes += 1;
    this.version += 1;
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.version) } };
    return this.lease;
  }

  private answer<T>(work: () => T, signal?: AbortSignal): Promise<T> {
    if (this.conduct === "refuses") return Promise.reject(new KubeError("away", 0, "Unreachable", "test"));
    if (this.conduct === "answers") return Promise.resolve().then(work);
    return new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => {
        this.given += 1;
        reject(new KubeError("cancelled", 0, "Cancelled", "test"));
      });
    });
  }
}

describe("a leader", () => {
  let server: LeaseServer;
  let ended: AbortController;
  let lostAt: number | undefined;

  beforeEach(async () => {
    mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_800_000_000_000 });
    [server, ended, lostAt] = [new LeaseServer(), new AbortController(), undefined];
    const options = { namespace: "liqo", name: "leader", identity: "one", logger: pino({ level: "silent" }) };
    const election = new LeaderElection(server.client, options);
    expect(await election.acquire(ended.signal, () => (lostAt = Date.now()))).to.equal(true);
    server.writes = 0;
  });

  afterEach(() => {
    ended.abort();
    mock.timers.reset();
  });

  /** Lets so many seconds pass, and all that happens in them happen. */
  async function pass(seconds: number): Promise<void> {
    for (let tenths = 0; tenths < seconds * 10; tenths++) {
      mock.timers.tick(100);
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Seconds after the last renewal. */
  function lostAfter(): number {
    const renewed = Date.parse(server.lease?.spec?.renewTime ?? "");
    return ((lostAt ?? NaN) - renewed) / 1000;
  }

  it("renews its Lease twelve times a minute, with one request each", async () => {
    await pass(60);
    expect(server.writes).to.equal(12);
    expect(lostAt).to.equal(undefined);
  });

  for (const conduct of ["refuses", "is silent"] as const) {
    it(`stops in time, before another may begin, where the API server ${conduct}`, async () => {
      await pass(7);
      server.conduct = conduct;
      await pass(20);
      expect(lostAfter()).to.be.within(11.9, 12.2);
      expect(server.given).to.equal(conduct === "is silent" ? 1 : 0);
    });
  }

  it("outlasts an API server that is away for six seconds at any moment", async () => {
    for (let shift = 0; shift < 6; shift++) {
      await pass(5 + shift * 0.9);
      server.conduct = "refuses";
      await pass(6);
      server.conduct = "answers";
      await pass(5);
    }
    expect(lostAt).to.equal(undefined);
  });

  it("is told while another leads, and takes its place when that one gives it up", async () => {
    const options = { namespace: "liqo", name: "leader", identity: "two", logger: pino({ level: "silent" }) };
    let looks = 0;
    let hasTaken = false;
    const other = new LeaderElection(server.client, options);
    void other
      .acquire(
        ended.signal,
        () => undefined,
        () => (looks += 1),
      )
      .then(() => (hasTaken = true));
    await pass(6);
    expect(looks).to.be.at.least(2);
    expect(hasTaken).to.equal(false);
    server.write({ ...server.lease, spec: { ...server.lease?.spec, holderIdentity: "" } });
    await pass(3);
    expect(hasTaken).to.equal(true);
  });

  it("stops where another has taken its place", async () => {
    server.write({ ...server.lease, spec: { ...server.lease?.spec, holderIdentity: "two" } });
    await pass(6);
    expect(lostAt).to.not.equal(undefined);
    await pass(20);
    expect(server.lease?.spec?.holderIdentity).to.equal("two");
  });

  it("renews again in its rhythm after a conflict that it was itself", async () => {
    server.write({ ...server.lease });
    server.writes = 0;
    await pass(60);
    expect(server.writes).to.equal(12);
  });
});
