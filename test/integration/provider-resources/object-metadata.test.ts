import { expect } from "chai";
import { definedResources, VirtualNodeResource } from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  NamespaceResource,
  SecretResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { CheckError, Plugin } from "./support/plugin.js";
import { SIDES, startSimulatedPair, type Side, type SimulatedPair } from "./support/simulated-pair.js";

const GLOBAL = { globalLabels: { team: "platform" }, globalAnnotations: { "example.com/ticket": "T 1" } };

/** Real API servers with simulated agents: labels and annotations of the provider and of each resource, on whatever is created. */
describe("labels and annotations for all created objects", function () {
  this.timeout(120_000);
  let servers: Record<Side, ApiServer>;
  let simulated: SimulatedPair;
  let plugin: Plugin;
  let pair: Record<string, { kubeconfig: string }>;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    simulated = await startSimulatedPair();
    ({ servers, clusters: pair } = simulated);
    plugin = await Plugin.start(GLOBAL);
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  /** Objects that the provider has written, by its field managers. */
  async function written(): Promise<KubeObject[]> {
    const types = [...definedResources(), NamespaceResource, SecretResource, ConfigMapResource] as ResourceType[];
    const list = async (client: KubeClient) => {
      const lists = await Promise.all(types.map((type) => client.list(type)));
      return lists.flatMap(({ items }) => items);
    };
    const all = (await Promise.all(SIDES.map((side) => list(servers[side].client)))).flat();
    return all.filter(({ metadata }) =>
      metadata?.managedFields?.some(({ manager }) => manager?.startsWith("pulumi-liqo")),
    );
  }

  it("are put on every object, follow changes, and are restored when somebody takes them off", async () => {
    const own = { ...pair, objectLabels: { env: "test" }, objectAnnotations: { note: "kept for a while" } };
    let link = await plugin.create("NetworkLink", own);
    const authentication = await plugin.create("Authentication", own);
    const slice = await plugin.create("ResourceSlice", own);
    const namespace = { name: "shop" };
    await servers.consumer.client.create(NamespaceResource, { metadata: namespace }, { fieldManager: "someone" });
    const offloading = await plugin.create("NamespaceOffloading", {
      cluster: pair["consumer"],
      namespace: "shop",
      objectLabels: own.objectLabels,
      objectAnnotations: own.objectAnnotations,
    });
    const objects = await written();
    expect(objects.map(({ kind }) => kind)).to.include.members([
      "Namespace",
      "Secret",
      "Configuration",
      "GatewayServer",
      "GatewayClient",
      "PublicKey",
      "Tenant",
      "Identity",
      "ResourceSlice",
      "NamespaceOffloading",
    ]);
    for (const { kind, metadata } of objects) {
      const name = `${kind} ${metadata?.name}`;
      expect(metadata?.labels, name).to.include({ team: "platform", env: "test" });
      expect(metadata?.annotations, name).to.include({ "example.com/ticket": "T 1", note: "kept for a while" });
    }

    const gone = { metadata: { labels: { env: null } } };
    await servers.provider.client.mergePatch(
      resource(objects, "GatewayServer"),
      nameOf(objects, "GatewayServer"),
      gone,
    );
    const drifted = await plugin.refresh(link);
    expect(drifted?.state["drift"]).to.deep.equal(["provider: GatewayServer consumer has another metadata.labels.env"]);
    expect(await plugin.diff(drifted!, own)).to.deep.equal({ drift: "update" });
    link = await plugin.update(drifted!, { ...own, objectLabels: { env: "test", stage: "production" } });
    expect((await plugin.refresh(link))?.state["drift"]).to.deep.equal([]);
    const [server] = (await written()).filter(({ kind }) => kind === "GatewayServer");
    expect(server?.metadata?.labels).to.include({ team: "platform", env: "test", stage: "production" });

    // Of resources that share a namespace each has its own say; without a say the label goes.
    link = await plugin.update(link, { ...pair });
    const tenantNamespaces = (await written()).filter(({ kind }) => kind === "Namespace");
    expect(tenantNamespaces).to.have.length(2);
    for (const { metadata } of tenantNamespaces) expect(metadata?.labels).to.include({ env: "test" });
    const [later] = (await written()).filter(({ kind }) => kind === "GatewayServer");
    expect(later?.metadata?.labels).to.not.have.property("env");
    expect(later?.metadata?.labels).to.include({ team: "platform" });

    await plugin.configure({});
    expect(await plugin.diff(slice, own)).to.deep.equal({
      "objectLabels.team": "delete",
      'objectAnnotations["example.com/ticket"]': "delete",
    });
    for (const kept of [offloading, slice, authentication, link]) await plugin.delete(kept);
    expect(await servers.consumer.client.list(VirtualNodeResource))
      .to.have.property("items")
      .with.length(0);
  });

  it("cannot be what objects are found by, and must be labels", async () => {
    const failure = await plugin
      .check("NetworkLink", {
        ...pair,
        objectLabels: { "liqo.io/remote-cluster-id": "x", "-bad": "x", long: "x".repeat(64) },
        objectAnnotations: { "link.pulumi-liqo/consumer": "true" },
      })
      .then(
        () => undefined,
        (error: unknown) => error as CheckError,
      );
    const said = Object.fromEntries((failure?.failures ?? []).map(({ property, reason }) => [property, reason]));
    expect(said['objectLabels["liqo.io/remote-cluster-id"]']).to.contain("set by this package itself");
    expect(said['objectLabels["-bad"]']).to.contain("is not a key");
    expect(said["objectLabels.long"]).to.contain("is not the value of a label");
    expect(said['objectAnnotations["link.pulumi-liqo/consumer"]']).to.contain("set by this package itself");
  });
});

function resource(objects: KubeObject[], kind: string): ResourceType {
  const found = definedResources().find((type) => type.kind === kind && objects.some((object) => object.kind === kind));
  if (!found) throw new Error(`there is no ${kind}`);
  return found;
}

function nameOf(objects: KubeObject[], kind: string): { name: string; namespace?: string } {
  const { name = "", namespace } = objects.find((object) => object.kind === kind)?.metadata ?? {};
  return { name, namespace };
}
