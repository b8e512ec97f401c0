import { expect } from "chai";
import { parse } from "yaml";
import {
  Annotations,
  DataKeys,
  IdentityResource,
  Labels,
  Names,
  TenantResource,
  type Tenant,
} from "../../../agent/api/index.js";
import { NamespaceResource, RoleBindingResource, SecretResource } from "../../../agent/runtime/index.js";
import { SECRET, SIGNATURE_KEY } from "../../../provider/server/signatures.js";
import { compareListings, listEverything } from "../../support/listing.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { kubeconfigOf } from "./support/own-kubeconfig.js";
import { Plugin, type Kept } from "./support/plugin.js";
import { SIDES, startSimulatedPair, type Side, type SimulatedPair } from "./support/simulated-pair.js";

type Properties = Record<string, unknown>;

const PAIR = { consumer: { context: "consumer" }, provider: { context: "provider" } };
const ID = "consumer/provider@consumer,provider";
const PROXY = "http://proxy.example.com:8118";
const POLICY = { authzPolicy: "TolerateNoHandshake" };
const BINDING = { name: Names.remoteControlPlaneBinding, namespace: "liqo-tenant-consumer" };
const SECRET_ID = { name: "kubeconfig-controlplane-provider", namespace: "liqo-tenant-provider" };

const TOKEN = "t0k3n-0f-a-fr1end";
const KUBECONFIG = kubeconfigOf(TOKEN);
const GIVEN = { ...PAIR, ...POLICY, kubeconfig: KUBECONFIG, userName: "friend" };

/** Real API servers with simulated agents: an Authentication by a kubeconfig of the user's own, without a handshake. */
describe("an identity that the program brings along", function () {
  this.timeout(120_000);
  let servers: Record<Side, ApiServer>;
  let simulated: SimulatedPair;
  let plugin: Plugin;
  let stock: Set<string>[];

  before(async function () {
    this.timeout(START_LIMIT_MS);
    simulated = await startSimulatedPair({ asContexts: true, namespacesEnd: true });
    ({ servers } = simulated);
    plugin = await Plugin.start();
    await simulated.rest();
    stock = await listings();
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });
  afterEach("no token is ever said", () => expect(JSON.stringify(plugin.engine.lines)).to.not.contain(TOKEN));

  const listings = (): Promise<Set<string>[]> => Promise.all(SIDES.map((side) => listEverything(servers[side].client)));
  const nothingLeft = async (): Promise<void> => {
    await simulated.rest();
    const after = await listings();
    stock.forEach((listing, side) =>
      expect(compareListings(listing, after[side] ?? new Set())).to.deep.equal({ added: [], removed: [] }),
    );
  };
  const held = async (): Promise<string> => {
    const secret = await servers.consumer.client.get(SecretResource, SECRET_ID);
    return Buffer.from(secret?.data?.[DataKeys.kubeconfig] ?? "", "base64").toString("utf8");
  };
  const tenant = async (): Promise<Tenant | undefined> => (await servers.provider.client.list(TenantResource)).items[0];
  const boundUsers = async (): Promise<string[] | undefined> =>
    (await servers.provider.client.get(RoleBindingResource, BINDING))?.subjects?.map(({ name }) => name);
  /** Of a resource without a change: no drift, and nothing for `up` to do. */
  const isAtRest = async (kept: Kept, inputs: Properties): Promise<Kept> => {
    await simulated.rest();
    const found = await plugin.refresh(kept);
    expect(found?.state["drift"]).to.deep.equal([]);
    expect(await plugin.diff(found!, inputs)).to.deep.equal({});
    return found!;
  };

  it("is previewed, made without a handshake, changed in place, and leaves nothing", async () => {
    const foreseen = await plugin.previewCreate("Authentication", GIVEN);
    expect(foreseen).to.include({ consumerClusterId: "consumer", providerClusterId: "provider" });
    await nothingLeft();
    let kept = await plugin.create("Authentication", GIVEN);
    expect(kept.state).to.include({
      identityName: "",
      kubeconfigSecretName: SECRET_ID.name,
      apiServer: "https://east.example.com",
    });
    for (const properties of [kept.inputs, kept.state])
      expect(properties["kubeconfig"]).to.deep.equal({ [SIGNATURE_KEY]: SECRET, value: KUBECONFIG });
    const { spec } = (await tenant())!;
    expect(spec).to.deep.equal({ clusterID: "consumer", ...POLICY, tenantCondition: "Active" });
    expect((await servers.consumer.client.list(IdentityResource)).items).to.deep.equal([]);
    const secret = await servers.consumer.client.get(SecretResource, SECRET_ID);
    expect(secret?.metadata?.labels).to.include({
      [Labels.identityType]: "ControlPlane",
      [Labels.remoteClusterID]: "provider",
    });
    expect(secret?.metadata?.annotations).to.include({ [Annotations.remoteTenantNamespace]: BINDING.namespace });
    expect(await held()).to.equal(KUBECONFIG);
    expect(await boundUsers()).to.deep.equal(["friend"]);
    await isAtRest(kept, GIVEN);

    const renewed = { ...GIVEN, kubeconfig: kubeconfigOf("an0th3r-0ne"), userName: "other", proxyURL: PROXY };
    expect(await plugin.diff(kept, renewed)).to.deep.equal({
      kubeconfig: "update",
      userName: "update",
      proxyURL: "add",
    });
    kept = await plugin.update(kept, renewed);
    expect(await boundUsers()).to.deep.equal(["other"]);
    expect((await tenant())?.spec.proxyURL).to.equal(PROXY);
    const written = parse(await held()) as { clusters: { cluster: object }[]; users: { user: object }[] };
    expect(written.clusters[0]?.cluster).to.include({ "proxy-url": PROXY });
    expect(written.users[0]?.user).to.deep.equal({ token: "an0th3r-0ne" });
    expect(kept.state["usedProxyURL"]).to.equal(PROXY);
    await isAtRest(kept, renewed);

    const unbound = { ...PAIR, ...POLICY, kubeconfig: KUBECONFIG, tenantCondition: "Drained" };
    kept = await plugin.update(kept, unbound);
    expect(await boundUsers(), "bound by somebody else from now on").to.equal(undefined);
    expect(await held()).to.equal(KUBECONFIG);
    await isAtRest(kept, unbound);
    await plugin.delete(kept);
    await nothingLeft();
  });

  it("shows what somebody has changed, and the next update repairs it", async () => {
    let kept = await plugin.create("Authentication", GIVEN);
    const { consumer, provider } = servers;
    const somebody = { fieldManager: "somebody" };
    const another = Buffer.from(kubeconfigOf("st0l3n")).toString("base64");
    const { name = "", namespace } = (await tenant())!.metadata;
    const cases: [string, () => Promise<unknown>][] = [
      [
        `consumer: Secret ${SECRET_ID.name} has another data.kubeconfig`,
        () => consumer.client.mergePatch(SecretResource, SECRET_ID, { data: { kubeconfig: another } }, somebody),
      ],
      [
        "provider: the RoleBinding of the identity's user is missing",
        () => provider.client.delete(RoleBindingResource, BINDING),
      ],
      [
        "provider: the Tenant asks for a handshake",
        () => {
          const patch = { spec: { authzPolicy: "KeysExchange" } };
          return provider.client.mergePatch(TenantResource, { name, namespace }, patch, somebody);
        },
      ],
      [
        "consumer: the Secret with the identity's kubeconfig is missing",
        () => consumer.client.delete(SecretResource, SECRET_ID),
      ],
    ];
    for (const [line, change] of cases) {
      await change();
      await simulated.rest();
      const found = (await plugin.refresh(kept))!;
      expect(found.state["drift"]).to.deep.equal([line]);
      expect(await plugin.diff(found, GIVEN), line).to.deep.equal({ drift: "update" });
      kept = await isAtRest(await plugin.update(found, GIVEN), GIVEN);
    }
    await plugin.delete(kept);
    await nothingLeft();
  });

  it("is imported with its kubeconfig, and one that somebody has bound stays so", async () => {
    await plugin.create("Authentication", GIVEN);
    const imported = (await plugin.import("Authentication", ID))!;
    expect(imported.inputs).to.deep.include({ ...POLICY, userName: "friend", tenantCondition: "Active" });
    expect(imported.inputs["kubeconfig"]).to.deep.equal({ [SIGNATURE_KEY]: SECRET, value: KUBECONFIG });
    await isAtRest(imported, { ...GIVEN, tenantCondition: "Active" });
    const byHand = { metadata: { labels: { [Labels.appManagedBy]: null } } };
    await servers.provider.client.mergePatch(RoleBindingResource, BINDING, byHand);
    const other = (await plugin.import("Authentication", ID))!;
    expect(other.inputs).to.not.have.property("userName");
    const inputs = { ...PAIR, ...POLICY, kubeconfig: KUBECONFIG, tenantCondition: "Active" };
    const updated = await plugin.update(await isAtRest(other, inputs), { ...inputs, objectLabels: { a: "b" } });
    // Else the binding would go with the namespace.
    const namespace = { name: BINDING.namespace };
    await servers.provider.client.mergePatch(NamespaceResource, namespace, byHand);
    await plugin.delete(updated);
    expect(await servers.provider.client.delete(RoleBindingResource, BINDING), "its maker's").to.equal(true);
    await servers.provider.client.delete(NamespaceResource, namespace);
    await nothingLeft();
  });

  it("and one by a handshake replace each other", async () => {
    const kept = await plugin.create("Authentication", PAIR);
    expect(await plugin.diff(kept, { ...PAIR, authzPolicy: "KeysExchange" }), "the default").to.deep.equal({});
    expect(await plugin.diff(kept, GIVEN)).to.deep.equal({
      authzPolicy: "add-replace",
      kubeconfig: "add",
      userName: "add",
    });
    await plugin.delete(kept);
    const own = await plugin.create("Authentication", GIVEN);
    expect(await plugin.diff(own, PAIR)).to.include({ authzPolicy: "delete-replace" });
    await plugin.delete(own);
    await nothingLeft();
  });
});
