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
  firstAddress,
  formatCidr,
  formatIPv4,
  isCidr,
  isIPv4,
  lastAddress,
  mapRemoteAddress,
  nthAddress,
  parseCidr,
  parseIPv4,
  parseStrictCidr,
  remapAddress,
  remoteRangePairs,
  splitCidr,
  subdivideCidr,
  unmapRemoteAddress,
} from "../../../agent/api/index.js";

const address = fc.nat(2 ** 32 - 1);
const prefix = fc.integer({ min: 0, max: 32 });
const cidr = fc.tuple(address, prefix).map(([base, length]) => canonicalCidr(`${formatIPv4(base)}/${length}`));
const cidrWithAddress = cidr.chain((range) =>
  fc.nat(cidrSize(range) - 1).map((n) => [range, nthAddress(range, n), n] as const),
);

describe("IPv4 ranges", () => {
  it("are read and written back", () => {
    fc.assert(fc.property(address, (value) => parseIPv4(formatIPv4(value)) === value));
    fc.assert(fc.property(cidr, (range) => formatCidr(parseCidr(range)) === range && isCidr(range)));
  });

  it("are refused when malformed", () => {
    for (const text of [
      "",
      "10.0.0.0",
      "10.0.0.0/33",
      "10.0.0/16",
      "10.0.0.256/8",
      "10.0.0.0/08",
      "010.0.0.0/8",
      "a/8",
      "::/0",
      "10.0.0.0/8/8",
    ]) {
      expect(isCidr(text), text).to.equal(false);
      expect(() => parseCidr(text), text).to.throw(`"${text}" is not an IPv4 range`);
    }
    for (const text of ["1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.-4", " 1.2.3.4"])
      expect(isIPv4(text), text).to.equal(false);
  });

  it("lose host bits, or are refused with the right form", () => {
    expect(canonicalCidr("10.1.2.3/16")).to.equal("10.1.0.0/16");
    expect(canonicalCidr("255.255.255.255/0")).to.equal("0.0.0.0/0");
    expect(() => parseStrictCidr("10.1.2.3/16")).to.throw('"10.1.2.3/16" has host bits set: write "10.1.0.0/16"');
    expect(parseStrictCidr("10.1.0.0/16")).to.deep.equal({ base: parseIPv4("10.1.0.0"), prefix: 16 });
  });

  it("count their addresses from the network address", () => {
    expect(firstAddress("10.70.0.0/16")).to.equal("10.70.0.0");
    expect(lastAddress("10.70.0.0/16")).to.equal("10.70.255.255");
    expect(nthAddress("10.70.0.0/16", 257)).to.equal("10.70.1.1");
    expect(lastAddress("0.0.0.0/0")).to.equal("255.255.255.255");
    expect(() => nthAddress("10.70.0.0/30", 4)).to.throw("has 4 addresses: there is no address number 4");
    fc.assert(fc.property(cidrWithAddress, ([range, member, n]) => addressIndex(range, member) === n));
  });

  it("contain exactly their addresses", () => {
    fc.assert(
      fc.property(cidr, address, (range, value) => {
        const inside = value >= parseIPv4(firstAddress(range)) && value <= parseIPv4(lastAddress(range));
        expect(cidrContainsAddress(range, formatIPv4(value))).to.equal(inside);
      }),
    );
  });

  it("overlap when one holds the other's ends", () => {
    fc.assert(
      fc.property(cidr, cidr, (a, b) => {
        const [a0, a1, b0, b1] = [firstAddress(a), lastAddress(a), firstAddress(b), lastAddress(b)].map(parseIPv4) as [
          number,
          number,
          number,
          number,
        ];
        expect(cidrsOverlap(a, b)).to.equal(a0 <= b1 && b0 <= a1);
        expect(cidrContains(a, b)).to.equal(a0 <= b0 && b1 <= a1);
      }),
    );
  });

  it("split into halves and equal parts that cover them", () => {
    expect(splitCidr("10.0.0.0/8")).to.deep.equal(["10.0.0.0/9", "10.128.0.0/9"]);
    expect(() => splitCidr("10.0.0.1/32")).to.throw("cannot be split");
    expect([...subdivideCidr("10.0.0.0/22", 24)]).to.deep.equal([
      "10.0.0.0/24",
      "10.0.1.0/24",
      "10.0.2.0/24",
      "10.0.3.0/24",
    ]);
    expect([...subdivideCidr("128.0.0.0/1", 2)]).to.deep.equal(["128.0.0.0/2", "192.0.0.0/2"]);
    expect(() => [...subdivideCidr("10.0.0.0/24", 16)]).to.throw("cannot be divided");
  });

  it("map addresses one to one, keeping host bits", () => {
    expect(remapAddress("10.0.3.4", "10.0.0.0/16", "10.71.0.0/16")).to.equal("10.71.3.4");
    expect(() => remapAddress("10.0.3.4", "10.0.0.0/16", "10.71.0.0/17")).to.throw("differ in size");
    expect(() => remapAddress("10.1.3.4", "10.0.0.0/16", "10.71.0.0/16")).to.throw("is not in range");
    fc.assert(
      fc.property(cidrWithAddress, address, ([range, member], other) => {
        const target = canonicalCidr(`${formatIPv4(other)}/${parseCidr(range).prefix}`);
        expect(remapAddress(remapAddress(member, range, target), target, range)).to.equal(member);
      }),
    );
  });
});

describe("addresses of a remote cluster", () => {
  const configuration = ConfigurationResource.build({
    metadata: { name: "provider" },
    spec: { remote: { cidr: { pod: ["10.0.0.0/16", "10.1.0.0/16"], external: ["10.70.0.0/16"] } } },
    status: { remote: { cidr: { pod: ["10.71.0.0/16", "10.1.0.0/16"], external: ["10.72.0.0/16"] } } },
  });

  it("are mapped by position; others stay", () => {
    expect(mapRemoteAddress(configuration, "10.0.3.4")).to.equal("10.71.3.4");
    expect(mapRemoteAddress(configuration, "10.1.3.4")).to.equal("10.1.3.4");
    expect(mapRemoteAddress(configuration, "10.70.0.1")).to.equal("10.72.0.1");
    expect(mapRemoteAddress(configuration, "192.168.0.1")).to.equal("192.168.0.1");
    expect(unmapRemoteAddress(configuration, "10.71.3.4")).to.equal("10.0.3.4");
  });

  it("read ranges that were stored as text, and leave out those not mapped yet", () => {
    const text = { ...configuration, spec: { remote: { cidr: { pod: "10.0.0.0/16" as unknown as string[] } } } };
    expect(remoteRangePairs(text)).to.deep.equal([["10.0.0.0/16", "10.71.0.0/16"]]);
    expect(remoteRangePairs({ ...configuration, status: undefined })).to.deep.equal([]);
  });
});
