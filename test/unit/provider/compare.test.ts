import { expect } from "chai";
import fc from "fast-check";
import { z } from "zod";
import { cidr, formatPath, quantities, UNKNOWN } from "../../../provider/framework/index.js";
import { compareProperties } from "../../../provider/framework/compare.js";

const schema = z.object({
  name: z.string(),
  resources: quantities.optional(),
  ranges: z.array(cidr).optional().meta({ equality: "set" }),
  range: cidr.optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

function changed(old: Record<string, unknown>, next: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(compareProperties(schema, old, next).map(({ path, kind }) => [formatPath(path), kind]));
}

describe("comparison of properties", () => {
  it("names each field that changes, and how", () => {
    const old = { name: "a", resources: { cpu: "1", pods: "5" }, labels: { "x/y": "1" } };
    const next = { name: "b", resources: { cpu: "2", memory: "1Gi" }, labels: { "x/y": "2" }, range: "10.0.0.0/8" };
    expect(changed(old, next)).to.deep.equal({
      name: "update",
      "resources.cpu": "update",
      "resources.pods": "delete",
      "resources.memory": "add",
      'labels["x/y"]': "update",
      range: "add",
    });
  });

  it("sees no difference where the meaning is the same", () => {
    const old = { resources: { cpu: "1000m", memory: "1Gi" }, ranges: ["10.0.0.0/8", "192.168.0.0/16"] };
    const next = { resources: { cpu: "1", memory: "1024Mi" }, ranges: ["192.168.0.0/16", "10.0.0.0/8"] };
    expect(changed(old, next)).to.deep.equal({});
  });

  it("takes an unknown value for a change, there and no higher", () => {
    expect(changed({ resources: { cpu: "1", pods: "1" } }, { resources: { cpu: UNKNOWN, pods: "1" } })).to.deep.equal({
      "resources.cpu": "update",
    });
  });

  it("finds nothing between equal values, whatever they are", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        expect(compareProperties(schema, value, structuredClone(value))).to.deep.equal([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("survives any two inputs", () => {
    const key = fc.constantFrom("name", "resources", "ranges", "range", "labels", "__proto__");
    const value = fc.oneof(fc.jsonValue(), fc.constant(UNKNOWN), fc.constant("1000m"));
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.dictionary(key, value), (old, next) => {
        compareProperties(schema, old, next);
      }),
      { numRuns: 2_000 },
    );
  });
});
