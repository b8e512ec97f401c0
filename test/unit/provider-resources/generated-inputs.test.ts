import { status as Code, type ServiceError } from "@grpc/grpc-js";
import type { handleUnaryCall } from "@grpc/grpc-js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { expect } from "chai";
import fc from "fast-check";
import type { z } from "zod";
import { fieldsOf, typeOf, unwrap } from "../../../provider/framework/field-info.js";
import { registry } from "../../../provider/resources/index.js";
import { EngineLog } from "../../../provider/server/engine.js";
import { ProviderService } from "../../../provider/server/service.js";
import { OUTPUT_VALUE, SECRET, SIGNATURE_KEY, UNKNOWN_VALUE } from "../../../provider/server/signatures.js";
import { toStruct } from "../provider/fake-engine.js";

/** Of two inputs each, the state's and the program's: ten thousand. */
const RUNS = 5_000;
const MARKER = "s3cr3t-m4rker-value";
/** No cluster is asked: what a generated kubeconfig leads to is refused at once. */
const NOWHERE = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "x",
  clusters: [{ name: "x", cluster: { server: "https://127.0.0.1:9" } }],
  users: [{ name: "x", user: { token: MARKER } }],
  contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
});

const secret = (value: unknown) => ({ [SIGNATURE_KEY]: SECRET, value });
const output = (value: unknown) => ({ [SIGNATURE_KEY]: OUTPUT_VALUE, value, secret: true });

/** Whatever may stand where a value is expected. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constant(UNKNOWN_VALUE),
  fc.constant(null),
  fc.constant(secret(MARKER)),
  fc.constant(output(UNKNOWN_VALUE)),
  fc.constant(output({ [MARKER.slice(0, 3)]: [secret(MARKER)] })),
  fc.constant(secret([{ deep: { deeper: MARKER } }])),
  fc.constantFrom("10.0.0.0/16", "10.0.0.1/33", "1000m", "-1", "Active", "a".repeat(300), "\u0000", "💥", ""),
  fc.constantFrom(-1, 0, 1e308, 70_000, 1.5),
  fc.dictionary(
    fc.constantFrom("__proto__", "constructor", "toString", "4dabf", "a.b", 'q"'),
    fc.jsonValue({ maxDepth: 1 }),
  ),
);

/** Values that fit a schema, mostly, with anything in between. */
function fitting(type: z.core.$ZodType): fc.Arbitrary<unknown> {
  const { schema, info } = unwrap(type);
  return fc.oneof({ weight: 3, arbitrary: rightOf(schema, info.cluster === true) }, { weight: 1, arbitrary: anything });
}

function rightOf(schema: z.core.$ZodType, isCluster: boolean): fc.Arbitrary<unknown> {
  switch (typeOf(schema)) {
    case "object": {
      if (isCluster)
        return fc.constantFrom(
          { kubeconfig: secret(NOWHERE) },
          { kubeconfig: UNKNOWN_VALUE },
          { context: "some-context" },
        );
      const fields = Object.entries(fieldsOf(schema as z.ZodObject)).map(
        ([key, field]) => [key, fitting(field)] as const,
      );
      return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
    }
    case "array":
      return fc.array(fitting((schema as z.ZodArray).element), { maxLength: 3 });
    case "record":
      return fc.dictionary(fc.constantFrom("cpu", "a/b", "__proto__", "-"), fitting((schema as z.ZodRecord).valueType));
    case "boolean":
      return fc.boolean();
    case "number":
      return fc.integer({ min: 0, max: 70_000 });
    case "enum":
      return fc.constantFrom(...(schema as z.ZodEnum).options);
    default:
      return fc.oneof(
        fc.constantFrom("name", "10.0.0.0/16", "2", "500m"),
        fc.string({ maxLength: 8 }),
        fc.constant(secret(MARKER)),
      );
  }
}

describe("generated inputs", function () {
  this.timeout(600_000);
  const said: string[] = [];
  const service = new ProviderService({
    version: "0.0.1",
    engine: recordingLog(said),
    load: () => Promise.resolve(registry),
  });
  const methods = service.implementation();
  after(() => service.close());

  /** As gRPC would call it, without a connection in between. */
  function call<Request, Response>(method: string, request: Request): Promise<Response> {
    const handler = methods[method] as handleUnaryCall<Request, Response>;
    return new Promise((resolve, reject) => {
      const callback = (error: Partial<ServiceError> | null, response?: Response | null): void => {
        if (error) reject(error instanceof Error ? error : new Error(error.details));
        else resolve(response as Response);
      };
      void handler({ request } as never, callback);
    });
  }

  const cases = fc
    .constantFrom(...registry.resources)
    .chain((definition) =>
      fc.record({
        token: fc.constant(definition.token),
        olds: fitting(definition.inputs),
        news: fitting(definition.inputs),
      }),
    )
    .filter(({ olds, news }) => isObject(olds) && isObject(news));

  it(`never crash check and diff, nor leak a secret (${2 * RUNS} of them)`, async () => {
    // Kubeconfigs that nobody has named are not looked for.
    const saved = { ...process.env };
    process.env["KUBECONFIG"] = "/no/such/kubeconfig";
    try {
      await fc.assert(fc.asyncProperty(cases, survives), { numRuns: RUNS, endOnFailure: true });
    } finally {
      process.env = saved;
    }
    expect(said.join("\n")).not.to.contain(MARKER);
  });

  async function survives({ token, olds, news }: { token: string; olds: unknown; news: unknown }): Promise<void> {
    const urn = `urn:pulumi:dev::p::${token}::it`;
    const check = new proto.CheckRequest();
    check.setUrn(urn);
    check.setOlds(structOf(olds));
    check.setNews(structOf(news));
    const checked = await answered(call<proto.CheckRequest, proto.CheckResponse>("check", check));
    for (const failure of checked?.getFailuresList() ?? []) {
      expect(failure.getReason()).to.not.contain(MARKER).and.to.not.equal("");
    }
    expectMarked(checked?.getInputs()?.toJavaScript());
    const diff = new proto.DiffRequest();
    diff.setUrn(urn);
    diff.setId("some-id");
    diff.setOlds(structOf(olds));
    diff.setOldInputs(structOf(olds));
    diff.setNews(structOf(news));
    await answered(call<proto.DiffRequest, proto.DiffResponse>("diff", diff));
  }
});

/** The answer, or nothing for an error as gRPC has them. */
async function answered<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    const { code, details, name } = error as ServiceError;
    expect(Object.values(Code), `${name}: ${String(error)}`).to.include(code);
    expect(details)
      .to.be.a("string")
      .and.to.not.contain(MARKER)
      .and.to.not.match(/\n\s+at |TypeError|undefined is not|Cannot read/);
    throw new Error(`check and diff have no reason to fail: ${details}`, { cause: error });
  }
}

/** Whatever was a secret on the way in is marked as one on the way out. */
function expectMarked(value: unknown, isSecret = false): void {
  if (typeof value === "string") expect(isSecret || !value.includes(MARKER), `in clear: ${value}`).to.equal(true);
  if (typeof value !== "object" || value === null) return;
  const marked = (value as Record<string, unknown>)[SIGNATURE_KEY] === SECRET;
  for (const inner of Object.values(value)) expectMarked(inner, isSecret || marked);
}

function structOf(value: unknown) {
  return toStruct(value as Record<string, unknown>);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(SIGNATURE_KEY in value);
}

/** An engine that nobody listens to, and that remembers what it was told. */
function recordingLog(lines: string[]): EngineLog {
  const log = new EngineLog();
  log.log = (_severity, message) => void lines.push(message);
  log.status = (message) => void lines.push(message);
  return log;
}
