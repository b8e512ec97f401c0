import { expect } from "chai";
import {
  Annotations,
  GatewayServerResource,
  Names,
  NamespaceOffloadingResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import { makeKeyPair } from "../../../agent/crypto/index.js";
import {
  isDeleting,
  NamespaceResource,
  SecretResource,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { valueAt, type PropertyPath } from "../../../provider/framework/property-path.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { failureOf, Plugin, type Kept } from "./support/plugin.js";
import { startSimulatedPair, type Side, type SimulatedPair } from "./support/simulated-pair.js";
import { identityOfSlice } from "./support/slice-identity.js";

type Inputs = Record<string, unknown>;

/** What somebody adds to an object, by another field manager, where the program says nothing. */
const ADDITIONS: { type: string; of: ResourceType; side: Side; at: PropertyPath; value: unknown }[] = [
  {
    type: "NetworkLink",
    of: GatewayServerResource,
    side: "provider",
    at: ["spec", "endpoint", "nodePort"],
    value: 31_234,
  },
  {
    type: "NetworkLink",
    of: GatewayServerResource,
    side: "provider",
    at: ["spec", "endpoint", "loadBalancerIP"],
    value: "203.0.113.9",
  },
  { type: "Authentication", of: TenantResource, side: "provider", at: ["spec", "proxyURL"], value: "http://x:1" },
  {
    type: "ResourceSlice",
    of: ResourceSliceResource,
    side: "consumer",
    at: ["spec", "resources", "memory"],
    value: "1Gi",
  },
  {
    type: "ResourceSlice",
    of: ResourceSliceResource,
    side: "consumer",
    at: ["metadata", "annotations", Annotations.createVirtualNode],
    value: "true",
  },
  {
    type: "VirtualNode",
    of: VirtualNodeResource,
    side: "consumer",
    at: ["spec", "resourceQuota", "hard", "memory"],
    value: "1Gi",
  },
];

const CLUSTERS = { consumer: { context: "consumer" }, provider: { context: "provider" } };
const PROGRAM: Record<string, Inputs> = {
  NetworkLink: CLUSTERS,
  Authentication: CLUSTERS,
  ResourceSlice: { ...CLUSTERS, name: "slice", resources: { cpu: "2" }, createVirtualNode: false },
  VirtualNode: {
    cluster: CLUSTERS.consumer,
    name: "node",
    providerClusterId: "provider",
    resourceSliceName: "other",
    resources: { cpu: "1" },
  },
};

/** Real API servers with simulated agents: what a program leaves out stays out, whoever has put it there; but what is left to others stays theirs. */
describe("what others add to objects of a program", function () {
  this.timeout(300_000);
  let simulated: SimulatedPair;
  let plugin: Plugin;
  const made = new Map<string, Kept>();

  before(async function () {
    this.timeout(START_LIMIT_MS);
    simulated = await startSimulatedPair({ asContexts: true });
    plugin = await Plugin.start();
    for (const [type, inputs] of Object.entries(PROGRAM)) {
      if (type === "VirtualNode") await identityOfSlice(simulated.servers.consumer.client, "other");
      made.set(type, await plugin.create(type, inputs));
    }
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  const one = async (type: ResourceType, side: Side): Promise<KubeObject> => {
    const [found] = (await simulated.servers[side].client.list(type)).items;
    if (!found) throw new Error(`there is no ${type.kind} on the ${side}`);
    return found;
  };
  const patch = async (type: ResourceType, side: Side, body: object): Promise<void> => {
    const { name = "", namespace } = (await one(type, side)).metadata ?? {};
    await simulated.servers[side].client.mergePatch(type, { name, namespace }, body, { fieldManager: "somebody" });
  };
  const keep = (kept: Kept): Kept => {
    made.set(kept.type, kept);
    return kept;
  };
  const kept = (type: string): Kept => {
    const found = made.get(type);
    if (!found) throw new Error(`there is no ${type}`);
    return found;
  };

  for (const { type, of, side, at, value } of ADDITIONS) {
    it(`is seen by a refresh and goes with the next update: ${type} ${at.join(".")}`, async () => {
      const added = at.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object;
      await patch(of, side, added);
      const found = await plugin.refresh(kept(type));
      expect(await plugin.diff(found!, PROGRAM[type] ?? {})).to.not.deep.equal({});
      const updated = keep(await plugin.update(found!, PROGRAM[type] ?? {}));
      expect(valueAt(await one(of, side), at)).to.equal(undefined);
      // To the one change and to the other.
      await simulated.rest();
      const after = await plugin.refresh(updated);
      expect(after?.state["drift"]).to.deep.equal([]);
      expect(await plugin.diff(after!, PROGRAM[type] ?? {})).to.deep.equal({});
    });
  }

  describe("to the annotations of a NamespaceOffloading", () => {
    const disconnected = Annotations.evictionAfterDisconnect;
    const unschedulable = Annotations.evictionAfterUnschedulable;
    const agreement = Annotations.deleteRemoteVolumes;
    const access = Annotations.apiServerSupport;
    const namespaced = { cluster: CLUSTERS.consumer, namespace: "shop" };
    const named = { evictionAfterDisconnect: "30", deleteRemoteVolumes: true };
    const id = { name: Names.namespaceOffloading, namespace: "shop" };
    const annotations = async () => (await one(NamespaceOffloadingResource, "consumer")).metadata?.annotations ?? {};
    const annotate = (more: Record<string, string | null>) =>
      patch(NamespaceOffloadingResource, "consumer", { metadata: { annotations: more } });
    const change = async (inputs: Inputs): Promise<Kept> =>
      keep(await plugin.update(kept("NamespaceOffloading"), { ...namespaced, ...inputs }));
    const refreshed = async (): Promise<Kept> => {
      await simulated.rest();
      const found = await plugin.refresh(kept("NamespaceOffloading"));
      return keep(found!);
    };

    it("stays, and is no drift, where no input names it", async () => {
      await simulated.servers.consumer.client.create(NamespaceResource, { metadata: { name: "shop" } });
      keep(await plugin.create("NamespaceOffloading", namespaced));
      await annotate({ [disconnected]: "60", [agreement]: "true", [access]: "remote" });
      const found = await refreshed();
      expect(found.state["drift"]).to.deep.equal([]);
      expect(await plugin.diff(found, namespaced)).to.deep.equal({});
      await change({ evictionAfterUnschedulable: "10" });
      expect(await annotations()).to.deep.equal({
        [disconnected]: "60",
        [unschedulable]: "10",
        [agreement]: "true",
        [access]: "remote",
      });
      await change({});
      expect(await annotations()).to.deep.equal({ [disconnected]: "60", [agreement]: "true", [access]: "remote" });
    });

    it("gives way to an input that names it, and goes when that is left out again", async () => {
      await change(named);
      expect(await annotations()).to.deep.equal({ [disconnected]: "30", [agreement]: "true", [access]: "remote" });
      await annotate({ [disconnected]: "90", [agreement]: null });
      const found = await refreshed();
      expect(found.inputs).to.include({ evictionAfterDisconnect: "90", deleteRemoteVolumes: false });
      expect(await plugin.diff(found, { ...namespaced, ...named })).to.have.all.keys(Object.keys(named));
      await change(named);
      expect(await annotations()).to.deep.equal({ [disconnected]: "30", [agreement]: "true", [access]: "remote" });
      await change({});
      expect(await annotations()).to.deep.equal({ [access]: "remote" });
    });

    it("is imported, and goes when the program leaves it out, though others have put it there", async () => {
      await annotate({ [disconnected]: "never", [agreement]: "false" });
      const imported = await plugin.import("NamespaceOffloading", `${kept("NamespaceOffloading").id}@consumer`);
      const told = { evictionAfterDisconnect: "never", apiServerSupport: "remote" };
      expect(imported?.inputs).to.include(told).and.to.not.have.property("deleteRemoteVolumes");
      expect(await plugin.diff(imported!, { ...namespaced, ...told })).to.deep.equal({});
      keep(imported!);
      await change({ apiServerSupport: "remote" });
      expect(await annotations()).to.deep.equal({ [agreement]: "false", [access]: "remote" });
    });

    it("is still there when the deletion comes, which the agreement is for", async () => {
      const { client } = simulated.servers.consumer;
      await change({ deleteRemoteVolumes: true });
      await client.mergePatch(NamespaceOffloadingResource, id, {
        metadata: { finalizers: ["held.example/by-a-test"] },
      });
      const ended = plugin.delete(kept("NamespaceOffloading"));
      const ending = await until("the deletion", 40_000, async () => {
        const now = await client.get(NamespaceOffloadingResource, id);
        return now && isDeleting(now) ? now : undefined;
      });
      expect(ending.metadata.annotations).to.include({ [agreement]: "true" });
      await client.mergePatch(NamespaceOffloadingResource, id, { metadata: { finalizers: null } });
      await ended;
    });
  });

  it("is a key of the consumer's, too, which a refresh finds and the next update registers", async () => {
    const { client } = simulated.servers.consumer;
    const { privateKey, publicKey } = await makeKeyPair();
    const encoded = (text: string): string => Buffer.from(text).toString("base64");
    const data = { privateKey: encoded(privateKey), publicKey: encoded(publicKey) };
    const id = { name: Names.authenticationKeysSecret, namespace: Names.namespace };
    await client.mergePatch(SecretResource, id, { data });
    const found = await plugin.refresh(kept("Authentication"));
    expect((found?.state["drift"] as string[]).join("\n")).to.contain("the Tenant is of another key");
    const updated = keep(await plugin.update(found!, CLUSTERS));
    expect(valueAt(await one(TenantResource, "provider"), ["spec", "publicKey"])).to.equal(data.publicKey);
    expect((await plugin.refresh(updated))?.state["drift"]).to.deep.equal([]);
  });

  describe("to a consumer's condition", () => {
    const condition = async () => valueAt(await one(TenantResource, "provider"), ["spec", "tenantCondition"]);
    const authenticate = async (more: Inputs): Promise<Kept> =>
      keep(await plugin.update(kept("Authentication"), { ...CLUSTERS, ...more }));

    it("is as the program says, Drained too, which gives nothing up that is known", async () => {
      const before = (await plugin.refresh(kept("Authentication")))?.state;
      const drained = await authenticate({ tenantCondition: "Drained" });
      expect(await condition()).to.equal("Drained");
      expect(drained.state["apiServer"]).to.equal(before?.["apiServer"]);
      expect((await plugin.refresh(drained))?.state["drift"]).to.deep.equal([]);
      await authenticate({ tenantCondition: "Cordoned" });
      expect(await condition()).to.equal("Cordoned");
    });

    it("stays as it is once the program says nothing of it", async () => {
      await authenticate({});
      expect(await condition()).to.equal("Cordoned");
      await patch(TenantResource, "provider", { spec: { tenantCondition: "Drained" } });
      const { message } = await failureOf(
        plugin.update(kept("Authentication"), { ...CLUSTERS, forceUnreachable: true, proxyURL: "http://y:1" }),
      );
      expect(message).to.contain("it is Drained: access is revoked");
      expect(await condition()).to.equal("Drained");
    });
  });
});
