import { expect } from "chai";
import fc from "fast-check";
import {
  addQuantities,
  addResourceLists,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  isQuantity,
  maxResourceLists,
  parseQuantity,
  quantitiesEqual,
  QUANTITY_PATTERN,
  quantityToNumber,
  resourceListsEqual,
  subtractQuantities,
  subtractResourceLists,
  type QuantityFormat,
} from "../../../agent/api/index.js";

const LIMIT = 2n ** 63n - 1n;
const suffix = fc.constantFrom("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "E-2", "e+6");
const quantity = fc
  .tuple(fc.constantFrom("", "-", "+"), fc.nat(999_999), fc.option(fc.nat(999)), suffix)
  .map(([sign, whole, fraction, unit]) => `${sign}${whole}${fraction === null ? "" : `.${fraction}`}${unit}`);
const format = fc.constantFrom<QuantityFormat>("BinarySI", "DecimalSI", "DecimalExponent");
const nanos = fc.bigInt({ min: -LIMIT * 10n ** 9n, max: LIMIT * 10n ** 9n });

describe("quantities", () => {
  it("are written as the API server writes them", () => {
    const cases: [string | number, string][] = [
      ["1000m", "1"],
      ["1500m", "1500m"],
      ["1.5", "1500m"],
      ["0.5Gi", "512Mi"],
      ["1.5Gi", "1536Mi"],
      ["1024Ki", "1Mi"],
      ["512Ki", "512Ki"],
      ["0.5Ki", "512"],
      ["1000Ki", "1000Ki"],
      ["2000", "2k"],
      ["1e3", "1e3"],
      ["1E3", "1e3"],
      ["1E", "1E"],
      ["0.1e1", "1"],
      ["-0.5", "-500m"],
      ["+5", "5"],
      [".5", "500m"],
      ["5.", "5"],
      ["00012", "12"],
      ["0Gi", "0"],
      ["0.0000000001", "1n"],
      ["-0.0000000001", "-1n"],
      ["1e-400", "1e-9"],
      ["1e9999", "9223372036854775807"],
      ["100Ei", "9223372036854775807"],
      [20, "20"],
      [0.25, "250m"],
      [1e21, "9223372036854775807"],
    ];
    for (const [written, canonical] of cases) expect(canonicalQuantity(written), String(written)).to.equal(canonical);
  });

  it("are refused when malformed", () => {
    for (const text of [
      "",
      " ",
      "1 Gi",
      "Gi",
      "1gb",
      "1KI",
      "--1",
      "1e",
      "1e1.5",
      ".",
      "1.2.3",
      "0x10",
      NaN,
      Infinity,
    ]) {
      expect(isQuantity(text), String(text)).to.equal(false);
      expect(() => parseQuantity(text), String(text)).to.throw("is not a quantity");
    }
  });

  it("keep their value when written and read again", () => {
    fc.assert(
      fc.property(nanos, format, (value, style) => {
        const written = formatQuantity({ nanos: value, format: style });
        expect(parseQuantity(written).nanos).to.equal(value);
        expect(canonicalQuantity(written)).to.equal(written);
      }),
    );
  });

  it("match the pattern of the schema", () => {
    fc.assert(fc.property(quantity, (text) => new RegExp(QUANTITY_PATTERN).test(text) && isQuantity(text)));
  });

  it("add and subtract exactly", () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        expect(quantitiesEqual(subtractQuantities(addQuantities(a, b), b), a)).to.equal(true);
        expect(quantitiesEqual(addQuantities(a, b), addQuantities(b, a))).to.equal(true);
      }),
    );
    expect(addQuantities("0.1", "0.2")).to.equal("300m");
    expect(addQuantities("1Gi", "512Mi")).to.equal("1536Mi");
    expect(addQuantities("0", "1Gi")).to.equal("1Gi");
    expect(subtractQuantities("1", "1500m")).to.equal("-500m");
  });

  it("are ordered by value, however written", () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        expect(compareQuantities(a, b)).to.equal(-compareQuantities(b, a) + 0);
        const difference = parseQuantity(subtractQuantities(a, b)).nanos;
        expect(Math.sign(Number(difference))).to.equal(compareQuantities(a, b));
      }),
    );
    expect(quantitiesEqual("1", "1000m")).to.equal(true);
    expect(compareQuantities("1Gi", "1G")).to.equal(1);
    expect(quantityToNumber("1500m")).to.equal(1.5);
  });
});

describe("resource lists", () => {
  it("are compared by value", () => {
    expect(resourceListsEqual({ cpu: 20, memory: "1Gi" }, { memory: "1024Mi", cpu: "20" })).to.equal(true);
    expect(resourceListsEqual({ cpu: 1 }, { cpu: 1, pods: 0 })).to.equal(false);
    expect(resourceListsEqual({ cpu: 1 }, { pods: 1 })).to.equal(false);
    expect(resourceListsEqual(undefined, {})).to.equal(true);
  });

  it("take an absent resource as zero", () => {
    expect(addResourceLists({ cpu: "1" }, { cpu: "500m", memory: "1Gi" })).to.deep.equal({
      cpu: "1500m",
      memory: "1Gi",
    });
    expect(subtractResourceLists({ cpu: "1" }, { memory: "1Gi" })).to.deep.equal({ cpu: "1", memory: "-1Gi" });
    expect(maxResourceLists({ cpu: "1" }, { cpu: "900m", pods: 3 })).to.deep.equal({ cpu: "1", pods: "3" });
  });
});
