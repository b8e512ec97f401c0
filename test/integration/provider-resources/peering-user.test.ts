import { expect } from "chai";
import { NamespaceResource, RoleBindingResource } from "../../../agent/runtime/index.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { failureOf, Plugin, type Kept } from "./support/plugin.js";
import { startSimulatedPair, type SimulatedPair } from "./support/simulated-pair.js";

type Inputs = Record<string, unknown>;

/** Real API servers with simulated agents: the credential that was handed out stays good for as long as nothing asks for another. */
describe("a PeeringUser's credential", function () {
  this.timeout(180_000);
  let simulated: SimulatedPair;
  let plugin: Plugin;
  let kept: Kept;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    simulated = await startSimulatedPair({ signing: ["provider"], namespacesEnd: true });
    plugin = await Plugin.start();
    kept = await plugin.create("PeeringUser", inputs());
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  function inputs(more: Inputs = {}): Inputs {
    return { cluster: { kubeconfig: simulated.servers.provider.kubeconfig }, consumerClusterId: "someone", ...more };
  }
  const bindings = async () => {
    const { items } = await simulated.servers.provider.client.list(RoleBindingResource);
    return items.filter(({ subjects }) => subjects?.some(({ name }) => name === kept.state["userName"]));
  };

  it("stays while only the provider's own access, or labels, change", async () => {
    const rotated = await simulated.servers.provider.kubeconfigFor("another-administrator", ["system:masters"]);
    const news = inputs({ cluster: { kubeconfig: rotated }, objectLabels: { team: "platform" } });
    expect((await plugin.previewUpdate(kept, news))["userName"]).to.equal(kept.state["userName"]);
    const changed = await plugin.update(kept, news);
    expect(changed.state["userName"]).to.equal(kept.state["userName"]);
    expect(changed.state["kubeconfig"]).to.deep.equal(kept.state["kubeconfig"]);
    const labels = (await bindings()).map(({ metadata }) => metadata?.labels?.["team"]);
    expect(labels).to.deep.equal(["platform", "platform"]);
    kept = changed;
  });

  it("stays when labels of its bindings have drifted, which are repaired", async () => {
    const [binding] = await bindings();
    const { name = "", namespace } = binding?.metadata ?? {};
    const patch = { metadata: { labels: { team: null } } };
    await simulated.servers.provider.client.mergePatch(RoleBindingResource, { name, namespace }, patch);
    const found = await plugin.refresh(kept);
    expect((found?.state["drift"] as string[]).join()).to.match(/metadata\.labels\.team/);
    const repaired = await plugin.update(found!, kept.inputs);
    expect(repaired.state["userName"]).to.equal(kept.state["userName"]);
    expect((await plugin.refresh(repaired))?.state["drift"]).to.deep.equal([]);
  });

  it("is another one when its rights were taken away, or it is to lead elsewhere", async () => {
    const [binding] = await bindings();
    const { name = "", namespace } = binding?.metadata ?? {};
    await simulated.servers.provider.client.delete(RoleBindingResource, { name, namespace });
    const found = await plugin.refresh(kept);
    const renewed = await plugin.update(found!, kept.inputs);
    expect(renewed.state["userName"]).to.not.equal(kept.state["userName"]);
    const elsewhere = await plugin.update(renewed, { ...kept.inputs, apiServer: "https://api.example.com:6443" });
    expect(elsewhere.state["userName"]).to.not.equal(renewed.state["userName"]);
    expect(JSON.stringify(elsewhere.state["kubeconfig"])).to.contain("https://api.example.com:6443");
    kept = elsewhere;
  });

  it("that was never handed out is told by a refresh, and made by the next update", async () => {
    const partial = Object.entries(kept.state).filter(([key]) => key !== "kubeconfig" && key !== "expirationTimestamp");
    const found = await plugin.refresh({ ...kept, state: Object.fromEntries(partial) });
    expect((found?.state["drift"] as string[]).join()).to.contain("the credential is missing");
    const completed = await plugin.update(found!, kept.inputs);
    expect(completed.state["kubeconfig"]).to.not.equal(undefined);
    expect((await failureOf(plugin.import("PeeringUser", kept.id))).message).to.contain("cannot be imported");
    kept = completed;
  });

  it("is not taken away by another PeeringUser, nor by several at once; what broke off goes on", async () => {
    const news = inputs({ consumerClusterId: "wanted" });
    const plugins = await Promise.all([Plugin.start(), Plugin.start()]);
    const [one, two] = plugins;
    [one.name, two.name] = ["one", "two"];
    const tries = await Promise.allSettled(plugins.map((each) => each.create("PeeringUser", news)));
    expect(tries.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected"]);
    const [winner, loser] = tries[0]?.status === "fulfilled" ? [one, two] : [two, one];
    const { message, partial } = await failureOf(loser.create("PeeringUser", news));
    expect(message)
      .to.contain("RoleBinding liqo/liqo-peer-user-wanted-liqo-ns-reader (made by urn:")
      .and.to.contain(`::${winner.name})`)
      .and.to.contain("consumer wanted");
    expect(partial).to.equal(undefined);
    const [first] = tries.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect((await winner.refresh(first!))?.state["drift"]).to.deep.equal([]);
    // As an engine does that was killed before it knew of the first creation's end.
    const again = await winner.create("PeeringUser", news);
    expect((await winner.refresh(again))?.state["drift"]).to.deep.equal([]);
    await winner.delete(again);
    const taken = await loser.create("PeeringUser", news);
    await loser.delete(taken);
    await Promise.all(plugins.map((each) => each.stop()));
  });

  it("is not that of one who was let in by hand", async () => {
    const { client } = simulated.servers.provider;
    const metadata = { name: "liqo-peer-user-guest-liqo-ns-reader", namespace: "liqo" };
    const apiGroup = "rbac.authorization.k8s.io";
    const roleRef = { apiGroup, kind: "Role", name: "liqo-peering-user-liqo-ns" };
    const subjects = [{ apiGroup, kind: "User", name: "liqo-peer-user-guest-1" }];
    await client.create(RoleBindingResource, { metadata, roleRef, subjects });
    const { message } = await failureOf(plugin.create("PeeringUser", inputs({ consumerClusterId: "guest" })));
    expect(message).to.contain(`RoleBinding liqo/${metadata.name}`).and.to.contain("delete it first");
    expect((await client.get(RoleBindingResource, metadata))?.subjects).to.deep.equal(subjects);
  });
});

/** A peering user may look into one namespace only, and its kubeconfig does not say which. */
describe("a PeeringUser of an agent that is in a namespace of another name", function () {
  this.timeout(180_000);
  const AGENT_NAMESPACE = "mesh-system";
  const TENANT = "liqo-tenant-consumer";
  let simulated: SimulatedPair;
  let plugin: Plugin;
  let kept: Kept;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    const agentNamespaces = { provider: AGENT_NAMESPACE };
    simulated = await startSimulatedPair({ signing: ["provider"], namespacesEnd: true, agentNamespaces });
    plugin = await Plugin.start();
    kept = await plugin.create("PeeringUser", {
      cluster: simulated.clusters.provider,
      consumerClusterId: "consumer",
      apiServer: simulated.servers.provider.url,
    });
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  const asUser = () => ({
    consumer: simulated.clusters.consumer,
    provider: { kubeconfig: kept.state["kubeconfig"] },
  });
  const annotations = async () =>
    (await simulated.servers.provider.client.get(NamespaceResource, { name: TENANT }))?.metadata?.annotations;

  it("finds it, and peers with it", async () => {
    for (const type of ["NetworkLink", "Authentication"]) {
      expect((await plugin.previewCreate(type, asUser()))["providerClusterId"]).to.equal("provider");
    }
    const peered = await plugin.create("Authentication", asUser());
    expect(plugin.logs.filter((line) => line.includes("the credentials may not"))).to.deep.equal([]);
    expect((await plugin.refresh(peered))?.state["drift"]).to.deep.equal([]);
    await plugin.delete(peered);
  });

  it("is told where it is again when that was taken off its namespace", async () => {
    const { client } = simulated.servers.provider;
    const before = await annotations();
    const gone = Object.fromEntries(Object.keys(before ?? {}).map((key) => [key, null]));
    await client.mergePatch(NamespaceResource, { name: TENANT }, { metadata: { annotations: gone } });
    // One that has found the agent before remembers that for a moment.
    const another = await Plugin.start();
    const { message } = await failureOf(another.create("Authentication", asUser()));
    expect(message).to.contain("configmaps").and.to.contain("forbidden");
    await another.stop();
    const found = await plugin.refresh(kept);
    expect(found?.state["drift"]).to.deep.equal(["the tenant namespace does not say where the agent is"]);
    const repaired = await plugin.update(found!, kept.inputs);
    expect(repaired.state["userName"]).to.equal(kept.state["userName"]);
    expect(await annotations()).to.deep.equal(before);
    kept = repaired;
  });

  it("leaves nothing of that in a namespace that stays", async () => {
    const { client } = simulated.servers.provider;
    const labels = { "app.kubernetes.io/managed-by": "somebody" };
    await client.mergePatch(NamespaceResource, { name: TENANT }, { metadata: { labels } });
    await plugin.delete(kept);
    expect(JSON.stringify((await annotations()) ?? {})).to.not.contain(AGENT_NAMESPACE);
  });
});
