import { expect } from "chai";
import fc from "fast-check";
import {
  addressIndex,
  canonicalCidr,
  cidrContains,
  cidrContainsAddress,
  cidrSize,
  cidrsOverlap,
  ConfigurationResource,
  formatCidr,
  mapRemoteAddress,
  nthAddress,
  parseCidr,
  peerConfiguration,
  unmapRemoteAddress,
} from "../../../agent/api/index.js";
import { chooseAddress, chooseRange, type HeldRange } from "../../../agent/controller/network/addresses/allocation.js";

const POOLS = ["10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12"];
const held = (...cidrs: string[]): HeldRange[] => cidrs.map((cidr) => ({ cidr, shared: false }));
const movable = (cidr: string) => ({ cidr, immutable: false, shared: false });

describe("choice of a Network's range", () => {
  it("keeps a range that nothing stands against", () => {
    expect(chooseRange(movable("10.50.0.0/16"), held("10.51.0.0/16"), POOLS)).to.equal("10.50.0.0/16");
  });

  it("packs moved ranges next to used ones, as the example of the specification", () => {
    const own = held("10.244.0.0/16", "10.96.0.0/12", "10.70.0.0/16", "10.80.0.0/16");
    const pods = chooseRange(movable("10.244.0.0/16"), own, POOLS);
    expect(pods).to.equal("10.71.0.0/16");
    expect(chooseRange(movable("10.70.0.0/16"), [...own, ...held(pods)], POOLS)).to.equal("10.68.0.0/16");
    const reserving = [...own, ...held("10.71.0.0/16", "10.68.0.0/16")];
    expect(chooseRange(movable("10.70.0.0/16"), reserving, POOLS)).to.equal("10.69.0.0/16");
  });

  it("moves ranges outside the pools into them", () => {
    expect(chooseRange(movable("100.64.0.0/16"), [], ["10.0.0.0/8"])).to.equal("10.0.0.0/16");
  });

  it("never changes an immutable range", () => {
    const fixed = { cidr: "10.5.0.0/16", immutable: true, shared: false };
    expect(chooseRange(fixed, held("10.6.0.0/16"), POOLS)).to.equal("10.5.0.0/16");
    expect(() => chooseRange(fixed, held("10.5.7.0/24"), POOLS)).to.throw("overlaps 10.5.7.0/24");
    expect(() => chooseRange({ ...fixed, cidr: "100.64.0.0/16" }, [], POOLS)).to.throw("outside the pools");
    expect(chooseRange({ cidr: "100.64.0.0/16", immutable: true, shared: true }, [], POOLS)).to.equal("100.64.0.0/16");
  });

  it("lets shared ranges overlap each other only", () => {
    const shared = { cidr: "10.5.0.0/16", immutable: true, shared: true };
    expect(chooseRange(shared, [{ cidr: "10.0.0.0/8", shared: true }], POOLS)).to.equal("10.5.0.0/16");
    expect(() => chooseRange(shared, held("10.0.0.0/8"), POOLS)).to.throw("overlaps");
  });

  it("gives up when there is no room", () => {
    expect(() => chooseRange(movable("10.0.0.0/8"), held("10.1.0.0/16"), ["10.0.0.0/8"])).to.throw(
      "no free range of size /8",
    );
  });

  const anyCidr = fc
    .tuple(fc.integer({ min: 0, max: 2 ** 24 - 1 }), fc.integer({ min: 10, max: 26 }))
    .map(([host, prefix]) =>
      formatCidr(parseCidr(`${formatCidr({ base: 10 * 2 ** 24 + host, prefix: 32 }).split("/")[0]}/${prefix}`)),
    );

  it("always gives ranges of the size asked for, in a pool, that overlap nothing", () => {
    fc.assert(
      fc.property(fc.array(anyCidr, { maxLength: 12 }), (requests) => {
        const taken: HeldRange[] = [];
        for (const cidr of requests) {
          let chosen: string;
          try {
            chosen = chooseRange(movable(cidr), taken, POOLS);
          } catch {
            continue;
          }
          expect(parseCidr(chosen).prefix).to.equal(parseCidr(cidr).prefix);
          expect(POOLS.some((pool) => cidrContains(pool, chosen))).to.equal(true);
          expect(taken.some((other) => cidrsOverlap(other.cidr, chosen))).to.equal(false);
          taken.push(...held(chosen));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("choice of an address", () => {
  it("begins after what is set apart, and goes on from the last one", () => {
    expect(chooseAddress("10.70.0.0/16", 1, new Set())).to.equal("10.70.0.1");
    expect(chooseAddress("10.70.0.0/16", 1, new Set(["10.70.0.1"]), "10.70.0.4")).to.equal("10.70.0.5");
    expect(chooseAddress("10.70.0.0/30", 1, new Set(["10.70.0.2"]), "10.70.0.3")).to.equal("10.70.0.1");
  });

  it("never gives an address twice, and gives all there are", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), fc.boolean(), (preAllocated, follows) => {
        const taken = new Set<string>();
        let last: string | undefined;
        for (let n = preAllocated; n < 16; n++) {
          last = chooseAddress("10.70.0.16/28", preAllocated, taken, follows ? last : undefined);
          expect(taken.has(last)).to.equal(false);
          expect(cidrContainsAddress("10.70.0.16/28", last)).to.equal(true);
          taken.add(last);
        }
        expect(() => chooseAddress("10.70.0.16/28", preAllocated, taken, last)).to.throw("no free address");
      }),
    );
  });
});

describe("allocation over time", () => {
  /** What is done to a range of 14 addresses: one is taken, the n-th taken one is given back, or the controller starts anew. */
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant("take" as const) },
    { weight: 2, arbitrary: fc.nat(20) },
    { weight: 1, arbitrary: fc.constant("restart" as const) },
  );

  it("never has one address in two hands, and finds every free one, across releases and restarts", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        // The objects are the only record; what was given last is forgotten with the process.
        let held: string[] = [];
        let last: string | undefined;
        for (const action of steps) {
          if (action === "restart") last = undefined;
          else if (action !== "take") held = held.filter((_address, index) => index !== action);
          else if (held.length === 14) {
            expect(() => chooseAddress("10.70.0.0/28", 2, new Set(held), last)).to.throw("no free address");
          } else {
            last = chooseAddress("10.70.0.0/28", 2, new Set(held), last);
            expect(held).not.to.include(last);
            expect(["10.70.0.0", "10.70.0.1"]).not.to.include(last);
            held.push(last);
          }
        }
      }),
    );
  });

  const request = fc.record({
    cidr: fc
      .tuple(fc.nat(255), fc.integer({ min: 16, max: 22 }))
      .map(([block, prefix]) => canonicalCidr(`10.1.${block}.0/${prefix}`)),
    immutable: fc.boolean(),
    shared: fc.boolean(),
  });
  const change = fc.oneof({ weight: 3, arbitrary: request }, { weight: 1, arbitrary: fc.nat(10) });

  it("never lets an exclusive range overlap another, whatever is fixed, shared, or given back", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        let held: HeldRange[] = [];
        for (const wanted of changes) {
          if (typeof wanted === "number") {
            held = held.filter((_range, index) => index !== wanted);
            continue;
          }
          const asked = { ...wanted, shared: wanted.shared && wanted.immutable };
          try {
            const cidr = chooseRange(asked, held, ["10.1.0.0/16"]);
            if (asked.immutable) expect(cidr).to.equal(asked.cidr);
            held.push({ cidr, shared: asked.shared });
          } catch (error) {
            expect((error as Error).message).to.match(/no free range|overlaps/);
          }
          for (const [index, a] of held.entries()) {
            for (const b of held.slice(index + 1)) {
              expect(cidrsOverlap(a.cidr, b.cidr) && !(a.shared && b.shared), `${a.cidr} and ${b.cidr}`).to.equal(
                false,
              );
            }
          }
        }
      }),
    );
  });

  it("gives room that is given back again", () => {
    const full = ["10.1.0.0/17", "10.1.128.0/17"];
    expect(() => chooseRange(movable("10.9.0.0/17"), held(...full), ["10.1.0.0/16"])).to.throw("no free range");
    expect(chooseRange(movable("10.9.0.0/17"), held(full[0] ?? ""), ["10.1.0.0/16"])).to.equal("10.1.128.0/17");
  });
});

describe("remapping", () => {
  it("is one to one between a peer's addresses and what they are called here, for any set of ranges", () => {
    const block = fc.tuple(fc.nat(15), fc.integer({ min: 12, max: 24 }));
    fc.assert(
      fc.property(
        fc.uniqueArray(block, { selector: ([n]) => n, minLength: 1, maxLength: 4 }),
        fc.nat(),
        (blocks, host) => {
          const real = blocks.map(([n, prefix]) => canonicalCidr(`10.${n * 16}.0.0/${prefix}`));
          const mapped: string[] = [];
          for (const cidr of real) mapped.push(chooseRange(movable(cidr), held("10.0.0.0/8", ...mapped), POOLS_BEYOND));
          const configuration = ConfigurationResource.build({
            metadata: {},
            spec: { remote: { cidr: { pod: real } } },
            status: { remote: { cidr: { pod: mapped } } },
          });
          for (const [index, cidr] of real.entries()) {
            const address = nthAddress(cidr, host % cidrSize(cidr));
            const here = mapRemoteAddress(configuration, address);
            expect(cidrContainsAddress(mapped[index] ?? "", here)).to.equal(true);
            expect(addressIndex(mapped[index] ?? "", here)).to.equal(addressIndex(cidr, address));
            expect(unmapRemoteAddress(configuration, here)).to.equal(address);
          }
        },
      ),
    );
  });

  const POOLS_BEYOND = ["10.0.0.0/8", "172.16.0.0/12", "100.0.0.0/8"];
});

describe("a remote cluster's Configuration", () => {
  const labels = { "liqo.io/remote-cluster-id": "b" };
  const named = (name: string, namespace: string, more: object = {}) =>
    ConfigurationResource.build({
      metadata: { name, namespace, labels, creationTimestamp: "2026-01-02T00:00:00Z", ...more },
      spec: {},
    });

  it("is found by its label in any namespace, first where the link is, then the oldest that stays", () => {
    const choose = (...all: ReturnType<typeof named>[]) => peerConfiguration(all, "b", "tenant")?.metadata.name;
    expect(choose()).to.equal(undefined);
    expect(choose(named("x", "default", { labels: {} }))).to.equal(undefined);
    expect(choose(named("x", "default"))).to.equal("x");
    expect(choose(named("x", "default"), named("y", "tenant"))).to.equal("y");
    expect(choose(named("x", "default"), named("y", "other", { creationTimestamp: "2026-01-01T00:00:00Z" }))).to.equal(
      "y",
    );
    expect(choose(named("x", "tenant", { deletionTimestamp: "2026-01-03T00:00:00Z" }), named("y", "other"))).to.equal(
      "y",
    );
  });
});
