import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import type { ClusterInfo, PeerInfo } from "../../../provider/functions/info-schema.js";
import type { Topology } from "../../../provider/functions/topology/schema.js";
import { runCommand } from "../../support/terminal.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { Plugin } from "../provider-resources/support/plugin.js";
import { startSimulatedPair, type SimulatedPair } from "../provider-resources/support/simulated-pair.js";

const HIDDEN = "Not visible with these credentials";

/** A consumer's owner has of the provider a peering user's credential alone: real API servers judge it, with simulated agents behind them. */
for (const agentNamespace of ["liqo", "mesh-system"]) {
  describe(`the command line with a peering user's credential, of an agent in ${agentNamespace}`, function () {
    this.timeout(120_000);
    let simulated: SimulatedPair;
    let plugin: Plugin;
    let file: string;

    before(async function () {
      this.timeout(START_LIMIT_MS);
      const agentNamespaces = { provider: agentNamespace };
      simulated = await startSimulatedPair({ signing: ["provider"], namespacesEnd: true, agentNamespaces });
      plugin = await Plugin.start();
      const { state } = await plugin.create("PeeringUser", {
        cluster: simulated.clusters.provider,
        consumerClusterId: "consumer",
        apiServer: simulated.servers.provider.url,
      });
      file = path.join(path.dirname(simulated.servers.provider.kubeconfigPath), "peering-user.kubeconfig");
      await writeFile(file, plainText(state["kubeconfig"]));
    });
    after(async () => {
      await plugin?.stop();
      await simulated?.stop();
    });

    const info = (...args: string[]) => runCommand(["info", "--kubeconfig", file, ...args]);
    const answer = async <T>(...args: string[]): Promise<T> => {
      const { code, out, error } = await info(...args, "-o", "json");
      expect({ code, error }).to.deep.equal({ code: 0, error: "" });
      return JSON.parse(out) as T;
    };

    it("tells of a cluster that it may see, before anything is peered, and what it may not", async () => {
      const cluster = await answer<ClusterInfo>();
      expect(cluster.local).to.include({ clusterID: "provider", version: "0.1.0" });
      expect(cluster.local.APIServerAddr).to.equal(simulated.servers.provider.url);
      expect(cluster.network).to.include({ serviceCIDR: "10.96.0.0/12" });
      expect(cluster.network?.podCIDRs).to.deep.equal(["10.201.0.0/16"]);
      expect(cluster.health).to.deep.equal({});
      expect(cluster.peerings.peers).to.deep.equal([]);
      expect(cluster.notVisible?.join(" ")).to.match(/pods.*health.*labels.*other than the own consumer/);
      expect(await answer("peer")).to.deep.equal({});
      expect((await info("--get", "clusterid")).out).to.equal("provider\n");
    });

    it("says of peers that it may not see, and of its own before that is there, which they are", async () => {
      const other = await info("somebody");
      expect(other).to.include({ code: 1, out: "" });
      expect(other.error).to.match(
        /^error: cluster \S+ does not show somebody: these are the credentials of consumer's peering user, .*\n$/,
      );
      expect((await info("consumer")).error).to.match(
        /^error: cluster \S+ has no peer consumer yet: nothing is in liqo-tenant-consumer\n$/,
      );
    });

    it("tells of the own consumer once it is peered, by what the tenant namespace has", async () => {
      const pair = { consumer: simulated.clusters.consumer, provider: { kubeconfig: file } };
      const link = await plugin.create("NetworkLink", pair);
      const authentication = await plugin.create("Authentication", pair);
      await simulated.rest();
      const { peerings } = await answer<ClusterInfo>();
      expect(peerings.peers).to.deep.equal([
        {
          clusterID: "consumer",
          role: "Consumer",
          networkingStatus: "Healthy",
          authenticationStatus: "Healthy",
          offloadingStatus: "Unknown",
        },
      ]);
      const peers = await answer<Record<string, PeerInfo>>("consumer");
      expect(await answer("peer")).to.deep.equal(peers);
      const peer = peers["consumer"];
      expect(peer?.network).to.deep.include({
        status: "Healthy",
        CIDRs: { remote: { pod: ["10.200.0.0/16"], external: ["10.70.0.0/16"] } },
      });
      expect(peer?.network.gateway).to.include({ role: "Server" });
      expect(peer?.authentication).to.deep.include({ status: "Healthy", resourceSlices: [] });
      expect(peer?.offloading).to.deep.equal({ status: "Unknown", virtualNodes: [] });
      expect(peer?.notVisible?.join(" ")).to.match(/slices.*offloaded.*ask the consumer's cluster/);

      const text = await info("--verbose");
      expect(text.code).to.equal(0);
      expect(text.out.split(HIDDEN)).to.have.length(3);
      expect(text.out).to.match(/│ consumer +Consumer +Healthy +Healthy +Unknown +│/);
      expect(text.out).to.match(/─ Installation health ─+┐\n│ not visible +│/);

      await pictured();
      await plugin.delete(authentication);
      await plugin.delete(link);
      await simulated.rest();
      expect((await answer<ClusterInfo>()).peerings.peers).to.deep.equal([]);
    });

    /** The provider by this credential alone, and beside the consumer that has all of its own. */
    async function pictured(): Promise<void> {
      const alone = await runCommand(["topology", "--kubeconfig", file, "-o", "json"]);
      expect(alone.code).to.equal(0);
      expect(alone.error).to.match(/^note: provider: The agent's pods, and with them its health, are not shown/);
      const topology = JSON.parse(alone.out) as Topology;
      expect(topology.clusters.map(({ clusterID, asked, healthy }) => ({ clusterID, asked, healthy }))).to.deep.equal([
        { clusterID: "consumer", asked: false, healthy: undefined },
        { clusterID: "provider", asked: true, healthy: undefined },
      ]);
      expect(topology.links).to.deep.equal([
        { clusters: ["consumer", "provider"], status: "Healthy", server: "provider" },
      ]);
      expect(topology.peerings).to.deep.equal([
        {
          consumer: "consumer",
          provider: "provider",
          authenticationStatus: "Healthy",
          offloadingStatus: "Unknown",
          virtualNodes: [],
        },
      ]);
      const both = ["--kubeconfig", simulated.servers.consumer.kubeconfigPath, "--kubeconfig", file];
      const svg = await runCommand(["topology", ...both, "-o", "svg"]);
      expect(svg.code).to.equal(0);
      expect(svg.out).to.contain("only in part visible with these credentials");
    }
  });
}

/** What is secret is marked as such in a resource's state. */
function plainText(value: unknown): string {
  return typeof value === "string" ? value : (value as { value: string }).value;
}
