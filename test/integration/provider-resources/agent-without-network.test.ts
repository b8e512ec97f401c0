import { expect } from "chai";
import { agentManifests } from "../../../agent/install/index.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import {
  ConfigMapResource,
  describeObject,
  NamespaceResource,
  NodeResource,
  type KubeClient,
  type KubeObject,
} from "../../../agent/runtime/index.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { startInstallableServer } from "./support/installable-server.js";
import { Plugin, type Kept } from "./support/plugin.js";

const RANGES = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };
/** Without a network, whose ranges an import could tell. */
const BARE = { clusterId: "one", networkingEnabled: false };
const GLOBAL = { globalLabels: { team: "platform", env: "any" }, globalAnnotations: { "example.com/ticket": "T 1" } };
const OWN = { labels: { env: "test" }, annotations: { note: "kept for a while" } };
const INPUTS = { ...BARE, ...RANGES, ...OWN };

/** A real API server, whose workloads count as running. */
describe("an Agent without a network", function () {
  this.timeout(120_000);
  let server: ApiServer;
  let client: KubeClient;
  let plugin: Plugin;
  let kept: Kept;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startInstallableServer("one");
    ({ client } = server);
    plugin = await Plugin.start({ kubeconfig: server.kubeconfigPath });
  });
  after(async () => {
    await plugin?.stop();
    await server?.stop();
  });

  const configure = (globals: object) => plugin.configure({ kubeconfig: server.kubeconfigPath, ...globals });

  /** Every object of the installation, as it is in the cluster. */
  async function installed(): Promise<KubeObject[]> {
    const inputs = agentInputs.parse(BARE);
    const manifests = agentManifests(installInputs(inputs, { ...RANGES, apiServerAddress: "" }));
    return Promise.all(
      manifests.map(async (manifest) => {
        const type = resourceTypeOf(manifest);
        const { name = "", namespace } = manifest.metadata ?? {};
        const live = await client.get(type, { name, namespace });
        if (!live) throw new Error(`${describeObject(type, name, namespace)} is missing`);
        return { ...live, kind: manifest.kind };
      }),
    );
  }

  async function expectMarked(labels: object, annotations = {}): Promise<void> {
    for (const { kind, metadata } of await installed()) {
      const name = `${kind} ${metadata?.name}`;
      expect(metadata?.labels, name).to.include(labels);
      expect(metadata?.annotations ?? {}, name).to.include(annotations);
    }
  }

  it("needs no ranges, which one with a network does; ranges of the present nodes alone are worth a warning", async () => {
    await plugin.check("Agent", BARE);
    const refusal = await plugin.check("Agent", { clusterId: "one" }).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    expect(refusal?.message).to.match(/^podCIDRs: cluster one does not tell the range of its pods/);
    const node = { metadata: { name: "n" }, spec: { podCIDR: "10.1.3.0/24", podCIDRs: ["10.1.3.0/24"] } };
    await client.create(NodeResource, node);
    await plugin.check("Agent", { clusterId: "one", podCIDRs: ["10.1.0.0/16"] });
    const warned = (): string[] =>
      plugin.engine.lines.filter(({ ephemeral }) => !ephemeral).map(({ message }) => message);
    expect(warned().filter((line) => line.includes("podCIDRs"))).to.deep.equal([]);
    await plugin.check("Agent", { clusterId: "one" });
    expect(warned().at(-1)).to.match(/tells only the ranges of its present nodes \(10\.1\.3\.0\/24\)/);
    await client.delete(NodeResource, node.metadata);
  });

  it("shows no change where the provider has no labels and annotations for all objects", async () => {
    kept = await plugin.create("Agent", INPUTS);
    expect(kept.inputs).to.deep.include(OWN);
    expect(await plugin.diff(kept, INPUTS)).to.deep.equal({});
  });

  it("gets them in place once it has, beneath its own, on every object", async () => {
    await configure(GLOBAL);
    // A refresh before tells nothing: the state does not ask for them yet.
    expect((await plugin.refresh(kept))?.state["drift"]).to.deep.equal([]);
    expect(await plugin.diff(kept, INPUTS)).to.deep.equal({
      "labels.team": "add",
      'annotations["example.com/ticket"]': "add",
    });
    kept = await plugin.update(kept, INPUTS);
    await expectMarked({ team: "platform", env: "test" }, { ...OWN.annotations, ...GLOBAL.globalAnnotations });
    expect(await plugin.diff(kept, INPUTS)).to.deep.equal({});
  });

  it("misses them where somebody has taken them off, and puts them back", async () => {
    const id = { name: "liqo-clusterid-configmap", namespace: "liqo" };
    await client.mergePatch(ConfigMapResource, id, { metadata: { labels: { team: null } } });
    const refreshed = await plugin.refresh(kept);
    expect(refreshed?.inputs).to.deep.equal(kept.inputs);
    expect(refreshed?.state["drift"]).to.deep.equal([
      "ConfigMap liqo-clusterid-configmap has another metadata.labels.team",
    ]);
    kept = await plugin.update(refreshed!, INPUTS);
    await expectMarked({ team: "platform" });
  });

  it("loses them when the provider no longer has them", async () => {
    await configure({});
    expect(await plugin.diff(kept, INPUTS)).to.deep.equal({
      "labels.team": "delete",
      'annotations["example.com/ticket"]': "delete",
    });
    kept = await plugin.update(kept, INPUTS);
    for (const { kind, metadata } of await installed()) {
      expect(metadata?.labels, `${kind} ${metadata?.name}`).to.not.have.property("team");
    }
  });

  it("is imported as it is: nothing of a network is missed, and the next update goes on from there", async () => {
    const imported = await plugin.import("Agent", "one");
    expect(imported?.inputs).to.include({ networkingEnabled: false, image: kept.inputs["image"] });
    expect(await plugin.diff(imported!, BARE)).to.deep.equal({});
    const refreshed = await plugin.refresh(imported!);
    expect(refreshed?.inputs).to.deep.equal(imported?.inputs);
    expect(await plugin.diff(refreshed!, { ...BARE, replicas: 2 })).to.deep.equal({ replicas: "update" });
    kept = await plugin.update(refreshed!, { ...BARE, replicas: 2 });
    expect((await plugin.refresh(kept))?.state["drift"]).to.deep.equal([]);
  });

  it("goes", async () => {
    await plugin.delete(kept);
    expect(await client.get(NamespaceResource, { name: "liqo" })).to.equal(undefined);
  });
});
