import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import { GatewayServerResource, ResourceSliceResource, TenantResource } from "../../../agent/api/index.js";
import { NamespaceResource } from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import type { PulumiStack } from "../../support/pulumi.js";
import { SIDES } from "../provider-resources/support/simulated-pair.js";
import { EngineLab, urnOf, type Declared } from "./support/engine-lab.js";

/** A resource as a stack's state has it. */
interface InState {
  urn: string;
  type: string;
  parent?: string;
  provider?: string;
  protect?: boolean;
  retainOnDelete?: boolean;
  deletedWith?: string;
  customTimeouts?: Record<string, number>;
}

const PARTS = ["Authentication", "NetworkLink", "ResourceSlice"];

/** The real CLI on real API servers with simulated agents: a Peering has nothing of its own, so what its options say counts for what it consists of. */
describe("resource options of a Peering", function () {
  this.timeout(400_000);
  let lab: EngineLab;
  let empty: string[];

  before(async function () {
    this.timeout(15 * 60_000);
    lab = await EngineLab.start();
    empty = await names();
  });
  after(() => lab?.stop());
  afterEach(() => lab?.clear());

  const names = async (): Promise<string[]> => [...(await lab.objects()).keys()].sort();
  const peering = (properties: object = {}, options: object = {}): Declared => ({
    type: "Peering",
    properties: { ...lab.pair, ...properties },
    options: { ...options },
  });
  const parts = async (stack: PulumiStack): Promise<InState[]> => {
    const { deployment } = JSON.parse(await stack.exportState()) as { deployment: { resources?: InState[] } };
    return (deployment.resources ?? [])
      .filter(({ type }) => PARTS.includes(type.replace("liqo:index:", "")))
      .sort((a, b) => (a.type < b.type ? -1 : 1));
  };
  const mtu = async () => (await lab.servers.provider.client.list(GatewayServerResource)).items[0]?.spec.mtu;
  const slice = async () => (await lab.servers.consumer.client.list(ResourceSliceResource)).items[0]?.spec;
  const tenantUid = async () => (await lab.servers.provider.client.list(TenantResource)).items[0]?.metadata.uid;
  const untilGone = (): Promise<true> =>
    until("the end of the peering", 20_000, async () => isDeepStrictEqual(await names(), empty) || undefined);

  it("ignoreChanges: what they name is not followed in what the Peering consists of, the rest is", async () => {
    const stack = await lab.make("ignoring", { both: peering({ mtu: 1400, cpu: "2", tenantCondition: "Active" }) });
    const options = { ignoreChanges: ["mtu", "cpu", "tenantCondition"] };
    await lab.write("ignoring", {
      both: peering({ mtu: 1380, cpu: "3", memory: "1Gi", tenantCondition: "Cordoned" }, options),
    });
    await stack.up();
    expect(await mtu()).to.equal(1400);
    expect((await slice())?.resources).to.deep.equal({ cpu: "2", memory: "1Gi" });
    await stack.preview({ expectNoChanges: true });
  });

  it("protect, customTimeouts and deletedWith: reach all of it", async () => {
    const cluster = { type: "NamespaceOffloading", properties: { cluster: lab.pair.consumer, namespace: "default" } };
    const customTimeouts = { create: "3m", update: "4m", delete: "5m" };
    const options = { protect: true, customTimeouts, deletedWith: "${cluster}" };
    const stack = await lab.make("protecting", { cluster, both: peering({}, options) });
    const told = (await parts(stack)).map(({ type, protect, customTimeouts, deletedWith }) => ({
      ...{ type: type.replace("liqo:index:", ""), protect, customTimeouts, deletedWith },
    }));
    const deletedWith = urnOf("protecting", "NamespaceOffloading", "cluster");
    expect(told).to.deep.equal(
      PARTS.map((type) => ({
        type,
        protect: true,
        customTimeouts: { create: 180, update: 240, delete: 300 },
        deletedWith,
      })),
    );
    const before = await lab.objects();
    expect((await stack.destroy({ allowFailure: true })).code).to.not.equal(0);
    await lab.write("protecting", { cluster });
    expect((await stack.up({ allowFailure: true })).code).to.not.equal(0);
    expect(await lab.objects()).to.deep.equal(before);

    await lab.write("protecting", { cluster, both: peering({}, { deletedWith: "${cluster}" }) });
    await stack.up();
    await stack.destroy();
    expect(await tenantUid(), "what goes with another is left to that").to.be.a("string");
    // For what follows.
    await lab.make("protecting", { both: peering() });
  });

  it("retainOnDelete: what is there stays, and is taken up again as it is", async () => {
    const stack = await lab.make("retaining", { both: peering({}, { retainOnDelete: true }) });
    const before = await lab.objects();
    await stack.destroy();
    expect(await parts(stack)).to.deep.equal([]);
    expect(await lab.objects()).to.deep.equal(before);
    await lab.write("retaining", { both: peering() });
    const uid = await tenantUid();
    await stack.up();
    expect(await tenantUid()).to.equal(uid);
    await stack.refresh({ expectNoChanges: true });
  });

  it("replaceOnChanges: the part whose property they name is replaced, in place", async () => {
    const stack = await lab.make("replacing", { both: peering({ mtu: 1400 }) });
    const uid = await tenantUid();
    await lab.write("replacing", { both: peering({ mtu: 1380 }, { replaceOnChanges: ["mtu"] }) });
    expect((await stack.up()).stdout).to.contain("1 replaced");
    expect(await mtu()).to.equal(1380);
    expect(await tenantUid()).to.equal(uid);
    await stack.refresh({ expectNoChanges: true });
  });

  it("aliases: another name, and a place below another component, touch nothing", async () => {
    const stack = await lab.make("renaming", { before: peering() });
    const objects = await lab.objects();
    const aliases = [urnOf("renaming", "Peering", "before")];
    await lab.write("renaming", { after: peering({}, { aliases }) });
    const { stdout } = await stack.up();
    expect(stdout).to.not.match(/\d+ (created|deleted|replaced)/);
    expect(await lab.objects()).to.deep.equal(objects);
    expect((await parts(stack)).map(({ urn }) => urn.split("::").at(-1))).to.deep.equal([
      "after-authentication",
      "after-network",
      "after-resources",
    ]);
    await lab.write("renaming", { after: peering() });
    await stack.preview({ expectNoChanges: true });
    // Anything may be a parent; what comes with it is made.
    const properties = { cluster: lab.pair.consumer, namespace: "default" };
    const place: Declared = { type: "NamespaceOffloading", properties };
    const moved = { parent: "${place}", aliases: [urnOf("renaming", "Peering", "after")] };
    await lab.write("renaming", { place, after: peering({}, moved) });
    expect((await stack.up()).stdout)
      .to.match(/\b1 created\b/)
      .and.to.not.match(/\d+ (deleted|replaced)/);
    const now = await lab.objects();
    for (const [name, identity] of objects) expect(now.get(name), name).to.equal(identity);
  });

  it("provider, and providers: everything is made by that one, with its labels", async () => {
    const own: Declared = { type: "pulumi:providers:liqo", properties: { globalLabels: { team: "network" } } };
    for (const [project, options] of [
      ["provided", { provider: "${own}" }],
      ["provided-several", { providers: ["${own}"] }],
    ] as const) {
      const stack = await lab.make(project, { own, both: peering({}, options) });
      const providers = (await parts(stack)).map(({ provider }) => provider?.split("::").slice(-3, -1).join("::"));
      expect(providers, project).to.deep.equal(PARTS.map(() => "pulumi:providers:liqo::own"));
      for (const side of SIDES) {
        const { items } = await lab.servers[side].client.list(NamespaceResource, {
          labelSelector: { team: "network" },
        });
        expect(items, `${project}: tenant namespaces of ${side}`).to.have.length(1);
      }
      await lab.write(project, {
        own: { ...own, properties: { globalLabels: { team: "platform" } } },
        both: peering({}, options),
      });
      await stack.up();
      const [tenant] = (await lab.servers.provider.client.list(TenantResource)).items;
      expect(tenant?.metadata.labels, project).to.include({ team: "platform" });
      await stack.refresh({ expectNoChanges: true });
      await stack.destroy();
      await untilGone();
    }
  });
});
