import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import type { Deployment } from "kubernetes-types/apps/v1";
import { Labels, NetworkResource, WgGatewayServerTemplateResource } from "../../../agent/api/index.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import { InstallNames } from "../../../agent/install/names.js";
import { agentManifests, type InstallInputs } from "../../../agent/install/index.js";
import {
  ClusterRoleResource,
  ConfigMapResource,
  DaemonSetResource,
  DeploymentResource,
  MutatingWebhookConfigurationResource,
  NamespaceResource,
  ServiceResource,
  StorageClassResource,
  ValidatingWebhookConfigurationResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { VERSION } from "../../../provider/version.js";
import { settableProperties } from "../../unit/provider-resources/properties.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { seeWrites, type Write } from "../support/write-proxy.js";
import { startInstallableServer } from "./support/installable-server.js";
import { failureOf, Plugin, type Kept } from "./support/plugin.js";

type Properties = Record<string, unknown>;

/** What becomes of one property, as in the table of the other resources. `drift`: which objects somebody changes to what the other value would have made of them. */
interface Row {
  create: unknown;
  update: unknown;
  effect: "update" | "replace";
  /** "same": an import tells what `create` gave; else what it tells. */
  imported: "same" | { is: unknown };
  drift?: "controller" | "networks" | "templates" | "labels" | "annotations";
}

const argument = (create: unknown, update: unknown): Row => ({
  create,
  update,
  effect: "update",
  imported: "same",
  drift: "controller",
});
const range = (create: unknown, update: unknown): Row => ({
  create,
  update,
  effect: "replace",
  imported: "same",
});

const TABLE: Record<string, Row> = {
  clusterId: { create: "one", update: "two", effect: "replace", imported: "same" },
  namespace: { create: "liqo", update: "other", effect: "replace", imported: "same" },
  podCIDRs: range(["10.1.0.0/16"], ["10.3.0.0/16"]),
  serviceCIDR: range("10.2.0.0/16", "10.4.0.0/16"),
  // What the agent chose itself is an output alone.
  externalCIDR: range("10.5.0.0/16", "10.6.0.0/16"),
  internalCIDR: range("10.7.0.0/16", "10.8.0.0/16"),
  reservedSubnets: {
    create: ["172.20.0.0/16"],
    update: ["172.21.0.0/16"],
    effect: "update",
    imported: "same",
    drift: "networks",
  },
  ipamPools: argument(["10.0.0.0/8", "172.16.0.0/12"], ["10.0.0.0/8"]),
  apiServerAddress: argument("https://one.example.com:6443", "https://two.example.com:6443"),
  apiServerCA: argument("Y2E=", "b3RoZXI="),
  trustedCA: argument(true, false),
  tlsCompatibilityMode: argument(true, false),
  clusterLabels: argument({ region: "west" }, { region: "east" }),
  networkingEnabled: { create: true, update: false, effect: "replace", imported: "same" },
  apiServerProxy: { create: true, update: false, effect: "update", imported: "same" },
  defaultNodeResources: argument({ cpu: "2", memory: "4Gi" }, { cpu: "3", memory: "4Gi" }),
  defaultResourceSliceClassEnabled: argument(false, true),
  resourceEnforcement: argument(false, true),
  defaultLimitsEnforcement: argument("Soft", "Hard"),
  storageEnabled: argument(true, false),
  realStorageClass: argument("fast", "slow"),
  ingressClasses: argument(["a", "b"], ["b"]),
  loadBalancerClasses: argument(["a"], ["example.com/b"]),
  pingIntervalSeconds: argument(20, 30),
  pingTimeoutSeconds: argument(6, 7),
  image: argument("example.com/agent:1", "example.com/agent:2"),
  imagePullPolicy: argument("Always", "Never"),
  imagePullSecrets: argument(["pull"], ["other"]),
  replicas: argument(2, 3),
  gatewayReplicas: { create: 2, update: 3, effect: "update", imported: "same", drift: "templates" },
  // What an installation's objects bear besides cannot be told from what others have put on them.
  labels: { create: { env: "test" }, update: { env: "live" }, effect: "update", imported: { is: {} }, drift: "labels" },
  annotations: {
    create: { note: "a" },
    update: { note: "b" },
    effect: "update",
    imported: { is: {} },
    drift: "annotations",
  },
  // Says how to go about a deletion.
  forceDelete: { create: true, update: false, effect: "update", imported: { is: false } },
};

/** A real API server, whose workloads count as running: each input property of an Agent when created, changed, replaced, refreshed and imported. */
describe("every input property of an Agent", function () {
  this.timeout(300_000);
  let server: ApiServer;
  let client: KubeClient;
  let plugin: Plugin;
  let kept: Kept;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startInstallableServer("one");
    ({ client } = server);
    plugin = await Plugin.start({ kubeconfig: server.kubeconfigPath });
  });
  after(async () => {
    await plugin?.stop();
    await server?.stop();
  });

  const inputsOf = (which: "create" | "update", only: (row: Row) => boolean = () => true): Properties =>
    Object.fromEntries(Object.entries(TABLE).map(([name, row]) => [name, only(row) ? row[which] : row.create]));
  const withOther = (name: string): Properties => ({ ...inputsOf("create"), [name]: TABLE[name]?.update });
  /** The objects of an installation with these inputs. */
  const manifestsOf = (inputs: Properties, version = VERSION): KubeObject[] => {
    const parsed = agentInputs.parse(inputs);
    const { podCIDRs = [], serviceCIDR = "", apiServerAddress = "" } = parsed;
    const install: InstallInputs = installInputs(parsed, { podCIDRs, serviceCIDR, apiServerAddress });
    return agentManifests({ ...install, version });
  };

  it("has a row", () => {
    const wanted = settableProperties()
      .filter(({ owner, path }) => owner === "Agent" && !/[.[]/.test(path) && path !== "cluster")
      .map(({ path }) => path);
    expect(Object.keys(TABLE).sort()).to.deep.equal(wanted.sort());
  });

  it("is created, and shows unchanged after a refresh; a change is one of that property alone", async () => {
    kept = await plugin.create("Agent", inputsOf("create"));
    const refreshed = await plugin.refresh(kept);
    expect(refreshed?.state["drift"]).to.deep.equal([]);
    expect(refreshed?.inputs).to.deep.equal(kept.inputs);
    expect(await plugin.diff(kept, inputsOf("create"))).to.deep.equal({});
    for (const [name, { effect }] of Object.entries(TABLE)) {
      const changes = await plugin.diff(kept, withOther(name)).catch((error: unknown) => error as Error);
      // A cluster has one agent: that another ID or namespace is refused is another test's matter.
      if (changes instanceof Error) expect(["clusterId", "namespace"], changes.message).to.include(name);
      else {
        expect(
          Object.keys(changes).map((path) => path.split(/[.[]/)[0]),
          name,
        ).to.include(name);
        for (const kind of Object.values(changes))
          expect(kind.endsWith("-replace"), name).to.equal(effect === "replace");
      }
    }
  });

  it("is told by an import, and a preview then shows no change", async () => {
    const imported = await plugin.import("Agent", "one");
    for (const [name, row] of Object.entries(TABLE)) {
      expect(imported?.inputs[name], name).to.deep.equal(row.imported === "same" ? row.create : row.imported.is);
    }
    expect(await plugin.diff(imported!, imported!.inputs)).to.deep.equal({});
  });

  it("is left out again after an import where the cluster tells it: nothing changes, and an update keeps it", async () => {
    const imported = (await plugin.import("Agent", "one"))!;
    const without = (...names: string[]): Properties =>
      Object.fromEntries(Object.entries(imported.inputs).filter(([name]) => !names.includes(name)));
    expect(await plugin.diff(imported, without("podCIDRs"))).to.deep.equal({});
    const left = without("podCIDRs", "serviceCIDR");
    expect(await plugin.diff(imported, left)).to.deep.equal({});
    // A range that is no more the cluster's is not taken for it.
    const moved = { ...imported, inputs: { ...imported.inputs, serviceCIDR: "10.4.0.0/16" } };
    expect(await plugin.diff(moved, left)).to.deep.equal({ serviceCIDR: "delete-replace" });
    const { podCIDRs, serviceCIDR, ...others } = inputsOf("create");
    const updated = await plugin.update(kept, { ...others, pingTimeoutSeconds: 4 });
    expect(updated.state).to.deep.include({ podCIDRs, serviceCIDR });
    expect(await plugin.diff(updated, others)).to.deep.equal({ pingTimeoutSeconds: "update" });
    kept = await plugin.update(updated, inputsOf("create"));
  });

  it("is told by an import also where it has no network: what is not to be there is not missing", async () => {
    const isNetworks = ({ kind, metadata }: KubeObject): boolean =>
      kind === "DaemonSet" || (kind === "Deployment" && metadata?.name === InstallNames.controller);
    const without = manifestsOf({ ...inputsOf("create"), networkingEnabled: false }).filter(isNetworks);
    const fabric = { name: InstallNames.fabric, namespace: "liqo" };
    expect(without.map(({ kind }) => kind)).to.deep.equal(["Deployment"]);
    await apply(client, without, InstallNames.manager);
    await client.delete(DaemonSetResource, fabric);
    const imported = await plugin.import("Agent", "one");
    expect(imported?.inputs).to.include({ networkingEnabled: false, image: TABLE["image"]?.create });
    await apply(client, manifestsOf(inputsOf("create")).filter(isNetworks), InstallNames.manager);
    expect((await plugin.refresh(kept))?.inputs).to.deep.equal(kept.inputs);
  });

  it("has the provider's labels and annotations beneath its own, and none that the package goes by", async () => {
    const settings = { kubeconfig: server.kubeconfigPath };
    const globals = { globalLabels: { team: "platform", env: "any" }, globalAnnotations: { contact: "x" } };
    await plugin.configure({ ...settings, ...globals });
    const { labels, annotations } = await plugin.check("Agent", inputsOf("create"), kept.inputs);
    expect(labels).to.deep.equal({ team: "platform", env: "test" });
    expect(annotations).to.include({ contact: "x" });
    const reserved = { ...inputsOf("create"), labels: { "liqo.io/type": "mine" } };
    const { message } = await failureOf(plugin.check("Agent", reserved, kept.inputs));
    expect(message).to.match(/labels.*liqo\.io\/type.*is set by this package itself/);
    await plugin.configure(settings);
  });

  it("shows a change by somebody else after a refresh", async () => {
    for (const [name, { drift, update }] of Object.entries(TABLE)) {
      if (!drift) continue;
      await apply(client, drifted(drift, manifestsOf(withOther(name))), "somebody");
      const refreshed = await plugin.refresh(kept);
      if (drift === "labels" || drift === "annotations") {
        expect((refreshed?.state["drift"] as string[]).join("\n"), name).to.contain(
          drift === "labels" ? "metadata.labels.env" : "metadata.annotations.note",
        );
      } else if (drift === "networks") {
        expect(refreshed?.inputs[name], name).to.deep.equal([
          ...(TABLE[name]?.create as string[]),
          ...(update as string[]),
        ]);
        await client.delete(NetworkResource, { name: "reserved-172-21-0-0-16", namespace: "liqo" });
      } else expect(refreshed?.inputs[name], name).to.deep.equal(update);
      expect(await plugin.diff(refreshed!, inputsOf("create")), name).to.not.deep.equal({});
      const restored = drifted(drift, manifestsOf(inputsOf("create")));
      await apply(client, restored, InstallNames.manager);
      // Somebody lets go of it again.
      const nothing = restored.map(({ apiVersion, kind, metadata = {} }) => {
        const { name, namespace } = metadata;
        return { apiVersion, kind, metadata: { name, namespace } };
      });
      await apply(client, nothing, "somebody");
    }
    expect((await plugin.refresh(kept))?.state["drift"]).to.deep.equal([]);
  });

  it("and objects that are lost or changed are named by a refresh, and repaired by the next update", async () => {
    const namespace = "liqo";
    await client.delete(ClusterRoleResource, { name: "liqo-remote-controlplane" });
    const cleared = { metadata: { labels: { env: null } } };
    const [service] = (await client.list(ServiceResource, { namespace })).items;
    await client.mergePatch(ServiceResource, { name: service?.metadata?.name ?? "", namespace }, cleared);
    const refreshed = await plugin.refresh(kept);
    const drift = refreshed?.state["drift"] as string[];
    expect(drift).to.include("ClusterRole liqo-remote-controlplane is missing");
    expect(drift.join("\n")).to.contain(`Service ${service?.metadata?.name} has another metadata.labels.env`);
    expect(await plugin.diff(refreshed!, inputsOf("create"))).to.deep.equal({ drift: "update" });
    kept = await plugin.update(refreshed!, inputsOf("create"));
    expect((await plugin.refresh(kept))?.state["drift"]).to.deep.equal([]);
  });

  it("stays while the agent is brought to this version from an earlier or a later one; a preview says what changes", async () => {
    const controller = { name: "liqo-controller-manager", namespace: "liqo" };
    for (const version of ["0.0.9", "9.9.9"]) {
      const theirs = manifestsOf(inputsOf("create"), version);
      const objects = theirs.filter(({ kind }) => kind !== "CustomResourceDefinition");
      await apply(client, objects, InstallNames.manager);
      // One role it has alone, and one it has not; a third is not of it, whatever its labels.
      const [role] = objects.filter(({ kind }) => kind === "ClusterRole");
      const ofTheirs = (name: string, labels = {}): KubeObject => ({
        ...role,
        metadata: { name, labels: { ...role?.metadata?.labels, ...labels } },
      });
      const others = ofTheirs("of-others", { [Labels.appManagedBy]: "Helm" });
      await apply(client, [ofTheirs("liqo-former"), others], InstallNames.manager);
      await client.delete(ClusterRoleResource, { name: "liqo-remote-controlplane" });
      const refreshed = await plugin.refresh(kept);
      expect(refreshed?.state).to.deep.include({ version, drift: [] });
      expect(await plugin.diff(refreshed!, inputsOf("create"))).to.deep.equal({ version: "update" });
      const said = plugin.logs.length;
      await plugin.previewUpdate(refreshed!, inputsOf("create"));
      expect(plugin.logs.slice(said)).to.deep.equal([
        `cluster one: the agent one goes from version ${version} to ${VERSION} in place; as the new version has it:\n` +
          "  ClusterRole liqo-remote-controlplane is missing\n" +
          "  ClusterRole liqo-former goes",
      ]);
      const before = await client.get(DeploymentResource, controller);
      kept = await plugin.update(refreshed!, inputsOf("create"));
      expect(kept.state["version"]).to.equal(VERSION);
      const after = await client.get(DeploymentResource, controller);
      expect(after?.metadata?.uid).to.equal(before?.metadata?.uid);
      expect(after?.metadata?.labels?.[Labels.appVersion]).to.equal(VERSION);
      expect((await plugin.refresh(kept))?.state).to.deep.include({ version: VERSION, drift: [] });
      expect(await client.get(ClusterRoleResource, { name: "liqo-former" })).to.equal(undefined);
      expect(await client.get(ClusterRoleResource, { name: "of-others" })).to.not.equal(undefined);
    }
    await client.delete(ClusterRoleResource, { name: "of-others" });
  });

  it("changes in place together with all others that do, and shows after a refresh", async () => {
    const inputs = inputsOf("update", ({ effect }) => effect === "update");
    kept = await plugin.update(kept, inputs);
    const refreshed = await plugin.refresh(kept);
    expect(refreshed?.inputs).to.deep.equal(kept.inputs);
    expect(refreshed?.state["drift"]).to.deep.equal([]);
    for (const type of [ConfigMapResource, DaemonSetResource, DeploymentResource] as ResourceType[]) {
      const { items } = await client.list(type, { namespace: "liqo" });
      for (const { metadata } of items) expect(metadata?.labels, metadata?.name).to.include({ env: "live" });
    }
  });

  it("takes away what it has brought, also when an update broke off before it came to that; a copy by somebody stays", async () => {
    kept = await plugin.update(kept, inputsOf("create"));
    const [template] = manifestsOf(inputsOf("create")).filter(
      ({ kind }) => kind === WgGatewayServerTemplateResource.kind,
    );
    const copy = { name: "copy", namespace: "liqo" };
    await apply(client, [{ ...template, metadata: { ...template?.metadata, ...copy } }], "somebody");
    const folder = mkdtempSync(join(os.tmpdir(), "liqo-broken-off-"));
    let isCut = true;
    const happens = ({ what }: Write) => isCut && what.startsWith("PATCH");
    const through = await seeWrites(server, join(folder, "kubeconfig"), { happens });
    try {
      const cluster = { kubeconfig: through.kubeconfig };
      const less = { ...inputsOf("create"), apiServerProxy: false, storageEnabled: false, reservedSubnets: [] };
      const broken = await plugin.tryUpdate(kept, { ...less, cluster });
      expect(broken.inputs).to.include({ apiServerProxy: false, storageEnabled: false });
      isCut = false;
      const drift = (await plugin.refresh(broken))?.state["drift"];
      expect(drift).to.include("Deployment liqo/liqo-proxy should not be there");
      kept = await plugin.update(broken, less);
    } finally {
      await through.stop();
      rmSync(folder, { recursive: true, force: true });
    }
    expect(await client.get(DeploymentResource, { name: "liqo-proxy", namespace: "liqo" })).to.equal(undefined);
    expect(await client.get(ServiceResource, { name: "liqo-proxy", namespace: "liqo" })).to.equal(undefined);
    expect((await client.list(StorageClassResource)).items).to.deep.equal([]);
    const storage = await client.get(NamespaceResource, { name: "liqo-storage" });
    expect(storage && !storage.metadata?.deletionTimestamp).to.not.equal(true);
    const networks = await client.list(NetworkResource, { namespace: "liqo" });
    expect(networks.items.filter(({ metadata }) => metadata.name?.startsWith("reserved-"))).to.deep.equal([]);
    expect((await plugin.refresh(kept))?.state["drift"]).to.deep.equal([]);
    expect(await client.get(WgGatewayServerTemplateResource, copy)).to.not.equal(undefined);
    await client.delete(WgGatewayServerTemplateResource, copy);
  });

  it("is kept where the kubeconfig leads to another cluster's agent: neither a refresh nor a deletion takes that for its end", async () => {
    const name = kept.inputs["clusterId"] as string;
    const lost: Kept = { ...kept, id: "lost", inputs: { ...kept.inputs, clusterId: "lost" } };
    const workloads = async () =>
      (await client.list(DeploymentResource)).items.map(({ metadata }) => `${metadata?.name} ${metadata?.uid}`);
    const before = await workloads();
    const told = new RegExp(`agent has the cluster ID ${name}, but this resource was made for lost: nothing was`);
    expect((await failureOf(plugin.refresh(lost))).message).to.match(told);
    const { message } = await failureOf(plugin.delete(lost));
    expect(message).to.match(told).and.to.contain("pulumi state delete");
    expect(await workloads()).to.deep.equal(before);
  });

  it("goes with it", async () => {
    await plugin.delete({ ...kept, inputs: { ...kept.inputs, forceDelete: true } });
    // Without any agent there, it is gone, and its deletion has nothing to do.
    expect(await plugin.refresh(kept)).to.equal(undefined);
    await plugin.delete(kept);
    for (const type of [MutatingWebhookConfigurationResource, ValidatingWebhookConfigurationResource] as ResourceType[])
      expect((await client.list(type)).items).to.deep.equal([]);
  });
});

/** Of an installation, what somebody changes. */
function drifted(what: NonNullable<Row["drift"]>, manifests: KubeObject[]): KubeObject[] {
  const controller = manifests.filter(
    (object): object is Deployment =>
      object.kind === "Deployment" && object.metadata?.name === "liqo-controller-manager",
  );
  switch (what) {
    case "controller":
      return controller;
    case "networks":
      return manifests.filter(({ kind, metadata }) => kind === "Network" && metadata?.name?.startsWith("reserved-"));
    case "templates":
      return manifests.filter(({ kind }) => kind === WgGatewayServerTemplateResource.kind);
    case "labels":
    case "annotations":
      return manifests.filter(({ kind }) => kind === "ConfigMap");
  }
}

async function apply(client: KubeClient, objects: KubeObject[], fieldManager: string): Promise<void> {
  for (const object of objects) await client.apply(resourceTypeOf(object), object, { fieldManager });
}
