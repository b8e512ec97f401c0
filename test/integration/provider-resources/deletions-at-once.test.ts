import { setTimeout } from "node:timers/promises";
import { expect } from "chai";
import { ResourceSliceResource, VirtualNodeResource } from "../../../agent/api/index.js";
import { isDeleting, SecretResource } from "../../../agent/runtime/index.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { until } from "../../clusters/support/wait.js";
import { Plugin, failureOf } from "./support/plugin.js";
import { identityOfSlice, identitySecret } from "./support/slice-identity.js";
import { startSimulatedPair, type SimulatedPair } from "./support/simulated-pair.js";

const NAMESPACE = "liqo-tenant-provider";
const RESOURCES = { cpu: "1", memory: "1Gi", pods: "10" };
/** Longer than what is to stay is looked at. */
const DRAIN_MS = 6_000;

/** Real API servers with simulated agents: resources that do not depend on each other in the program are deleted at the same moment. */
describe("resources of one peering that are deleted at once", function () {
  this.timeout(120_000);
  let simulated: SimulatedPair;
  let plugin: Plugin;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    simulated = await startSimulatedPair({ namespacesEnd: true });
    plugin = await Plugin.start();
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  /** Makes the node's deletion take its time, as a drain does. Resolves once the node has begun to go. */
  async function holdDrain(name: string): Promise<{ begun: () => Promise<unknown>; end: () => Promise<unknown> }> {
    const { client } = simulated.servers.consumer;
    const id = { name, namespace: NAMESPACE };
    const finalizers = async (list: string[] | null) =>
      client.mergePatch(VirtualNodeResource, id, { metadata: { finalizers: list } });
    await finalizers(["held.example/by-a-test"]);
    return {
      begun: () =>
        until("the node's deletion", 40_000, async () => {
          const node = await client.get(VirtualNodeResource, id);
          return (node && isDeleting(node)) || undefined;
        }),
      end: () => finalizers(null),
    };
  }

  const slices = async () => (await simulated.servers.consumer.client.list(ResourceSliceResource)).items;

  it("an Authentication lets a slice go first whose node drains, and is refused for one that stays", async () => {
    const authentication = await plugin.create("Authentication", simulated.clusters);
    const slice = await plugin.create("ResourceSlice", { ...simulated.clusters, name: "some", resources: RESOURCES });
    expect((await failureOf(plugin.delete(authentication))).message).to.contain(
      "ResourceSlice some still uses this authentication: delete it first",
    );
    const drain = await holdDrain("some");
    const deletions = Promise.all([plugin.delete(authentication), plugin.delete(slice)]);
    deletions.catch(() => undefined);
    await drain.begun();
    await setTimeout(DRAIN_MS);
    await drain.end();
    await deletions;
    expect(await slices()).to.deep.equal([]);
  });

  it("a slice keeps its identity while a node of another resource drains that works with it", async () => {
    const authentication = await plugin.create("Authentication", simulated.clusters);
    const slice = await plugin.create("ResourceSlice", {
      ...simulated.clusters,
      name: "some",
      resources: RESOURCES,
      createVirtualNode: false,
    });
    await identityOfSlice(simulated.servers.consumer.client, "some");
    const node = await plugin.create("VirtualNode", {
      cluster: simulated.clusters.consumer,
      providerClusterId: "provider",
      name: "big",
      resourceSliceName: "some",
      resources: RESOURCES,
    });
    const drain = await holdDrain("big");
    const deletions = Promise.all([authentication, slice, node].map((one) => plugin.delete(one)));
    deletions.catch(() => undefined);
    await drain.begun();
    await setTimeout(DRAIN_MS);
    expect((await slices()).map(isDeleting)).to.deep.equal([false]);
    // Nobody collects what an Identity owned.
    await simulated.servers.consumer.client.delete(SecretResource, identitySecret("some"));
    await drain.end();
    await deletions;
    expect(await slices()).to.deep.equal([]);
  });
});
