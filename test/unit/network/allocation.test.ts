import { expect } from "chai";
import fc from "fast-check";
import { cidrContains, cidrContainsAddress, cidrsOverlap, formatCidr, parseCidr } from "../../../agent/api/index.js";
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
