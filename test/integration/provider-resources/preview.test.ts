import { expect } from "chai";
import {
  PEERING_USER_LIQO_NS_RULES,
  PEERING_USER_TENANT_NS_RULES,
} from "../../../agent/install/rbac/authentication.js";
import { policyRules } from "../../../agent/install/rbac/rule.js";
import { DeploymentResource } from "../../../agent/runtime/index.js";
import { compareListings, listEverything, readEverything } from "../../support/listing.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { startRelay, type Relay } from "../support/relay.js";
import { grant } from "./support/grant.js";
import { failureOf, Plugin } from "./support/plugin.js";
import { startSimulatedPair, WEST_AND_EAST, type SimulatedPair } from "./support/simulated-pair.js";
import { UNKNOWN_VALUE } from "../../../provider/server/signatures.js";

/** The objects of a peering, and the namespaces that hold them. */
const WRITTEN = /^(\S+\.liqo\.io|namespaces|secrets) /;

/** Real API servers with simulated agents: what a preview tells before anything is changed. */
describe("previews", function () {
  this.timeout(120_000);
  let consumer: ApiServer;
  let provider: ApiServer;
  let simulated: SimulatedPair;
  let plugin: Plugin;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    const podCIDRs = { consumer: "10.200.0.0/16", provider: "10.200.0.0/16" };
    simulated = await startSimulatedPair({ names: WEST_AND_EAST, podCIDRs });
    ({ consumer, provider } = simulated.servers);
  });
  after(() => simulated?.stop());
  beforeEach(async () => {
    plugin = await Plugin.start();
  });
  afterEach(() => plugin.stop());

  const pair = () => ({ consumer: { kubeconfig: consumer.kubeconfig }, provider: { kubeconfig: provider.kubeconfig } });
  const unchanged = async (work: () => Promise<unknown>): Promise<void> => {
    const before = await Promise.all([listEverything(consumer.client), listEverything(provider.client)]);
    await work();
    const after = await Promise.all([listEverything(consumer.client), listEverything(provider.client)]);
    before.forEach((listing, side) =>
      expect(compareListings(listing, after[side] ?? new Set())).to.deep.equal({ added: [], removed: [] }),
    );
  };

  it("take what will be remapped from the pools that each agent was installed with", async () => {
    const { items } = await consumer.client.list(DeploymentResource, {
      labelSelector: { "app.kubernetes.io/name": "controller-manager" },
    });
    const [{ metadata, spec } = {}] = items;
    const id = { name: metadata?.name ?? "", namespace: metadata?.namespace };
    const args = spec?.template.spec?.containers[0]?.args ?? [];
    const path = "/spec/template/spec/containers/0/args";
    const others = args.map((arg) => (arg.startsWith("--ipam-pools=") ? "--ipam-pools=100.64.0.0/10" : arg));
    expect(others).not.to.deep.equal(args);
    await consumer.client.jsonPatch(DeploymentResource, id, [{ op: "replace", path, value: others }]);
    await plugin.previewCreate("NetworkLink", pair());
    await consumer.client.jsonPatch(DeploymentResource, id, [{ op: "replace", path, value: args }]);
    const told = plugin.logs.join("\n");
    expect(told).to.contain(
      "the consumer will call the provider's pod range 10.200.0.0/16 100.64.0.0/16, as it overlaps",
    );
    expect(told).to.match(/the provider will call the consumer's pod range 10\.200\.0\.0\/16 10\./);
  });

  it("tell who serves, what is remapped and why, and change nothing", async () => {
    await unchanged(async () => {
      const state = await plugin.previewCreate("NetworkLink", { ...pair(), gatewayServer: { type: "NodePort" } });
      expect(state).to.include({ consumerClusterId: "consumer", providerClusterId: "provider" });
    });
    const told = plugin.logs.join("\n");
    expect(told).to.contain(
      "the provider (cluster east) gets the gateway server, a Service of type NodePort on UDP port 51840",
    );
    expect(told).to.match(
      /the consumer will call the provider's pod range 10\.200\.0\.0\/16 10\.\d+\.0\.0\/16, as it overlaps 10\.200\.0\.0\/16 \(.+\) there/,
    );
    expect(told).to.match(/the provider will call the consumer's external range 10\.70\.0\.0\/16 10\.\d+\.0\.0\/16/);
    await plugin.create("NetworkLink", pair());
    const again = await Plugin.start();
    await again.previewCreate("NetworkLink", { consumer: pair().provider, provider: pair().consumer });
    expect(again.logs.join("\n")).to.contain("the consumer (cluster east) has the gateway server already");
    await again.stop();
  });

  it("work from inputs alone while a cluster is not known yet", async () => {
    const state = await plugin.previewCreate("NetworkLink", { ...pair(), provider: { kubeconfig: UNKNOWN_VALUE } });
    expect(state["providerClusterId"]).to.equal(UNKNOWN_VALUE);
    for (const type of ["Authentication", "ResourceSlice"]) {
      await plugin.previewCreate(type, {
        consumer: { kubeconfig: UNKNOWN_VALUE },
        provider: { kubeconfig: UNKNOWN_VALUE },
      });
    }
    expect(plugin.logs).to.deep.equal([]);
  });

  it("show what is granted as unknown once something else is asked for, and only then", async () => {
    const link = await plugin.create("Authentication", pair());
    const slice = await plugin.create("ResourceSlice", { ...pair(), name: "shown", resources: { cpu: "2" } });
    const granted = async (asked: object): Promise<unknown> =>
      (await plugin.previewUpdate(slice, { ...slice.inputs, ...asked }))["acceptedResources"];
    expect(await granted({ objectLabels: { a: "b" } })).to.deep.equal(slice.state["acceptedResources"]);
    expect(await granted({ resources: { cpu: "2000m" } })).to.deep.equal(slice.state["acceptedResources"]);
    expect(await granted({ resources: { cpu: "3" } })).to.equal(UNKNOWN_VALUE);
    expect(await granted({ class: "gold" })).to.equal(UNKNOWN_VALUE);
    for (const kept of [slice, link]) await plugin.delete(kept);
  });

  it("tell clusters apart that have one address behind different proxies", async () => {
    const proxies = await Promise.all([consumer, provider].map(({ url }) => startRelay(() => url, { proxy: true })));
    const behind = (proxy: Relay | undefined, { kubeconfig }: ApiServer) => ({
      kubeconfig: kubeconfig.replace(
        /^( *)server: .*$/m,
        `$1server: https://127.0.0.1:9\n$1proxy-url: http://127.0.0.1:${proxy?.port}`,
      ),
    });
    try {
      const one = behind(proxies[0], consumer);
      await plugin.check("NetworkLink", { consumer: one, provider: behind(proxies[1], provider) });
      const { message } = await failureOf(plugin.check("NetworkLink", { consumer: one, provider: one }));
      expect(message).to.contain("is the same cluster as the consumer");
    } finally {
      for (const proxy of proxies) proxy.close();
    }
  });

  it("name each missing right with verb, resource, namespace and cluster; up then changes nothing", async () => {
    const kubeconfig = await provider.kubeconfigFor("reader");
    await grant(provider, "reader", "liqo", policyRules(PEERING_USER_LIQO_NS_RULES));
    await grant(provider, "reader", "liqo-tenant-consumer", [
      { apiGroups: [""], resources: ["namespaces"], verbs: ["get"] },
      { apiGroups: ["networking.liqo.io"], resources: ["*"], verbs: ["get", "list"] },
      { apiGroups: ["authentication.liqo.io"], resources: ["tenants"], verbs: ["get", "list", "create"] },
    ]);
    const limited = { ...pair(), provider: { kubeconfig } };
    await plugin.previewCreate("Authentication", limited);
    expect(plugin.logs).to.include(
      "provider: the credentials may not patch tenants.authentication.liqo.io in namespace liqo-tenant-consumer of cluster east: " +
        "up will fail unless that is granted before",
    );
    await plugin.previewCreate("NetworkLink", limited);
    expect(plugin.logs.join("\n")).to.contain(
      "may not create, patch gatewayservers.networking.liqo.io in namespace liqo-tenant-consumer",
    );
    await unchanged(async () => {
      const { message, partial } = await failureOf(plugin.create("Authentication", limited));
      expect(message).to.contain("may not patch tenants.authentication.liqo.io").and.to.contain("nothing was changed");
      expect(partial).to.equal(undefined);
    });
  });

  it("find nothing missing for a peering user", async () => {
    const kubeconfig = await provider.kubeconfigFor("peering-user");
    await grant(provider, "peering-user", "liqo", policyRules(PEERING_USER_LIQO_NS_RULES));
    await grant(provider, "peering-user", "liqo-tenant-consumer", policyRules(PEERING_USER_TENANT_NS_RULES));
    for (const type of ["NetworkLink", "Authentication", "ResourceSlice"]) {
      const state = await plugin.previewCreate(type, { ...pair(), provider: { kubeconfig } });
      expect(state["providerClusterId"]).to.equal("provider");
    }
    expect(plugin.logs.filter((line) => line.includes("may not"))).to.deep.equal([]);
  });

  it("warn of agents whose versions do not fit", async () => {
    await versionOfProvider("0.9.0");
    await plugin.previewCreate("NetworkLink", pair());
    expect(plugin.logs.join("\n")).to.contain("the agents' versions do not fit").and.to.contain("0.9.0");
    await versionOfProvider("0.1.0");
  });

  it("and refreshes go on between the upgrades of two agents, while changes are refused", async () => {
    const kept = await plugin.create("Authentication", pair());
    await versionOfProvider("0.9.0");
    const later = await Plugin.start();
    const found = await later.refresh(kept);
    expect(found?.state["drift"]).to.deep.equal([]);
    expect(later.logs.join("\n")).to.contain("the agents' versions do not fit").and.to.contain("0.9.0");
    const changed = await failureOf(later.update(kept, { ...kept.inputs, tenantCondition: "Cordoned" }));
    expect(changed.message).to.contain("0.9.0").and.to.contain("skipVersionCheck");
    const made = await failureOf(later.create("ResourceSlice", { ...pair(), name: "late" }));
    expect(made.message).to.contain("the agents' versions do not fit");
    await later.delete(kept);
    await later.stop();
    await versionOfProvider("0.1.0");
  });

  it("and others name the cluster whose agent's version cannot be told", async () => {
    const kept = await plugin.create("Authentication", pair());
    const kubeconfig = await provider.kubeconfigFor("peering-user");
    const found = await plugin.refresh({ ...kept, inputs: { ...kept.inputs, provider: { kubeconfig } } });
    expect(found?.state["drift"]).to.deep.equal([]);
    expect(plugin.logs.join("\n")).to.contain("provider: the version of the agent in cluster east cannot be told");
    await plugin.delete(kept);
  });

  it("of changes name the rights that these lack: nothing is created, unless it was found missing", async () => {
    const kubeconfigs = [] as string[];
    for (const [server, remote] of [
      [consumer, "provider"],
      [provider, "consumer"],
    ] as const) {
      kubeconfigs.push(await server.kubeconfigFor("watcher"));
      await grant(server, "watcher", "liqo", policyRules(PEERING_USER_LIQO_NS_RULES));
      await grant(server, "watcher", `liqo-tenant-${remote}`, [
        { apiGroups: ["", "networking.liqo.io", "authentication.liqo.io"], resources: ["*"], verbs: ["get", "list"] },
      ]);
      await grant(server, "watcher", "default", [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get"] }]);
    }
    const [local = "", remote = ""] = kubeconfigs;
    const watched = { consumer: { kubeconfig: local }, provider: { kubeconfig: remote } };
    const there = { cluster: { kubeconfig: consumer.kubeconfig }, namespace: "default" };
    const made = [
      await plugin.create("NetworkLink", pair()),
      await plugin.create("Authentication", pair()),
      await plugin.create("ResourceSlice", { ...pair(), name: "watched", createVirtualNode: false }),
      await plugin.create("NamespaceOffloading", there),
    ];
    const changes: Record<string, [change: object, lacking: string[]]> = {
      NetworkLink: [
        { ...watched, mtu: 1400 },
        ["configurations", "gatewayservers", "publickeies"].map(
          (kind) => `provider: … patch ${kind}.networking.liqo.io`,
        ),
      ],
      Authentication: [
        { ...watched, tenantCondition: "Cordoned" },
        ["consumer: … patch identities.authentication.liqo.io", "provider: … patch tenants.authentication.liqo.io"],
      ],
      ResourceSlice: [
        { ...watched, cordoned: true },
        ["consumer", "provider"].map((side) => `${side}: … patch resourceslices.authentication.liqo.io`),
      ],
      NamespaceOffloading: [
        { cluster: { kubeconfig: local }, podOffloadingStrategy: "Remote" },
        ["cluster: … get, patch namespaceoffloadings.offloading.liqo.io"],
      ],
    };
    // What the update would write; agents write their statuses and Leases all the time.
    const versions = async () =>
      Promise.all(
        [consumer, provider].map(async ({ client }) =>
          [...(await readEverything(client))]
            .filter(([key]) => WRITTEN.test(key))
            .map(([key, { metadata }]) => `${key} ${metadata?.resourceVersion}`),
        ),
      );
    for (const kept of made) {
      const [change, lacking] = changes[kept.type] ?? [{}, []];
      const news = { ...kept.inputs, ...change };
      const told = async (of: typeof kept, inputs: Record<string, unknown>): Promise<string> => {
        const from = plugin.logs.length;
        await plugin.previewUpdate(of, inputs);
        return plugin.logs.slice(from).join("\n");
      };
      await unchanged(async () => {
        const warned = await told(kept, news);
        for (const line of lacking) expect(warned).to.contain(line.replace("…", "the credentials may not"));
        expect(warned).to.contain("up will fail unless that is granted before");
        expect(warned.replaceAll("created", "")).to.not.match(/\bcreate\b/);
        const drifted = { ...kept, state: { ...kept.state, drift: ["something is missing"] } };
        expect(await told(drifted, news), "what is missing is made anew").to.match(/may not [^;]*\bcreate\b/);
        const before = await versions();
        const refused = await failureOf(plugin.update(kept, news));
        for (const line of lacking) expect(refused.message).to.contain(line.replace("…", "the credentials may not"));
        expect(refused.message).to.contain("nothing was changed");
        expect(refused.partial).to.equal(undefined);
        expect(await versions(), "up changes nothing, either").to.deep.equal(before);
        const force = { ...kept.inputs, forceUnreachable: true };
        if (kept.type !== "NamespaceOffloading") expect(await told(kept, force), "no cluster is asked").to.equal("");
        expect(await told(kept, { ...kept.inputs, objectLabels: { a: "b" } }), "an administrator's").to.equal("");
      });
    }
    for (const kept of made.reverse()) await plugin.delete(kept);
  });

  async function versionOfProvider(version: string): Promise<void> {
    const id = { name: "liqo-controller-manager", namespace: "liqo" };
    const labels = { metadata: { labels: { "app.kubernetes.io/version": version } } };
    await provider.client.mergePatch(DeploymentResource, id, labels);
  }
});
