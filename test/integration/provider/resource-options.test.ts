import { expect } from "chai";
import { NamespaceOffloadingResource, TenantResource } from "../../../agent/api/index.js";
import { NamespaceResource } from "../../../agent/runtime/index.js";
import type { PulumiStack } from "../../support/pulumi.js";
import { EngineLab, urnOf, type Declared } from "./support/engine-lab.js";

const TENANT = { name: "consumer", namespace: "liqo-tenant-consumer" };
const OFFLOADING = { name: "offloading", namespace: "shop" };

/** The real CLI on real API servers with simulated agents: what the engine's resource options come to. */
describe("resource options", function () {
  this.timeout(400_000);
  let lab: EngineLab;
  const stacks: PulumiStack[] = [];

  before(async function () {
    this.timeout(15 * 60_000);
    lab = await EngineLab.start();
    await lab.servers.consumer.client.create(NamespaceResource, { metadata: { name: OFFLOADING.namespace } });
  });
  after(() => lab?.stop());
  afterEach(async () => {
    for (const stack of stacks.splice(0)) {
      await stack.pulumi(["state", "unprotect", "--all", "--yes"], { allowFailure: true });
      await stack.destroy({ allowFailure: true });
      await stack.remove();
    }
  });

  const made = async (project: string, resources: Record<string, Declared>, env = {}): Promise<PulumiStack> => {
    const stack = await lab.stack(project, resources, env);
    stacks.push(stack);
    await stack.up();
    return stack;
  };
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
    const stack = await made("ignored", { auth: authentication({ tenantCondition: "Active" }) });
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

  it("protect: neither destroy nor a program without it takes anything away", async () => {
    const stack = await made("protected", { auth: authentication({}, { protect: true }) });
    const before = await lab.objects();
    const destroyed = await stack.destroy({ allowFailure: true });
    expect(destroyed.code).to.not.equal(0);
    expect(destroyed.stdout + destroyed.stderr).to.contain("protect");
    await lab.write("protected", {});
    expect((await stack.up({ allowFailure: true })).code).to.not.equal(0);
    expect(await lab.objects()).to.deep.equal(before);
  });

  it("retainOnDelete: what is there stays, and is taken up again as it is", async () => {
    const stack = await made("retained", { auth: authentication({}, { retainOnDelete: true }) });
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
    const stack = await made("replaced", { auth: authentication({ tenantCondition: "Active" }) });
    const replacing = { replaceOnChanges: ["tenantCondition"] };
    await lab.write("replaced", { auth: authentication({ tenantCondition: "Cordoned" }, replacing) });
    const { stdout } = await stack.up();
    expect(stdout).to.contain("replaced");
    expect((await tenant())?.spec.tenantCondition).to.equal("Cordoned");
    await stack.refresh({ expectNoChanges: true });
  });

  it("deleteBeforeReplace: is how replacements are made", async () => {
    const chosen = (remoteNamespaceName: string) => ({
      shop: offloading({ namespaceMappingStrategy: "SelectedName", remoteNamespaceName }),
    });
    const stack = await made("ordered", chosen("one"));
    const uid = (await offloaded())?.metadata.uid;
    await lab.write("ordered", chosen("two"));
    await stack.up();
    const replaced = await offloaded();
    expect(replaced?.spec.remoteNamespaceName).to.equal("two");
    expect(replaced?.metadata.uid).to.not.equal(uid);
  });

  it("aliases: a new name touches nothing", async () => {
    const stack = await made("renamed", { before: authentication() });
    const objects = await lab.objects();
    const aliases = [urnOf("renamed", "Authentication", "before")];
    await lab.write("renamed", { after: authentication({}, { aliases }) });
    const { stdout } = await stack.up();
    expect(stdout).to.not.match(/created|deleted|replaced/);
    expect(await lab.objects()).to.deep.equal(objects);
    await lab.write("renamed", { after: authentication() });
    await stack.preview({ expectNoChanges: true });
  });

  it("pulumi state move: nor does another stack", async () => {
    const from = await made("mover", { auth: authentication() });
    const to = await made("taker", {});
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
    const { consumer, provider } = lab.servers;
    const env = { KUBECONFIG: `${consumer.kubeconfigPath}:${provider.kubeconfigPath}` };
    const auth = (options: object): Record<string, Declared> => ({
      auth: { type: "Authentication", properties: contexts, options: { ...options } },
    });
    const from = await made("giver", auth({}), env);
    const objects = await lab.objects();
    await from.pulumi(["state", "delete", "--yes", "--stack", "giver", urnOf("giver", "Authentication", "auth")]);
    const id = "consumer/provider@consumer,provider";
    const to = await lab.stack("importer", auth({ import: id }), env);
    stacks.push(to);
    expect((await to.up()).stdout).to.contain("imported");
    await lab.write("importer", auth({}));
    await to.preview({ expectNoChanges: true });
    expect(await lab.objects()).to.deep.equal(objects);
  });

  it("customTimeouts: end a wait with its cause", async () => {
    const stack = await made("hasty", { auth: authentication() });
    const node: Declared = {
      type: "VirtualNode",
      properties: {
        cluster: lab.pair.consumer,
        name: "late",
        providerClusterId: "provider",
        resourceSliceName: "nowhere",
        resources: { cpu: "1" },
      },
      options: { customTimeouts: { create: "4s" }, dependsOn: ["${auth}"] },
    };
    await lab.write("hasty", { auth: authentication(), node });
    const { code, stdout, stderr } = await stack.up({ allowFailure: true });
    expect(code).to.not.equal(0);
    expect(stdout + stderr).to.match(/in vain for the identity of the virtual node .*no such Secret/s);
  });

  it("deletedWith: what goes with another is left to that", async () => {
    const stack = await made("together", {
      auth: authentication(),
      shop: offloading({}, { deletedWith: "${auth}" }),
    });
    await stack.destroy();
    expect(await tenant()).to.equal(undefined);
    expect(await offloaded()).to.not.equal(undefined);
    await lab.servers.consumer.client.delete(NamespaceOffloadingResource, OFFLOADING);
  });
});
