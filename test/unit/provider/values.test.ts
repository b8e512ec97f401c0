import { expect } from "chai";
import fc from "fast-check";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { UNKNOWN } from "../../../provider/framework/index.js";
import {
  OUTPUT_VALUE,
  RESOURCE_REFERENCE,
  SECRET,
  SIGNATURE_KEY,
  UNKNOWN_VALUE,
} from "../../../provider/server/signatures.js";
import { decode, encode, SecretPaths } from "../../../provider/server/values.js";

const fromPlain = (value: Record<string, struct.JavaScriptValue>) => struct.Struct.fromJavaScript(value);

describe("property values on the wire", () => {
  it("come out as they went in", () => {
    const scalar = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: "small" },
        scalar,
        fc.constant(UNKNOWN),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(
          fc.string({ minLength: 1 }).filter((key) => key !== SIGNATURE_KEY),
          tie("node"),
          { maxKeys: 3 },
        ),
      ),
    })).node;
    const properties = fc.dictionary(fc.string({ minLength: 1 }), value, { maxKeys: 4 });
    fc.assert(
      fc.property(properties, (given) => {
        const plain = Object.fromEntries(Object.entries(given));
        // Minus zero and plus zero are one on the wire.
        const normal = (input: unknown): unknown =>
          JSON.parse(JSON.stringify(input, (_key, one: unknown) => (one === UNKNOWN ? "?" : one)));
        expect(normal(decode(encode(plain)).value)).to.deep.equal(normal(plain));
      }),
      { numRuns: 1_000 },
    );
  });

  it("carry a property of any name over the wire", () => {
    const given = Object.fromEntries<unknown>([
      ["__proto__", "a"],
      ["constructor", "b"],
      ["toString", Object.fromEntries([["__proto__", { inner: "c" }]])],
    ]);
    const received = struct.Struct.deserializeBinary(encode(given).serializeBinary());
    expect(JSON.stringify(decode(received).value)).to.equal(JSON.stringify(given));
    expect(({} as { inner?: unknown }).inner).to.equal(undefined);
  });

  it("keep secrets where they were", () => {
    const secret = { [SIGNATURE_KEY]: SECRET, value: "hush" };
    const decoded = decode(fromPlain({ a: { kubeconfig: secret, context: "x" }, list: [{ token: secret }] }));
    expect(decoded.value).to.deep.equal({ a: { kubeconfig: "hush", context: "x" }, list: [{ token: "hush" }] });
    expect([...decoded.secrets]).to.deep.equal([["a", "kubeconfig"], ["list"]]);
    expect(encode(decoded.value, decoded.secrets).toJavaScript()).to.deep.equal({
      a: { kubeconfig: secret, context: "x" },
      list: { [SIGNATURE_KEY]: SECRET, value: [{ token: "hush" }] },
    });
  });

  it("understand unknowns, outputs and resource references", () => {
    const decoded = decode(
      fromPlain({
        unknown: UNKNOWN_VALUE,
        pending: { [SIGNATURE_KEY]: OUTPUT_VALUE, dependencies: [] },
        hidden: { [SIGNATURE_KEY]: OUTPUT_VALUE, value: "v", secret: true },
        unknownSecret: { [SIGNATURE_KEY]: SECRET, value: UNKNOWN_VALUE },
        reference: { [SIGNATURE_KEY]: RESOURCE_REFERENCE, urn: "urn:x", id: "the-id" },
        component: { [SIGNATURE_KEY]: RESOURCE_REFERENCE, urn: "urn:y" },
        nothing: null,
      }),
    );
    expect(decoded.value).to.deep.equal({
      unknown: UNKNOWN,
      pending: UNKNOWN,
      hidden: "v",
      unknownSecret: UNKNOWN,
      reference: "the-id",
      component: "urn:y",
    });
    expect([...decoded.secrets]).to.deep.equal([["hidden"], ["unknownSecret"]]);
  });

  it("know what lies in a secret", () => {
    const secrets = new SecretPaths([["a"]]);
    expect(secrets.covers(["a", "b"])).to.equal(true);
    expect(secrets.covers(["b"])).to.equal(false);
  });
});
