import { expect } from "chai";
import { ConfigurationResource, GatewayClientResource, GatewayServerResource } from "../../../agent/api/index.js";
import type { ResourceType } from "../../../agent/runtime/index.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { Plugin } from "./support/plugin.js";
import { SIDES, startSimulatedPair, type SimulatedPair } from "./support/simulated-pair.js";

/** Real API servers with simulated agents: NetworkLinks of both directions that are made, and deleted, at the same moment. */
describe("network links of both directions at once", function () {
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

  const count = (type: ResourceType): Promise<number[]> =>
    Promise.all(SIDES.map(async (side) => (await simulated.servers[side].client.list(type)).items.length));

  it("agree on one pair of gateways, and leave nothing", async () => {
    const { consumer, provider } = simulated.clusters;
    const links = await Promise.all([
      plugin.create("NetworkLink", { consumer, provider }),
      plugin.create("NetworkLink", { consumer: provider, provider: consumer }),
    ]);
    const servers = await count(GatewayServerResource);
    expect([...servers].sort(), "gateway servers").to.deep.equal([0, 1]);
    expect(await count(GatewayClientResource), "gateway clients").to.deep.equal(servers.map((some) => 1 - some));
    await Promise.all(links.map((link) => plugin.delete(link)));
    for (const type of [ConfigurationResource, GatewayServerResource, GatewayClientResource] as ResourceType[]) {
      expect(await count(type), type.plural).to.deep.equal([0, 0]);
    }
  });

  it("move the server where it is asked for, though the other direction's identity keeps the link", async () => {
    const { consumer, provider } = simulated.clusters;
    const pair = { consumer, provider };
    const link = await plugin.create("NetworkLink", { ...pair, gatewayServerLocation: "Provider" });
    const back = await plugin.create("Authentication", { consumer: provider, provider: consumer });
    expect(await count(GatewayServerResource)).to.deep.equal([0, 1]);
    // As an engine replaces it: what hangs on it by dependsOn alone stays meanwhile.
    await plugin.delete(link);
    expect(await count(GatewayServerResource), "kept for the other direction").to.deep.equal([0, 1]);
    const news = { ...pair, gatewayServerLocation: "Consumer", mtu: 1380 };
    expect((await plugin.refresh({ ...link, inputs: news }))?.state["drift"]).to.deep.equal([
      "provider: the gateway server is here, not at the side that gatewayServerLocation names",
    ]);
    const moved = await plugin.create("NetworkLink", news);
    expect([await count(GatewayServerResource), await count(GatewayClientResource)]).to.deep.equal([
      [1, 0],
      [0, 1],
    ]);
    expect((await plugin.refresh(moved))?.state["drift"]).to.deep.equal([]);
    const [server] = (await simulated.servers.consumer.client.list(GatewayServerResource)).items;
    expect(server?.spec.mtu).to.equal(1380);
    await plugin.delete(back);
    await plugin.delete(moved);
    expect(await count(GatewayServerResource)).to.deep.equal([0, 0]);
  });
});
