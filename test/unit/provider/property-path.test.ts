import { expect } from "chai";
import fc from "fast-check";
import { formatPath, parsePath, startsWith } from "../../../provider/framework/index.js";

describe("property paths", () => {
  it("are written as Pulumi writes them", () => {
    expect(formatPath(["consumer", "kubeconfig"])).to.equal("consumer.kubeconfig");
    expect(formatPath(["podCIDRs", 0])).to.equal("podCIDRs[0]");
    expect(formatPath(["labels", "liqo.io/x"])).to.equal('labels["liqo.io/x"]');
  });

  it("are read as they were written", () => {
    const part = fc.oneof(fc.string({ minLength: 1 }), fc.nat(99));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (path) => {
        expect(parsePath(formatPath(path))).to.deep.equal(path);
      }),
    );
  });

  it("match rules with wildcards", () => {
    expect(startsWith(["labels", "a"], ["labels"])).to.equal(true);
    expect(startsWith(["labels", "a", "b"], ["labels", "*", "b"])).to.equal(true);
    expect(startsWith(["labels"], ["labels", "a"])).to.equal(false);
  });
});
