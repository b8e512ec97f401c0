import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { expect } from "chai";
import { registry } from "../../../provider/resources/index.js";
import { OUTPUT_VALUE, SECRET, SIGNATURE_KEY } from "../../../provider/server/signatures.js";
import { Methods, startFakeEngine, toStruct, type FakeEngine } from "./fake-engine.js";
import { FakeMonitor } from "./fake-monitor.js";

/** What the SDK's runtime asks of an engine before it makes anything. */
const QUESTIONS = 10;

describe("components of one run", () => {
  let engine: FakeEngine;
  const monitors: FakeMonitor[] = [];
  before(async () => (engine = await startFakeEngine(registry)));
  after(async () => {
    await engine.stop();
    for (const monitor of monitors) monitor.stop();
  });

  const run = async (): Promise<FakeMonitor> => {
    const monitor = await new FakeMonitor().start();
    monitors.push(monitor);
    return monitor;
  };
  const construct = (
    name: string,
    { endpoint }: { endpoint: string },
    limits?: { create: string; delete: string },
    inputs: Record<string, unknown> = {},
  ): Promise<proto.ConstructResponse> => {
    const request = new proto.ConstructRequest();
    request.setType("liqo:index:Peering");
    request.setName(name);
    request.setProject("run");
    request.setStack("run");
    request.setMonitorendpoint(endpoint);
    request.setInputs(toStruct({ consumer: { context: "one" }, provider: { context: "two" }, ...inputs }));
    if (limits) {
      const timeouts = new proto.ConstructRequest.CustomTimeouts();
      timeouts.setCreate(limits.create);
      timeouts.setDelete(limits.delete);
      request.setCustomtimeouts(timeouts);
    }
    return engine.call(Methods.construct, request);
  };

  it("are made with what its engine supports, which is asked once", async () => {
    const monitor = await run();
    const names = ["first", "second", "third"];
    const made = await Promise.all(names.map((name) => construct(name, monitor)));
    made.push(await construct("fourth", monitor));
    expect(made.map((response) => response.getUrn().split("::").at(-1))).to.deep.equal([...names, "fourth"]);
    const parts = (name: string) => [name, `${name}-network`, `${name}-authentication`, `${name}-resources`];
    expect([...monitor.registered].sort()).to.deep.equal([...names, "fourth"].flatMap(parts).sort());
    expect(monitor.questions).to.equal(QUESTIONS);
  });

  it("hand their time limits down to what they consist of", async () => {
    const monitor = await run();
    await construct("hasty", monitor, { create: "4s", delete: "1m" });
    await construct("patient", monitor);
    for (const part of ["network", "authentication", "resources"]) {
      expect(monitor.timeouts.get(`hasty-${part}`), part).to.deep.equal(["4s", "", "1m"]);
      expect(monitor.timeouts.get(`patient-${part}`) ?? ["", "", ""], part).to.deep.equal(["", "", ""]);
    }
  });

  it("consist of no more than the network where authentication is left out", async () => {
    const monitor = await run();
    await construct("plain", monitor, undefined, { authenticationDisabled: true });
    expect([...monitor.registered].sort()).to.deep.equal(["plain", "plain-network"]);
  });

  it("consist of as many slices as are asked for, and of others in the other direction", async () => {
    const monitor = await run();
    const gpu = { name: "gpu", resourceSliceClass: "accelerated", resources: { "example.com/gpu": "1" }, cpu: "2" };
    await construct("both", monitor, undefined, {
      bidirectional: true,
      cpu: "4",
      createVirtualNode: false,
      additionalResourceSlices: [gpu, { name: "spare", createVirtualNode: true }],
      reverse: { memory: "1Gi", resourceSliceName: "back" },
    });
    const slices = ["resources", "resources-gpu", "resources-spare", "reverse-resources"].map((part) => {
      const { name, class: ofClass, resources, createVirtualNode } = monitor.inputs.get(`both-${part}`) ?? {};
      return { name, class: ofClass, resources, createVirtualNode };
    });
    const none = { name: undefined, class: undefined, resources: undefined, createVirtualNode: undefined };
    expect(slices).to.deep.equal([
      { ...none, resources: { cpu: "4" }, createVirtualNode: false },
      { ...none, name: "gpu", class: "accelerated", resources: { "example.com/gpu": "1", cpu: "2" } },
      { ...none, name: "spare", createVirtualNode: true },
      { ...none, name: "back", resources: { memory: "1Gi" }, createVirtualNode: false },
    ]);
  });

  it("ask for the same in the other direction when nothing is said of it, and for nothing when it says so", async () => {
    const monitor = await run();
    await construct("alike", monitor, undefined, { bidirectional: true, cpu: "4" });
    expect(monitor.inputs.get("alike-reverse-resources")?.["resources"]).to.deep.equal({ cpu: "4" });
    const reverse = { createResourceSlice: false };
    await construct("oneway", monitor, undefined, { bidirectional: true, cpu: "4", reverse });
    expect(monitor.registered).to.include("oneway-reverse-authentication").and.not.include("oneway-reverse-resources");
  });

  it("hand an identity that the program brings along to the direction that it is for, secret as it is", async () => {
    const secret = (value: unknown) => ({ [SIGNATURE_KEY]: SECRET, value });
    const output = (value: unknown) => ({ [SIGNATURE_KEY]: OUTPUT_VALUE, value, secret: true });
    const kubeconfig = (server: string): string =>
      JSON.stringify({
        "current-context": "x",
        contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
        clusters: [{ name: "x", cluster: { server } }],
        users: [{ name: "x", user: {} }],
      });
    const [there, back] = [kubeconfig("https://two.example.com"), kubeconfig("https://one.example.com")];
    const policy = { authzPolicy: "TolerateNoHandshake" };
    const monitor = await run();
    await construct("brought", monitor, undefined, {
      bidirectional: true,
      ...policy,
      identityKubeconfig: output(there),
      identityUserName: "friend",
      reverse: { ...policy, identityKubeconfig: output(back) },
    });
    const given = (part: string) => monitor.inputs.get(`brought-${part}`);
    expect(given("authentication")).to.deep.include({ ...policy, kubeconfig: secret(there), userName: "friend" });
    expect(given("reverse-authentication")).to.deep.include({ ...policy, kubeconfig: secret(back) });
    expect(given("reverse-authentication")).to.not.have.property("userName");
    await construct("hither", monitor, undefined, {
      bidirectional: true,
      reverse: { ...policy, identityKubeconfig: back },
    });
    expect(monitor.inputs.get("hither-authentication")).to.not.have.property("authzPolicy");
    expect(monitor.inputs.get("hither-reverse-authentication")).to.deep.include({ ...policy, kubeconfig: back });
  });

  it("are refused when parts of theirs exclude each other, by the property's path", async () => {
    const monitor = await run();
    const refusal = (inputs: object): Promise<string> =>
      construct("refused", monitor, undefined, { ...inputs }).then(
        () => "",
        (error: unknown) => String(error),
      );
    const slices = { additionalResourceSlices: [{ name: "gpu" }, { name: "gpu" }] };
    expect(await refusal(slices)).to.contain('additionalResourceSlices[1].name: "gpu" is the name of another slice');
    expect(await refusal({ authenticationDisabled: true, networkingDisabled: true })).to.contain(
      "authenticationDisabled: nothing is left of the Peering",
    );
    expect(await refusal({ ...slices, authenticationDisabled: true })).to.contain(
      "additionalResourceSlices: need the identity",
    );
    expect(monitor.registered).to.deep.equal([]);
  });

  it("of another run are made with what that one's engine supports", async () => {
    const [one, other] = [await run(), await run()];
    await Promise.all([construct("here", one), construct("there", other)]);
    expect(one.registered).to.include("here-network").and.not.include("there-network");
    expect(other.registered).to.include("there-network").and.not.include("here-network");
    expect([one.questions, other.questions]).to.deep.equal([QUESTIONS, QUESTIONS]);
  });

  it("of a run whose engine has gone fail, and those of the next are made", async () => {
    const gone = await run();
    gone.stop();
    const failure = await construct("lost", gone).then(
      () => "",
      (error: unknown) => String(error),
    );
    expect(failure).to.match(/UNAVAILABLE|ECONNREFUSED|No connection/);
    const next = await run();
    expect((await construct("found", next)).getUrn()).to.contain("found");
  });
});
