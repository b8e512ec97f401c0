import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import {
  GatewayClientResource,
  GatewayServerResource,
  IdentityResource,
  NamespaceOffloadingResource,
  ResourceSliceResource,
  TenantResource,
} from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  DeploymentResource,
  NamespaceResource,
  SecretResource,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { startInstallableServer } from "../provider-resources/support/installable-server.js";
import { SIDES } from "../provider-resources/support/simulated-pair.js";
import { identityOfSlice, identitySecret } from "../provider-resources/support/slice-identity.js";
import { EngineLab, urnOf, type Declared } from "./support/engine-lab.js";

const TENANT = { name: "consumer", namespace: "liqo-tenant-consumer" };
const OFFLOADING = { name: "offloading", namespace: "shop" };

/** The real CLI on real API servers with simulated agents: what the engine's resource options come to. */
describe("resource options", function () {
  this.timeout(400_000);
  let lab: EngineLab;

  before(async function () {
    this.timeout(15 * 60_000);
    lab = await EngineLab.start();
    await lab.servers.consumer.client.create(NamespaceResource, { metadata: { name: OFFLOADING.namespace } });
  });
  after(() => lab?.stop());
  afterEach(() => lab?.clear());

  const authentication = (properties: object = {}, options: object = {}): Declared => ({
    type: "Authentication",
    properties: { ...lab.pair, ...properties },
    options: { ...options },
  });
  const offloading = (properties: object = {}, options: object = {}): Declared => ({
    type: "NamespaceOffloading",
    properties: { cluster: lab.pair.consumer, namespace: OFFLOADING.namespace, ...properties },
    options: { ...options },
  });
  const tenant = () => lab.servers.provider.client.get(TenantResource, TENANT);
  const offloaded = () => lab.servers.consumer.client.get(NamespaceOffloadingResource, OFFLOADING);

  it("ignoreChanges: neither the program's change nor somebody's is followed", async () => {
    const stack = await lab.make("ignored", { auth: authentication({ tenantCondition: "Active" }) });
    const ignoring = { ignoreChanges: ["tenantCondition"] };
    await lab.write("ignored", { auth: authentication({ tenantCondition: "Cordoned" }, ignoring) });
    await stack.preview({ expectNoChanges: true });
    const patch = { spec: { tenantCondition: "Cordoned" } };
    await lab.servers.provider.client.mergePatch(TenantResource, TENANT, patch);
    await lab.write("ignored", { auth: authentication({ tenantCondition: "Active" }, ignoring) });
    await stack.refresh();
    await stack.up();
    expect((await tenant())?.spec.tenantCondition).to.equal("Cordoned");
  });

  it("drift: the preview after a refresh says what it is, and the update ends it", async () => {
    const stack = await lab.make("drifted", { apps: offloading({ objectLabels: { team: "shop" } }) });
    const patch = { metadata: { labels: { team: "another" } } };
    await lab.servers.consumer.client.mergePatch(NamespaceOffloadingResource, OFFLOADING, patch);
    await stack.refresh();
    const { stdout } = await stack.preview();
    expect(stdout)
      .to.contain("drift: [")
      .and.to.contain("NamespaceOffloading offloading has another metadata.labels.team");
    await stack.up();
    expect((await offloaded())?.metadata.labels).to.include({ team: "shop" });
    await stack.preview({ expectNoChanges: true });
  });

  it("protect: neither destroy nor a program without it takes anything away", async () => {
    const stack = await lab.make("protected", { auth: authentication({}, { protect: true }) });
    const before = await lab.objects();
    const destroyed = await stack.destroy({ allowFailure: true });
    expect(destroyed.code).to.not.equal(0);
    expect(destroyed.stdout + destroyed.stderr).to.contain("protect");
    await lab.write("protected", {});
    expect((await stack.up({ allowFailure: true })).code).to.not.equal(0);
    expect(await lab.objects()).to.deep.equal(before);
  });

  it("retainOnDelete: what is there stays, and is taken up again as it is", async () => {
    const stack = await lab.make("retained", { auth: authentication({}, { retainOnDelete: true }) });
    const before = [...(await lab.objects()).keys()];
    const uid = (await tenant())?.metadata.uid;
    await lab.write("retained", {});
    await stack.up();
    expect(await stack.exportState()).to.not.contain("liqo:index:Authentication");
    expect([...(await lab.objects()).keys()]).to.deep.equal(before);
    await lab.write("retained", { auth: authentication() });
    await stack.up();
    expect((await tenant())?.metadata.uid).to.equal(uid);
  });

  it("replaceOnChanges: the new one is not taken away with the old", async () => {
    const stack = await lab.make("replaced", { auth: authentication({ tenantCondition: "Active" }) });
    const replacing = { replaceOnChanges: ["tenantCondition"] };
    await lab.write("replaced", { auth: authentication({ tenantCondition: "Cordoned" }, replacing) });
    const { stdout } = await stack.up();
    expect(stdout).to.contain("replaced");
    expect((await tenant())?.spec.tenantCondition).to.equal("Cordoned");
    await stack.refresh({ expectNoChanges: true });
  });

  it("--replace: each kind is brought up to date in place, which is said, and nothing is taken away", async () => {
    const { consumer, provider } = lab.pair;
    const pair = { consumer, provider };
    const after = (...names: string[]) => ({ dependsOn: names.map((name) => `\${${name}}`) });
    const slice = { ...pair, name: "slice", resources: { cpu: "1" }, createVirtualNode: false };
    const kinds: Record<string, Declared> = {
      link: { type: "NetworkLink", properties: pair },
      auth: authentication(),
      slice: { type: "ResourceSlice", properties: slice, options: after("auth") },
      user: { type: "PeeringUser", properties: { cluster: provider, consumerClusterId: "someone" } },
      shop: offloading(),
    };
    const stack = await lab.make("again", kinds);
    await identityOfSlice(lab.servers.consumer.client, "slice");
    const resources = { cpu: "1" };
    const properties = {
      cluster: consumer,
      name: "node",
      providerClusterId: "provider",
      resourceSliceName: "slice",
      resources,
    };
    kinds["node"] = { type: "VirtualNode", properties, options: after("slice") };
    await lab.write("again", kinds);
    await stack.up();
    const namesAndUids = async () =>
      new Map([...(await lab.objects())].map(([name, identity]) => [name, identity.split(" ")[0]]));
    const before = await namesAndUids();
    const replaced = Object.entries(kinds).map(([name, { type }]) => `--replace=${urnOf("again", type, name)}`);
    const { stdout } = await stack.up({}, replaced);
    for (const [name, { type }] of Object.entries(kinds)) {
      expect(stdout).to.match(
        new RegExp(`${type} \\(${name}\\):\\s+warning: .*nothing is deleted. To have it deleted`),
      );
    }
    const now = await namesAndUids();
    for (const [name, uid] of before) expect(now.get(name), name).to.equal(uid);
    await stack.refresh({ expectNoChanges: true });
    const target = ["--target-replace", urnOf("again", "Authentication", "auth")];
    await stack.up({}, target);
    expect((await namesAndUids()).get("provider Tenant liqo-tenant-consumer/consumer")).to.equal(
      before.get("provider Tenant liqo-tenant-consumer/consumer"),
    );
    await stack.refresh({ expectNoChanges: true });
    // Nobody collects what an Identity owned.
    await lab.servers.consumer.client.delete(SecretResource, identitySecret("slice"));
  });

  it("--replace of an Agent: nothing is uninstalled, which is said", async () => {
    const server = await startInstallableServer("lone");
    const { client, kubeconfigPath: kubeconfig } = server;
    const workloads = async () =>
      (await client.list(DeploymentResource)).items.map(({ metadata }) => `${metadata?.name} ${metadata?.uid}`);
    try {
      const ranges = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };
      const properties = { cluster: { kubeconfig }, clusterId: "lone", ...ranges };
      const stack = await lab.make("lone", { agent: { type: "Agent", properties } });
      const before = await workloads();
      const replaced = ["--replace", urnOf("lone", "Agent", "agent")];
      const { stdout } = await stack.up({ timeoutMs: 120_000 }, replaced);
      expect(stdout).to.match(/Agent \(agent\):\s+warning: .*nothing is deleted. To have it deleted/);
      expect(await workloads()).to.deep.equal(before);
      await stack.refresh({ expectNoChanges: true });
      await stack.destroy();
      expect(await workloads()).to.deep.equal([]);
    } finally {
      await server.stop();
    }
  });

  it("another clusterId or namespace of an Agent: one replacement, the old installation first", async () => {
    const server = await startInstallableServer("moving");
    const { client, kubeconfigPath: kubeconfig } = server;
    const agent = (identity: object): Record<string, Declared> => {
      const ranges = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };
      return { agent: { type: "Agent", properties: { cluster: { kubeconfig }, ...ranges, ...identity } } };
    };
    const labelSelector = { "app.kubernetes.io/name": "clusterid-configmap" };
    const installed = async () =>
      (await client.list(ConfigMapResource, { labelSelector })).items.map(
        ({ metadata, data }) => `${metadata?.namespace} ${data?.["CLUSTER_ID"]}`,
      );
    const uids = async () => (await client.list(DeploymentResource)).items.map(({ metadata }) => metadata?.uid);
    try {
      const stack = await lab.make("moving", agent({ clusterId: "before" }));
      const changes: [object, string][] = [
        [{ clusterId: "after" }, "liqo after"],
        [{ clusterId: "after", namespace: "elsewhere" }, "elsewhere after"],
      ];
      for (const [identity, expected] of changes) {
        const before = await uids();
        await lab.write("moving", agent(identity));
        const { stdout } = await stack.up({ timeoutMs: 120_000 });
        expect(stdout).to.contain("1 replaced");
        expect(await installed()).to.deep.equal([expected]);
        const now = await uids();
        expect(now.filter((uid) => before.includes(uid))).to.deep.equal([]);
        await stack.refresh({ expectNoChanges: true });
      }
      await stack.destroy();
    } finally {
      await server.stop();
    }
  });

  it("--replace with deleteBeforeReplace: it is made anew", async () => {
    const stack = await lab.make("anew", { auth: authentication({}, { deleteBeforeReplace: true }) });
    const uid = (await tenant())?.metadata.uid;
    const replace = ["--replace", urnOf("anew", "Authentication", "auth")];
    await stack.up({}, replace);
    expect((await tenant())?.metadata.uid)
      .to.be.a("string")
      .and.not.equal(uid);
    await stack.refresh({ expectNoChanges: true });
  });

  it("deleteBeforeReplace: is how replacements are made", async () => {
    const chosen = (remoteNamespaceName: string) => ({
      shop: offloading({ namespaceMappingStrategy: "SelectedName", remoteNamespaceName }),
    });
    const stack = await lab.make("ordered", chosen("one"));
    const uid = (await offloaded())?.metadata.uid;
    await lab.write("ordered", chosen("two"));
    await stack.up();
    const replaced = await offloaded();
    expect(replaced?.spec.remoteNamespaceName).to.equal("two");
    expect(replaced?.metadata.uid).to.not.equal(uid);
  });

  it("aliases: a new name touches nothing", async () => {
    const stack = await lab.make("renamed", { before: authentication() });
    const objects = await lab.objects();
    const aliases = [urnOf("renamed", "Authentication", "before")];
    await lab.write("renamed", { after: authentication({}, { aliases }) });
    const { stdout } = await stack.up();
    expect(stdout).to.not.match(/created|deleted|replaced/);
    expect(await lab.objects()).to.deep.equal(objects);
    await lab.write("renamed", { after: authentication() });
    await stack.preview({ expectNoChanges: true });
  });

  it("a new name without aliases: what has taken over the objects keeps them, which is said", async () => {
    const stack = await lab.make("unaliased", { before: authentication(), shopBefore: offloading() });
    const uids = async () => [...(await lab.objects())].map(([name, identity]) => [name, identity.split(" ")[0]]);
    const present = await uids();
    await lab.write("unaliased", { after: authentication(), shopAfter: offloading() });
    const { stdout } = await stack.up();
    const keptFor = (type: string, before: string, after: string) =>
      new RegExp(
        `${type} \\(${before}\\):\\s+warning: another resource of the program, "${after}", .*nothing is deleted`,
      );
    expect(stdout).to.match(keptFor("Authentication", "before", "after"));
    expect(stdout).to.match(keptFor("NamespaceOffloading", "shopBefore", "shopAfter"));
    expect(await uids()).to.deep.equal(present);
    expect(await stack.exportState()).to.not.match(/::(before|shopBefore)"/);
    await stack.refresh({ expectNoChanges: true });
    await stack.destroy();
    expect(await tenant()).to.equal(undefined);
    expect(await offloaded()).to.equal(undefined);
  });

  it("a new name without aliases: so it is when the first run broke off before it forgot the old one", async () => {
    const stack = await lab.make("halfway", { before: offloading() });
    const uid = (await offloaded())?.metadata.uid;
    await lab.write("halfway", { before: offloading(), after: offloading() });
    await stack.up();
    await lab.write("halfway", { after: offloading() });
    const { stdout } = await stack.up();
    expect(stdout).to.match(/\(before\):\s+warning: another resource of the program, "after", .*nothing is deleted/);
    expect((await offloaded())?.metadata.uid).to.equal(uid);
    await stack.refresh({ expectNoChanges: true });
    await lab.write("halfway", {});
    await stack.up();
    expect(await offloaded()).to.equal(undefined);
  });

  it("pulumi state move: nor does another stack", async () => {
    const from = await lab.make("mover", { auth: authentication() });
    const to = await lab.make("taker", {});
    const objects = await lab.objects();
    const urn = urnOf("mover", "Authentication", "auth");
    const [source, target] = ["organization/mover/mover", "organization/taker/taker"];
    await from.pulumi(["state", "move", "--yes", "--source", source, "--dest", target, urn]);
    await lab.write("mover", {});
    await lab.write("taker", { auth: authentication() });
    await from.preview({ expectNoChanges: true });
    const { stdout } = await to.up();
    expect(stdout).to.not.match(/created|deleted|replaced/);
    expect(await lab.objects()).to.deep.equal(objects);
  });

  it("import: nor does taking it up in another stack, from which the first has let it go", async () => {
    const contexts = { consumer: { context: "consumer" }, provider: { context: "provider" } };
    const env = { KUBECONFIG: lab.KUBECONFIG };
    const auth = (options: object): Record<string, Declared> => ({
      auth: { type: "Authentication", properties: contexts, options: { ...options } },
    });
    const from = await lab.make("giver", auth({}), env);
    const objects = await lab.objects();
    await from.pulumi(["state", "delete", "--yes", "--stack", "giver", urnOf("giver", "Authentication", "auth")]);
    const id = "consumer/provider@consumer,provider";
    const to = await lab.stack("importer", auth({ import: id }), env);
    expect((await to.up()).stdout).to.contain("imported");
    await lab.write("importer", auth({}));
    await to.preview({ expectNoChanges: true });
    expect(await lab.objects()).to.deep.equal(objects);
  });

  it("customTimeouts: end a wait with its cause", async () => {
    const stack = await lab.make("hasty", { auth: authentication() });
    const node: Declared = {
      type: "VirtualNode",
      properties: {
        cluster: lab.pair.consumer,
        name: "late",
        providerClusterId: "provider",
        resourceSliceName: "nowhere",
        resources: { cpu: "1" },
      },
      options: { customTimeouts: { create: "12s" }, dependsOn: ["${auth}"] },
    };
    await lab.write("hasty", { auth: authentication(), node });
    const { code, stdout, stderr } = await stack.up({ allowFailure: true });
    expect(code).to.not.equal(0);
    expect(stdout + stderr).to.match(/in vain for the identity of the virtual node .*no such Secret/s);
  });

  it("deletedWith: what goes with another is left to that", async () => {
    const stack = await lab.make("together", {
      auth: authentication(),
      shop: offloading({}, { deletedWith: "${auth}" }),
    });
    await stack.destroy();
    expect(await tenant()).to.equal(undefined);
    expect(await offloaded()).to.not.equal(undefined);
    await lab.servers.consumer.client.delete(NamespaceOffloadingResource, OFFLOADING);
  });

  it("two stacks at once, one for each direction, share the link and take nothing of each other", async () => {
    const { consumer, provider } = lab.pair;
    const declared = (from: object, to: object): Record<string, Declared> => ({
      peering: { type: "Peering", properties: { consumer: from, provider: to } },
    });
    const before = [...(await lab.objects()).keys()].sort();
    const there = await lab.stack("there", declared(consumer, provider));
    const back = await lab.stack("back", declared(provider, consumer));
    await Promise.all([there.up(), back.up()]);
    const count = async (type: ResourceType): Promise<number[]> =>
      Promise.all(SIDES.map(async (side) => (await lab.servers[side].client.list(type)).items.length));
    const [servers, clients] = [await count(GatewayServerResource), await count(GatewayClientResource)];
    expect([...servers].sort(), "gateway servers").to.deep.equal([0, 1]);
    expect(clients, "gateway clients, where no server is").to.deep.equal(servers.map((some) => 1 - some));
    await Promise.all([there, back].map((stack) => stack.preview({ expectNoChanges: true })));
    await there.destroy();
    await back.refresh({ expectNoChanges: true });
    await Promise.all([there.up(), back.up()]);
    await Promise.all([there.destroy(), back.destroy()]);
    await until("the end of both", 40_000, async () => {
      const now = [...(await lab.objects()).keys()].sort();
      return isDeepStrictEqual(now, before) || undefined;
    });
  });

  it("a Peering of several slices: each has what it asks for, and goes alone when it is left out", async () => {
    const { consumer, provider } = lab.pair;
    const peering = (properties: object): Record<string, Declared> => ({
      peering: { type: "Peering", properties: { consumer, provider, cpu: "4", ...properties } },
    });
    const before = [...(await lab.objects()).keys()].sort();
    const slices = async (): Promise<Record<string, unknown>> => {
      const { items } = await lab.servers.consumer.client.list(ResourceSliceResource);
      return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name ?? "", [spec.class, spec.resources]]));
    };
    const gpu = { name: "gpu", resources: { "example.com/gpu": "1" }, cpu: "2" };
    const stack = await lab.make("several", peering({ additionalResourceSlices: [gpu] }));
    expect(await slices()).to.deep.equal({
      provider: ["default", { cpu: "4" }],
      gpu: ["default", { "example.com/gpu": "1", cpu: "2" }],
    });
    await stack.preview({ expectNoChanges: true });
    await lab.write("several", peering({}));
    await stack.up();
    expect(Object.keys(await slices())).to.deep.equal(["provider"]);
    await lab.write("several", peering({ authenticationDisabled: true }));
    await stack.up();
    expect(await slices()).to.deep.equal({});
    expect(await tenant()).to.equal(undefined);
    expect((await lab.servers.provider.client.list(GatewayServerResource)).items).to.have.length(1);
    await stack.destroy();
    await until("the end of it", 40_000, async () => {
      const now = [...(await lab.objects()).keys()].sort();
      return isDeepStrictEqual(now, before) || undefined;
    });
  });

  it("a cluster that is out of reach, or gone: named with what would let it pass, and never forgotten without a word", async () => {
    const stack = await lab.make("distant", { auth: authentication() });
    const told = ({ stdout, stderr }: { stdout: string; stderr: string }): string => stdout + stderr;
    const skipping = stack.withEnv({ PULUMI_LIQO_SKIP_UPDATE_UNREACHABLE: "true" });
    const deleting = stack.withEnv({ PULUMI_LIQO_DELETE_UNREACHABLE: "true" });
    await lab.servers.provider.crash();
    try {
      const refused = await stack.refresh({ allowFailure: true });
      expect(refused.code).to.not.equal(0);
      expect(told(refused)).to.contain("skipUpdateUnreachable").and.to.contain("cluster provider");
      expect(told(await skipping.refresh())).to.contain("The state stays as it is, as skipUpdateUnreachable asks");
      expect(await stack.exportState()).to.contain("liqo:index:Authentication");
      const kept = await stack.destroy({ allowFailure: true });
      expect(kept.code).to.not.equal(0);
      expect(told(kept)).to.contain("deleteUnreachable");
      expect(await stack.exportState()).to.contain("liqo:index:Authentication");
      expect(told(await deleting.destroy()))
        .to.contain("cluster provider")
        .and.to.match(/warning: .*deleteUnreachable/s);
      expect(await stack.exportState()).to.not.contain("liqo:index:Authentication");
    } finally {
      await lab.servers.provider.recover();
    }
    // What could not be cleaned is there, as was said; the other cluster is clean.
    expect(await tenant()).to.not.equal(undefined);
    const identities = await lab.servers.consumer.client.list(IdentityResource);
    expect(identities.items).to.deep.equal([]);
    await lab.make("distant", { auth: authentication() });
  });
});
