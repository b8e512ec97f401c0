import { mock } from "node:test";
import { expect } from "chai";
import { pino } from "pino";
import { ConfigurationResource, IPResource, type IP } from "../../../agent/api/index.js";
import { parseGatewayArguments } from "../../../agent/gateway/arguments.js";
import { collectState } from "../../../agent/gateway/collect-state.js";
import { LevelLoop, type Occasion } from "../../../agent/net/index.js";

const REQUIRED = ["--name=b", "--namespace=t", "--remote-cluster-id=b", "--gateway-uid=u", "--mode=server"];

describe("a loop of passes", () => {
  let loop: LevelLoop;
  let passes: number;
  let wanted: unknown;

  beforeEach(() => {
    passes = 0;
    wanted = undefined;
    const apply = (): Promise<void> => {
      passes += 1;
      return Promise.resolve();
    };
    loop = new LevelLoop({ apply, logger: pino({ level: "silent" }), wanted: () => wanted });
  });

  afterEach(() => loop.stop());

  /** A pass that was asked for begins in the next turn of the event loop, and ends in it. */
  async function passed(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  it("makes one pass for an address that is lent to another peer, of all that happens to it", async () => {
    const args = parseGatewayArguments(REQUIRED, { NODE_NAME: "n1" });
    const configuration = ConfigurationResource.build({
      metadata: { name: "b", namespace: "t" },
      spec: { local: { cidr: { pod: ["10.244.0.0/16"], external: ["10.70.0.0/16"] } }, remote: { cidr: {} } },
    });
    const lend = (ips: IP[]): void => {
      const objects = { configuration, tunnels: [], internalNodes: [], nodes: [], ips, podAddresses: () => [] };
      wanted = collectState(args, objects);
    };
    const see = async (ips: IP[]): Promise<void> => {
      lend(ips);
      loop.notice();
      await passed();
    };
    const ip = (metadata: object, status?: object): IP =>
      IPResource.build({ metadata: { name: "unknown-source", ...metadata }, spec: { ip: "10.68.0.0" }, status });
    const ready = { labels: { "ipam.liqo.io/network-name": "external-cidr" }, finalizers: ["ipam"] };
    lend([]);
    loop.start();
    await see([]);
    await see([ip({})]);
    await see([ip({ finalizers: ["ipam"] })]);
    await see([ip(ready)]);
    expect(passes).to.equal(1);
    await see([ip(ready, { ip: "10.70.0.9" })]);
    await see([ip(ready, { ip: "10.70.0.9", cidr: "10.70.0.0/16" })]);
    expect(passes).to.equal(2);
    await see([]);
    expect(passes).to.equal(3);
  });

  it("makes one when asked without a reason", async () => {
    wanted = "x";
    loop.notice();
    loop.start();
    await passed();
    loop.notice();
    await passed();
    expect(passes).to.equal(1);
    loop.trigger();
    await passed();
    expect(passes).to.equal(2);
  });

  it("looks once at what it goes by, however much happens in a moment", async () => {
    let looks = 0;
    const counted = { toJSON: () => (looks += 1) };
    wanted = counted;
    for (let event = 0; event < 100; event++) loop.notice();
    loop.start();
    await passed();
    expect(looks).to.equal(1);
    for (let event = 0; event < 100; event++) loop.notice();
    await passed();
    expect([looks, passes]).to.deep.equal([2, 2]);
  });

  it("settles with one more for what nobody has come to any more, and without where nothing is left", async () => {
    wanted = 1;
    loop.start();
    await passed();
    await loop.settle();
    expect(passes).to.equal(1);
    // Seen by no pass: neither looked at yet, nor asked for.
    wanted = 2;
    loop.notice();
    await loop.settle();
    expect(passes).to.equal(2);
    loop.trigger();
    await loop.settle();
    expect(passes).to.equal(3);
  });

  it("settles without a pass before it was to begin", async () => {
    loop.trigger();
    await loop.settle();
    expect(passes).to.equal(0);
  });

  it("makes one that tells what is wrong where what it would go by cannot be told", async () => {
    wanted = 1;
    loop.start();
    await passed();
    wanted = 1n;
    loop.notice();
    await passed();
    expect(passes).to.equal(2);
  });
});

describe("a loop that gathers part of what it goes by", () => {
  let loop: LevelLoop;
  let occasions: Occasion[];
  let [wanted, gathered]: unknown[] = [];
  let isFailing: boolean;
  /** By the monotonic clock: time passes when a test says so, not while a machine has other things to do. */
  let now: number;

  beforeEach(() => {
    now = 0;
    mock.timers.enable({ apis: ["setTimeout"] });
    mock.method(performance, "now", () => now);
  });

  function start(forMs: number): void {
    [wanted, gathered, occasions, isFailing] = ["a", 1, [], false];
    const apply = (occasion: Occasion): Promise<void> => {
      occasions.push(occasion);
      return isFailing ? Promise.reject(new Error("failed")) : Promise.resolve();
    };
    const both = { wanted: () => wanted, gathered: { wanted: () => gathered, forMs } };
    loop = new LevelLoop({ apply, logger: pino({ level: "silent" }), ...both });
    loop.start();
  }

  afterEach(async () => {
    await loop.stop();
    mock.timers.reset();
    mock.restoreAll();
  });

  async function see(news: { wanted?: unknown; gathered?: unknown }): Promise<void> {
    wanted = news.wanted ?? wanted;
    gathered = news.gathered ?? gathered;
    loop.notice();
    await turns();
  }

  async function turns(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async function pass(milliseconds: number): Promise<void> {
    now += milliseconds;
    mock.timers.tick(milliseconds);
    await turns();
  }

  it("makes one pass for all of it that comes soon after a pass", async () => {
    start(500);
    await turns();
    for (let count = 2; count < 12; count++) await see({ gathered: count });
    await pass(499);
    expect(occasions).to.have.length(1);
    await pass(1);
    expect(occasions).to.have.length(2);
    expect(occasions[1]).to.deep.equal({ isThorough: false });
    await see({ gathered: 11 });
    expect(occasions).to.have.length(2);
  });

  it("makes a pass at once for one that comes alone", async () => {
    start(500);
    await turns();
    await pass(500);
    await see({ gathered: 2 });
    expect(occasions).to.have.length(2);
  });

  it("makes a pass at once for all else, with what it has gathered, and no other for that", async () => {
    start(400);
    await turns();
    await see({ gathered: 2 });
    expect(occasions).to.have.length(1);
    await see({ wanted: "b" });
    expect(occasions).to.deep.equal([{ isThorough: true }, { isThorough: false }]);
    await pass(450);
    expect(occasions).to.have.length(2);
  });

  it("settles with what it has gathered, and with what it has failed at, and says what fails then", async () => {
    start(60_000);
    await turns();
    await see({ gathered: 2 });
    await loop.settle();
    expect(occasions).to.have.length(2);
    start(60_000);
    isFailing = true;
    await turns();
    await loop.settle();
    expect(occasions).to.deep.equal([{ isThorough: true }, { isThorough: true }]);
  });

  it("looks thoroughly at the start, when asked, and after a failure", async () => {
    start(60_000);
    await turns();
    await see({ wanted: "b" });
    loop.trigger();
    await turns();
    isFailing = true;
    await see({ wanted: "c" });
    await see({ wanted: "d" });
    isFailing = false;
    await see({ wanted: "e" });
    await see({ wanted: "f" });
    const thorough = occasions.map(({ isThorough }) => isThorough);
    expect(thorough).to.deep.equal([true, false, true, false, true, true, false]);
  });
});
