import { expect } from "chai";
import fc from "fast-check";
import { z } from "zod";
import {
  cidr,
  clusterArgs,
  clusterId,
  formatPath,
  port,
  quantities,
  UNKNOWN,
} from "../../../provider/framework/index.js";
import { FailureList } from "../../../provider/framework/failures.js";
import { secretPathsOf, validateProperties } from "../../../provider/framework/validate.js";

const schema = z.object({
  id: clusterId,
  resources: quantities.default({ cpu: "4" }),
  ranges: z.array(cidr).min(1).optional(),
  server: z
    .object({ port: port.default(51840), token: z.string().optional().meta({ secret: true }) })
    .prefault({})
    .meta({ typeName: "Server" }),
  mode: z.enum(["A", "B"]).default("A").meta({ typeName: "Mode" }),
});

function check(value: Record<string, unknown>) {
  const failures = new FailureList();
  const result = validateProperties(schema, value, failures);
  return { result, failures: Object.fromEntries(failures.all.map(({ path, reason }) => [formatPath(path), reason])) };
}

describe("validation of properties", () => {
  it("takes a kubeconfig as text or as the object that some packages give, and objects for no other text", () => {
    const kubeconfigs = z.object({ cluster: clusterArgs, note: z.string().optional() });
    const validated = (value: Record<string, unknown>) => {
      const failures = new FailureList();
      return { value: validateProperties(kubeconfigs, value, failures), failures: failures.all };
    };
    const given = { apiVersion: "v1", users: [{ name: "aws", user: { exec: { command: "aws" } } }] };
    const { value } = validated({ cluster: { kubeconfig: given } });
    expect(value).to.deep.equal({ cluster: { kubeconfig: JSON.stringify(given) } });
    expect(validated(value).value).to.deep.equal(value);
    const unknown = validated({ cluster: { kubeconfig: { ...given, users: UNKNOWN } } });
    expect(unknown).to.deep.equal({ value: { cluster: { kubeconfig: UNKNOWN } }, failures: [] });
    const wrong = validated({ cluster: { kubeconfig: ["token-1"] }, note: given }).failures;
    expect(wrong.map(({ path }) => formatPath(path))).to.deep.equal(["cluster.kubeconfig", "note"]);
    expect(JSON.stringify(wrong)).to.not.contain("token-1");
  });

  it("fills in defaults, also inside objects, and takes numbers for texts", () => {
    const { result, failures } = check({ id: "a", resources: { cpu: 2 } });
    expect(failures).to.deep.equal({});
    expect(result).to.deep.equal({ id: "a", resources: { cpu: "2" }, server: { port: 51840 }, mode: "A" });
  });

  it("reports everything at once, with paths and what is allowed", () => {
    const { failures } = check({
      id: "A",
      resources: { cpu: "lots" },
      ranges: ["10.0.0.1/16", "x"],
      server: { port: 0, extra: 1 },
      mode: "C",
    });
    expect(Object.keys(failures)).to.have.members([
      "id",
      "resources.cpu",
      "ranges[0]",
      "ranges[1]",
      "server.port",
      "server.extra",
      "mode",
    ]);
    expect(failures["ranges[0]"]).to.equal('"10.0.0.1/16" has host bits set: write "10.0.0.0/16"');
    expect(failures["server.port"]).to.equal("must be at least 1, not 0");
    expect(failures["mode"]).to.equal('must be one of A, B, not "C"');
  });

  it("says which required property is missing", () => {
    expect(check({}).failures).to.deep.equal({ id: "is required" });
  });

  it("lets unknown values pass anywhere and checks the rest", () => {
    const { result, failures } = check({ id: UNKNOWN, resources: { cpu: UNKNOWN, memory: "x" }, server: UNKNOWN });
    expect(Object.keys(failures)).to.deep.equal(["resources.memory"]);
    expect(result["id"]).to.equal(UNKNOWN);
    expect(result["server"]).to.equal(UNKNOWN);
  });

  it("never prints a secret value", () => {
    const { failures } = check({ id: "a", server: { token: { deep: "hush-hush" } } });
    expect(failures["server.token"]).to.be.a("string").that.does.not.contain("hush");
  });

  it("finds the fields that are secret by schema", () => {
    expect(secretPathsOf(schema, { server: { token: "x" } })).to.deep.equal([["server", "token"]]);
    expect(secretPathsOf(schema, { server: {} })).to.deep.equal([]);
  });

  it("survives any input", () => {
    const anything = fc.oneof(fc.anything({ withBigInt: false }), fc.constant(UNKNOWN));
    const inputs = fc.dictionary(
      fc.constantFrom("id", "resources", "ranges", "server", "mode", "__proto__", "x"),
      anything,
    );
    fc.assert(
      fc.property(inputs, (value) => {
        check(value);
      }),
      { numRuns: 1_000 },
    );
  });
});
