import { expect } from "chai";
import {
  Annotations,
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  IdentityResource,
  Labels,
  Names,
  NamespaceOffloadingResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
  WgGatewayClientTemplateResource,
  WgGatewayServerTemplateResource,
} from "../../../agent/api/index.js";
import { newKeyPair } from "../../../agent/controller/network/gateways/key-secret.js";
import {
  CustomResourceDefinitionResource,
  discoverKind,
  isNotFound,
  NamespaceResource,
  RoleBindingResource,
  SecretResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { SECRET, SIGNATURE_KEY } from "../../../provider/server/signatures.js";
import { until } from "../../clusters/support/wait.js";
import { settableProperties } from "../../unit/provider-resources/properties.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { failureOf, Plugin, type Kept } from "./support/plugin.js";
import { startSimulatedPair, type Side, type SimulatedPair } from "./support/simulated-pair.js";
import { identityOfSlice, identitySecret } from "./support/slice-identity.js";

type Properties = Record<string, unknown>;

/**
 * What becomes of one property. `create` and `update` are values; a change is carried out in place, by a replacement, or concerns nothing in the
 * clusters ("none"). `drift` is what somebody does to the live object, by a merge patch, and what a refresh then shows: the property itself, or a line of `drift`. `imported`: what an
 * import tells of the value that `create` gave: the same, or the value here.
 */
interface Row {
  create: unknown;
  update: unknown;
  effect: "update" | "replace";
  drift?: { side: Side; type: ResourceType; patch: object; shows: "itself" | RegExp };
  imported: "same" | { is: unknown };
}

/** An input that is no part of what is in the clusters: an import leaves it at its default. */
const own = (create: unknown, update: unknown, imported: unknown = undefined): Row => ({
  create,
  update,
  effect: "update",
  imported: { is: imported },
});

const onServer = (patch: object, shows: "itself" | RegExp) => ({
  side: "provider" as const,
  type: GatewayServerResource,
  patch: { spec: patch },
  shows,
});
const onClient = (patch: object, shows: "itself" | RegExp) => ({
  side: "consumer" as const,
  type: GatewayClientResource,
  patch: { spec: patch },
  shows,
});
const onNode = (patch: object, shows: "itself" | RegExp) => ({
  side: "consumer" as const,
  type: VirtualNodeResource,
  patch: { spec: patch },
  shows,
});
const affinityTo = (disk: string) => {
  const term = { matchExpressions: [{ key: "disk", operator: "In", values: [disk] }] };
  return {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, preference: term }],
  };
};
const withPriority = (priorityClassName: string) => ({
  metadata: { labels: { team: "platform" } },
  spec: { template: { spec: { priorityClassName } } },
});
const annotated = (key: string, word: string | null) => ({
  side: "consumer" as const,
  type: NamespaceOffloadingResource,
  patch: { metadata: { annotations: { [key]: word } } },
  shows: "itself" as const,
});
const onOffloading = (patch: object, shows: "itself" | RegExp) => ({
  side: "consumer" as const,
  type: NamespaceOffloadingResource,
  patch: { spec: patch },
  shows,
});
const marks = (type: ResourceType, side: Side): Record<string, Row> => ({
  objectLabels: {
    create: { env: "test" },
    update: { env: "production" },
    effect: "update",
    drift: { side, type, patch: { metadata: { labels: { env: null } } }, shows: /metadata\.labels\.env/ },
    imported: { is: {} },
  },
  objectAnnotations: {
    create: { note: "one" },
    update: { note: "two" },
    effect: "update",
    drift: {
      side,
      type,
      patch: { metadata: { annotations: { note: "other" } } },
      shows: /metadata\.annotations\.note/,
    },
    imported: { is: {} },
  },
});

const TABLE: Record<string, Record<string, Row>> = {
  NetworkLink: {
    gatewayServerLocation: { create: "Provider", update: "Consumer", effect: "replace", imported: "same" },
    "gatewayServer.type": {
      create: "NodePort",
      update: "LoadBalancer",
      effect: "update",
      drift: onServer({ endpoint: { serviceType: "ClusterIP", nodePort: null } }, "itself"),
      imported: "same",
    },
    "gatewayServer.port": {
      create: 51000,
      update: 51001,
      effect: "update",
      drift: onServer({ endpoint: { port: 52000 } }, "itself"),
      imported: "same",
    },
    "gatewayServer.nodePort": {
      create: 31000,
      update: 31001,
      effect: "update",
      drift: onServer({ endpoint: { nodePort: 32000 } }, "itself"),
      imported: "same",
    },
    // For another type of Service than the rest of this table.
    "gatewayServer.loadBalancerIP": { create: undefined, update: undefined, effect: "update", imported: "same" },
    "gatewayServer.loadBalancerClass": { create: undefined, update: undefined, effect: "update", imported: "same" },
    "gatewayServer.serviceLabels": {
      create: { a: "b" },
      update: { a: "c" },
      effect: "update",
      drift: onServer({ serviceLabels: { a: "x" } }, /spec\.serviceLabels\.a/),
      imported: "same",
    },
    "gatewayServer.serviceAnnotations": {
      create: { a: "b" },
      update: { a: "c" },
      effect: "update",
      drift: onServer({ serviceAnnotations: { a: null } }, /spec\.serviceAnnotations\.a/),
      imported: "same",
    },
    "gatewayServer.templateName": {
      create: "own-server",
      update: "wireguard-server",
      effect: "update",
      drift: onServer({ serverTemplateRef: { name: "x" } }, /spec\.serverTemplateRef\.name/),
      imported: "same",
    },
    "gatewayServer.templateNamespace": {
      create: "default",
      update: "liqo",
      effect: "update",
      drift: onServer({ serverTemplateRef: { namespace: "x" } }, /spec\.serverTemplateRef\.namespace/),
      imported: "same",
    },
    "gatewayServer.templateKind": {
      create: "GatewayTemplate",
      update: "WgGatewayServerTemplate",
      effect: "update",
      drift: onServer({ serverTemplateRef: { kind: "X" } }, /spec\.serverTemplateRef\.kind/),
      imported: "same",
    },
    "gatewayServer.templateApiVersion": {
      create: "example.com/v1",
      update: "networking.liqo.io/v1beta1",
      effect: "update",
      drift: onServer({ serverTemplateRef: { apiVersion: "x/v1" } }, /spec\.serverTemplateRef\.apiVersion/),
      imported: "same",
    },
    // The tenant namespace, in which they are, is there once the link is.
    "gatewayServer.secretRef": {
      create: undefined,
      update: { name: "own-keys" },
      effect: "update",
      imported: "same",
    },
    "gatewayClient.address": {
      create: "nat.example.com",
      update: "203.0.113.7",
      effect: "update",
      drift: onClient({ endpoint: { addresses: ["198.51.100.1"] } }, /does not point to the server/),
      imported: "same",
    },
    // Instead of address.
    "gatewayClient.addresses": { create: undefined, update: undefined, effect: "update", imported: "same" },
    "gatewayClient.port": {
      create: 40000,
      update: 40001,
      effect: "update",
      drift: onClient({ endpoint: { port: 40002 } }, /does not point to the server/),
      imported: "same",
    },
    "gatewayClient.templateName": {
      create: "own-client",
      update: "wireguard-client",
      effect: "update",
      drift: onClient({ clientTemplateRef: { name: "x" } }, /spec\.clientTemplateRef\.name/),
      imported: "same",
    },
    "gatewayClient.templateNamespace": {
      create: "default",
      update: "liqo",
      effect: "update",
      drift: onClient({ clientTemplateRef: { namespace: "x" } }, /spec\.clientTemplateRef\.namespace/),
      imported: "same",
    },
    "gatewayClient.templateKind": {
      create: "GatewayTemplate",
      update: "WgGatewayClientTemplate",
      effect: "update",
      drift: onClient({ clientTemplateRef: { kind: "X" } }, /spec\.clientTemplateRef\.kind/),
      imported: "same",
    },
    "gatewayClient.templateApiVersion": {
      create: "example.com/v1",
      update: "networking.liqo.io/v1beta1",
      effect: "update",
      drift: onClient({ clientTemplateRef: { apiVersion: "x/v1" } }, /spec\.clientTemplateRef\.apiVersion/),
      imported: "same",
    },
    "gatewayClient.secretRef": {
      create: undefined,
      update: { name: "own-keys" },
      effect: "update",
      imported: "same",
    },
    mtu: { create: 1400, update: 1380, effect: "update", drift: onServer({ mtu: 1300 }, "itself"), imported: "same" },
    keyRotationTrigger: own("2026-01", "2026-02"),
    disableSharingKeys: own(false, true, false),
    ...marks(ConfigurationResource, "consumer"),
    forceUnreachable: own(true, false, false),
  },
  Authentication: {
    // In-band needs a network with an address for the proxy: shown by the in-band end-to-end test.
    inBand: own(false, false, false),
    proxyURL: {
      create: "http://proxy.example.com:8118",
      update: "http://other.example.com:8118",
      effect: "update",
      drift: {
        side: "provider",
        type: TenantResource,
        patch: { spec: { proxyURL: "http://x:1" } },
        shows: /another proxy/,
      },
      imported: "same",
    },
    tenantCondition: {
      create: "Active",
      update: "Cordoned",
      effect: "update",
      drift: {
        side: "provider",
        type: TenantResource,
        patch: { spec: { tenantCondition: "Cordoned" } },
        shows: "itself",
      },
      imported: "same",
    },
    // Of an identity without a handshake: own-identity.test.ts.
    authzPolicy: { create: undefined, update: undefined, effect: "replace", imported: "same" },
    kubeconfig: { create: undefined, update: undefined, effect: "update", imported: "same" },
    userName: { create: undefined, update: undefined, effect: "update", imported: "same" },
    ...marks(TenantResource, "provider"),
    forceUnreachable: own(true, false, false),
  },
  ResourceSlice: {
    name: { create: "slice", update: "other", effect: "replace", imported: "same" },
    class: {
      create: "gold",
      update: "silver",
      effect: "update",
      drift: slice({ spec: { class: "x" } }),
      imported: "same",
    },
    resources: {
      create: { cpu: "2" },
      update: { cpu: "3" },
      effect: "update",
      drift: slice({ spec: { resources: { cpu: "9" } } }),
      imported: "same",
    },
    createVirtualNode: {
      create: true,
      update: false,
      effect: "update",
      drift: slice({ metadata: { annotations: { [Annotations.createVirtualNode]: null } } }),
      imported: "same",
    },
    cordoned: {
      create: true,
      update: false,
      effect: "update",
      drift: {
        side: "provider",
        type: ResourceSliceResource,
        patch: { metadata: { annotations: { [Annotations.cordon]: null } } },
        shows: "itself",
      },
      imported: "same",
    },
    ...marks(ResourceSliceResource, "consumer"),
    forceUnreachable: own(true, false, false),
  },
  VirtualNode: {
    name: { create: "node", update: "other", effect: "replace", imported: "same" },
    providerClusterId: { create: "provider", update: "third", effect: "replace", imported: "same" },
    resourceSliceName: {
      create: "slice",
      update: "other",
      effect: "update",
      drift: onNode({ kubeconfigSecretRef: { name: "x" } }, /kubeconfigSecretRef\.name/),
      imported: "same",
    },
    // Instead of resourceSliceName.
    kubeconfigSecretName: { create: undefined, update: undefined, effect: "update", imported: "same" },
    resources: {
      create: { cpu: "1" },
      update: { cpu: "2" },
      effect: "update",
      drift: onNode({ resourceQuota: { hard: { cpu: "7" } } }, "itself"),
      imported: "same",
    },
    labels: {
      create: { zone: "a" },
      update: { zone: "b" },
      effect: "update",
      drift: onNode({ labels: { zone: "x" } }, /spec\.labels\.zone/),
      imported: "same",
    },
    annotations: {
      create: { note: "a" },
      update: { note: "b" },
      effect: "update",
      drift: onNode({ annotations: { note: null } }, /spec\.annotations\.note/),
      imported: "same",
    },
    taints: {
      create: [{ key: "x", effect: "NoSchedule" }],
      update: [{ key: "y", effect: "NoExecute" }],
      effect: "update",
      drift: onNode({ taints: [] }, /spec\.taints/),
      imported: "same",
    },
    nodeSelector: {
      create: { disk: "fast" },
      update: { disk: "slow" },
      effect: "update",
      drift: onNode({ offloadingPatch: { nodeSelector: { disk: "x" } } }, /nodeSelector\.disk/),
      imported: "same",
    },
    nodeAffinity: {
      create: affinityTo("fast"),
      update: affinityTo("slow"),
      effect: "update",
      drift: onNode({ offloadingPatch: { affinity: { nodeAffinity: affinityTo("x") } } }, /affinity/),
      imported: "same",
    },
    tolerations: {
      create: [{ key: "gpu", operator: "Exists", effect: "NoSchedule" }],
      update: [{ key: "gpu", operator: "Equal", value: "a", effect: "NoExecute", tolerationSeconds: 30 }],
      effect: "update",
      drift: onNode({ offloadingPatch: { tolerations: [] } }, /tolerations/),
      imported: "same",
    },
    labelsNotReflected: {
      create: ["example.com/team"],
      update: ["example.com/cost"],
      effect: "update",
      drift: onNode({ offloadingPatch: { labelsNotReflected: [] } }, /labelsNotReflected/),
      imported: "same",
    },
    annotationsNotReflected: {
      create: ["note"],
      update: ["note", "example.com/note"],
      effect: "update",
      drift: onNode({ offloadingPatch: { annotationsNotReflected: [] } }, /annotationsNotReflected/),
      imported: "same",
    },
    storageClasses: {
      create: ["fast", "slow"],
      update: ["slow", "fast"],
      effect: "update",
      drift: onNode({ storageClasses: [] }, /spec\.storageClasses/),
      imported: "same",
    },
    ingressClasses: {
      create: ["a", "b"],
      update: ["b"],
      effect: "update",
      drift: onNode({ ingressClasses: [] }, /spec\.ingressClasses/),
      imported: "same",
    },
    loadBalancerClasses: {
      create: ["example.com/a", "b"],
      update: ["example.com/a"],
      effect: "update",
      drift: onNode({ loadBalancerClasses: [] }, /spec\.loadBalancerClasses/),
      imported: "same",
    },
    runtimeClassName: {
      create: "kata",
      update: "runc",
      effect: "update",
      drift: onNode({ offloadingPatch: { runtimeClassName: "x" } }, /runtimeClassName/),
      imported: "same",
    },
    vkOptionsTemplateName: {
      create: "own",
      update: "other",
      effect: "update",
      drift: onNode({ vkOptionsTemplateRef: { name: "x" } }, /vkOptionsTemplateRef\.name/),
      imported: "same",
    },
    vkOptionsTemplateNamespace: {
      create: "default",
      update: "liqo",
      effect: "update",
      drift: onNode({ vkOptionsTemplateRef: { namespace: "x" } }, /vkOptionsTemplateRef\.namespace/),
      imported: "same",
    },
    template: {
      create: withPriority("one"),
      update: withPriority("two"),
      effect: "update",
      drift: onNode({ template: withPriority("other") }, /spec\.template\.spec\.template\.spec\.priorityClassName/),
      imported: "same",
    },
    images: {
      create: [{ names: ["example.com/shop:1"], sizeBytes: 1000 }],
      update: [{ names: ["example.com/shop:1", "example.com/shop:latest"] }],
      effect: "update",
      drift: onNode({ images: [] }, /spec\.images/),
      imported: "same",
    },
    createNode: {
      create: true,
      update: false,
      effect: "update",
      drift: onNode({ createNode: false }, "itself"),
      imported: "same",
    },
    disableNetworkCheck: {
      create: true,
      update: false,
      effect: "update",
      drift: onNode({ disableNetworkCheck: false }, "itself"),
      imported: "same",
    },
    ...marks(VirtualNodeResource, "consumer"),
  },
  NamespaceOffloading: {
    namespace: { create: "shop", update: "bank", effect: "replace", imported: "same" },
    createNamespace: own(true, false, false),
    namespaceMappingStrategy: {
      create: "SelectedName",
      update: "EnforceSameName",
      effect: "replace",
      imported: "same",
    },
    remoteNamespaceName: { create: "remote-shop", update: "other", effect: "replace", imported: "same" },
    podOffloadingStrategy: {
      create: "Remote",
      update: "Local",
      effect: "update",
      drift: onOffloading({ podOffloadingStrategy: "Local" }, "itself"),
      imported: "same",
    },
    clusterSelector: {
      create: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }] },
      update: { nodeSelectorTerms: [{ matchExpressions: [{ key: "b", operator: "Exists" }] }] },
      effect: "update",
      drift: onOffloading({ clusterSelector: { nodeSelectorTerms: [] } }, "itself"),
      imported: "same",
    },
    evictionAfterDisconnect: {
      create: "30",
      update: "never",
      effect: "update",
      drift: annotated(Annotations.evictionAfterDisconnect, "60"),
      imported: "same",
    },
    evictionAfterUnschedulable: {
      create: "never",
      update: "0",
      effect: "update",
      drift: annotated(Annotations.evictionAfterUnschedulable, null),
      imported: "same",
    },
    deleteRemoteVolumes: {
      create: true,
      update: false,
      effect: "update",
      drift: annotated(Annotations.deleteRemoteVolumes, null),
      imported: "same",
    },
    apiServerSupport: {
      create: "remote",
      update: "disabled",
      effect: "update",
      drift: annotated(Annotations.apiServerSupport, "disabled"),
      imported: "same",
    },
    ...marks(NamespaceOffloadingResource, "consumer"),
  },
  PeeringUser: {
    consumerClusterId: { create: "someone", update: "other", effect: "replace", imported: "same" },
    apiServer: own("https://api.example.com", "https://other.example.com"),
    tlsCompatibilityMode: { create: false, update: true, effect: "replace", imported: "same" },
    expirationSeconds: own(86_400, 43_200),
    ...marks(RoleBindingResource, "provider"),
  },
};

function slice(patch: object): Row["drift"] {
  return { side: "consumer", type: ResourceSliceResource, patch, shows: "itself" };
}

const PAIRS = ["NetworkLink", "Authentication", "ResourceSlice"];
/** Has a private key that is kept nowhere else. */
const NOT_IMPORTED = "PeeringUser";
/** Where clusters are is not in them; contexts are what an import is given. */
const CLUSTERS = /^(consumer|provider|cluster)$/;

/** Real API servers with simulated agents: each input property when created, changed, replaced, refreshed and imported. */
describe("every input property", function () {
  this.timeout(300_000);
  let servers: Record<Side, ApiServer>;
  let simulated: SimulatedPair;
  let plugin: Plugin;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    simulated = await startSimulatedPair({ signing: ["provider"], asContexts: true });
    ({ servers } = simulated);
    for (const side of ["consumer", "provider"] as const) await ownTemplates(servers[side].client);
    plugin = await Plugin.start();
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  it("has a row", () => {
    const top = settableProperties().filter(
      ({ owner, path }) => owner in TABLE && !CLUSTERS.test(path) && !path.includes("[") && !/\.key$/.test(path),
    );
    const nested = new Set(["gatewayServer", "gatewayClient"]);
    const wanted = top
      .filter(
        ({ path }) =>
          !nested.has(path) &&
          !/^(consumer|provider|cluster|clusterSelector|nodeAffinity)\./.test(path) &&
          !path.includes("secretRef."),
      )
      .map(({ owner, path }) => `${owner} ${path}`);
    const rows = Object.entries(TABLE).flatMap(([owner, properties]) =>
      Object.keys(properties).map((path) => `${owner} ${path}`),
    );
    expect(rows.sort()).to.deep.equal(wanted.sort());
  });

  const clustersOf = (type: string): Properties => {
    if (PAIRS.includes(type)) return { consumer: { context: "consumer" }, provider: { context: "provider" } };
    return { cluster: { context: type === "PeeringUser" ? "provider" : "consumer" } };
  };
  const inputsOf = (type: string, which: "create" | "update", only?: (row: Row) => boolean): Properties => {
    const inputs = clustersOf(type);
    for (const [path, row] of Object.entries(TABLE[type] ?? {}))
      set(inputs, path, only && !only(row) ? row.create : row[which]);
    return inputs;
  };
  const made: Kept[] = [];
  /** Where the agents have answered the last change: one that they have not begun with looks as if it were answered. */
  const refreshed = async (kept: Kept): Promise<Kept | undefined> => {
    await simulated.rest();
    return plugin.refresh(kept);
  };

  for (const type of Object.keys(TABLE)) {
    it(`of ${type}: create, refresh without a change, diff of each property`, async () => {
      if (type === "VirtualNode") await prepareNode(servers.consumer.client);
      const kept = await plugin.create(type, inputsOf(type, "create"));
      made.push(kept);
      const found = await refreshed(kept);
      expect(found?.inputs).to.deep.equal(kept.inputs);
      expect(found?.state["drift"]).to.deep.equal([]);
      expect(await plugin.diff(kept, inputsOf(type, "create"))).to.deep.equal({});
      for (const [path, { create, update, effect }] of Object.entries(TABLE[type] ?? {})) {
        if (update === create) continue;
        const changed = inputsOf(type, "create");
        set(changed, path, update);
        // One rules out the other.
        if (path === "namespaceMappingStrategy") delete changed["remoteNamespaceName"];
        if (path === "gatewayServer.type") set(changed, "gatewayServer.nodePort", undefined);
        const kinds = Object.entries(await plugin.diff(kept, changed));
        const mine = kinds.filter(
          ([where]) => where === path || where.startsWith(`${path}.`) || where.startsWith(`${path}[`),
        );
        expect(mine, `${type} ${path}`).to.not.deep.equal([]);
        for (const [, kind] of mine)
          expect(kind.endsWith("-replace"), `${type} ${path}`).to.equal(effect === "replace");
      }
    });

    it(`of ${type}: import tells it, and a preview then shows no change`, async () => {
      const kept = made.find((one) => one.type === type);
      const contexts = PAIRS.includes(type) ? "consumer,provider" : "consumer";
      const id = `${kept?.id}@${contexts}`;
      if (type === NOT_IMPORTED) {
        expect((await failureOf(plugin.import(type, id))).message).to.contain("cannot be imported");
        return;
      }
      const imported = await plugin.import(type, id);
      expect(imported?.id).to.equal(kept?.id);
      for (const [path, row] of Object.entries(TABLE[type] ?? {})) {
        const wanted = row.imported === "same" ? row.create : row.imported.is;
        expect(get(imported?.inputs, path), `${type} ${path}`).to.deep.equal(wanted);
      }
      expect(await plugin.diff(imported!, imported!.inputs)).to.deep.equal({});
      expect(imported?.state["drift"]).to.deep.equal([]);
    });

    it(`of ${type}: a refresh finds its drift, and the next update repairs it`, async () => {
      let kept = made.find((one) => one.type === type) as Kept;
      for (const [path, { drift, create }] of Object.entries(TABLE[type] ?? {})) {
        if (!drift) continue;
        const { client } = servers[drift.side];
        const target = await objectOf(client, drift.type, kept);
        await client.mergePatch(drift.type, target, drift.patch, { fieldManager: "somebody" });
        const found = await plugin.refresh(kept);
        const lines = (found?.state["drift"] as string[] | undefined)?.join("\n") ?? "";
        if (drift.shows === "itself") expect(get(found?.inputs, path), `${type} ${path}`).to.not.deep.equal(create);
        else expect(lines, `${type} ${path}`).to.match(drift.shows);
        const inputs = inputsOf(type, "create");
        expect(await plugin.diff(found!, inputs), `${type} ${path}`).to.not.deep.equal({});
        kept = await plugin.update(found!, inputs);
        const repaired = await refreshed(kept);
        expect(repaired?.state["drift"], `${type} ${path}`).to.deep.equal([]);
        expect(get(repaired?.inputs, path), `${type} ${path}`).to.deep.equal(create);
      }
    });

    it(`of ${type}: all that changes in place changes together, and shows after a refresh`, async () => {
      const kept = made.find((one) => one.type === type) as Kept;
      const inputs = inputsOf(type, "update", (row) => row.effect === "update");
      if (type === "NetworkLink") set(inputs, "gatewayServer.nodePort", 31_001);
      // Keys that are not exchanged would leave the change of the others unseen.
      if (type === "NetworkLink") inputs["disableSharingKeys"] = false;
      if (type === "NetworkLink") await Promise.all(Object.values(servers).map(({ client }) => ownKeys(client)));
      if (type === "VirtualNode") inputs["resourceSliceName"] = "slice";
      const updated = await plugin.update(kept, inputs);
      const found = await refreshed(updated);
      expect(found?.inputs).to.deep.equal(updated.inputs);
      expect(found?.state["drift"]).to.deep.equal([]);
      made.splice(made.indexOf(kept), 1, updated);
    });
  }

  it("of Authentication leads to an identity, which is a secret output and follows its renewal", async () => {
    const kept = made.find(({ type }) => type === "Authentication") as Kept;
    const { client } = servers.consumer;
    const { namespace } = await objectOf(client, IdentityResource, kept);
    const id = { name: String(kept.state["kubeconfigSecretName"]), namespace };
    const marked = (value: string) => ({ [SIGNATURE_KEY]: SECRET, value });
    const held = (await client.get(SecretResource, id))?.data?.["kubeconfig"] ?? "";
    expect(kept.state["identity"]).to.deep.equal(marked(Buffer.from(held, "base64").toString()));
    const renewed = "apiVersion: v1\nkind: Config\n";
    await client.mergePatch(SecretResource, id, { data: { kubeconfig: Buffer.from(renewed).toString("base64") } });
    const found = await plugin.refresh(kept);
    expect(found?.state["identity"]).to.deep.equal(marked(renewed));
    expect(found?.state["drift"]).to.deep.equal([]);
    expect(await plugin.diff(found!, kept.inputs)).to.deep.equal({});
  });

  it("of NetworkLink that goes with a certain value of another, or names what is there only once the link is", async () => {
    const kept = made.find(({ type }) => type === "NetworkLink") as Kept;
    const inputs = structuredClone(kept.inputs);
    set(inputs, "gatewayClient.address", undefined);
    set(inputs, "gatewayClient.addresses", ["203.0.113.7", "nat.example.com"]);
    set(inputs, "gatewayServer.type", "LoadBalancer");
    set(inputs, "gatewayServer.nodePort", undefined);
    set(inputs, "gatewayServer.loadBalancerIP", "192.0.2.77");
    set(inputs, "gatewayServer.loadBalancerClass", "example.com/edge");
    const updated = await plugin.update(kept, inputs);
    made.splice(made.indexOf(kept), 1, updated);
    const found = await refreshed(updated);
    expect(found?.inputs).to.deep.equal(updated.inputs);
    expect(found?.state["drift"]).to.deep.equal([]);
    const imported = await plugin.import("NetworkLink", `${kept.id}@consumer,provider`);
    const told = ["addresses", "secretRef"].map((name) => `gatewayClient.${name}`);
    told.push(...["loadBalancerIP", "loadBalancerClass", "secretRef"].map((name) => `gatewayServer.${name}`));
    for (const path of told) {
      expect(get(imported?.inputs, path), path).to.deep.equal(get(inputs, path));
    }
    const { client } = servers.provider;
    const server = await objectOf(client, GatewayServerResource, updated);
    const endpoint = { loadBalancerIP: "192.0.2.78", loadBalancerClass: "example.com/other" };
    await client.mergePatch(GatewayServerResource, server, { spec: { endpoint } }, { fieldManager: "somebody" });
    const moved = await plugin.refresh(updated);
    expect(get(moved?.inputs, "gatewayServer")).to.include(endpoint);
    expect((await refreshed(await plugin.update(moved!, inputs)))?.inputs).to.deep.equal(updated.inputs);
    for (const [drift, line] of [
      [onServer({ secretRef: null }, "itself"), /spec\.secretRef/],
      [onClient({ secretRef: { name: "others" } }, "itself"), /spec\.secretRef/],
      [onClient({ endpoint: { addresses: ["203.0.113.7"] } }, "itself"), /does not point to the server/],
    ] as const) {
      const { client } = servers[drift.side];
      const target = await objectOf(client, drift.type, updated);
      await client.mergePatch(drift.type, target, drift.patch, { fieldManager: "somebody" });
      const changed = await plugin.refresh(updated);
      expect((changed?.state["drift"] as string[]).join("\n")).to.match(line);
      await plugin.update(changed!, inputs);
      expect((await refreshed(updated))?.state["drift"]).to.deep.equal([]);
    }
  });

  it("of everything goes with its resource", async () => {
    for (const name of ["slice", "other"]) await servers.consumer.client.delete(SecretResource, identitySecret(name));
    for (const kept of [...made].reverse()) {
      await plugin.delete(kept);
      // What an agent collects goes a moment later.
      await until(`the end of ${kept.type}`, 40_000, async () => ((await plugin.refresh(kept)) ? undefined : true));
    }
  });
});

/** The live object that a resource is about. */
async function objectOf(
  client: KubeClient,
  type: ResourceType,
  { id }: Kept,
): Promise<{ name: string; namespace?: string }> {
  const { items } = await client.list(type).catch((error: unknown) => {
    if (isNotFound(error)) return { items: [] as KubeObject[] };
    throw error;
  });
  const last = id.split("/").at(-1);
  const ofTest = items.filter(
    ({ metadata }) =>
      metadata?.managedFields?.some(({ manager }) => manager?.startsWith("pulumi-liqo")) ||
      metadata?.labels?.["liqo.io/replicated"],
  );
  const chosen = ofTest.find(({ metadata }) => metadata?.name === last || metadata?.namespace === last) ?? ofTest[0];
  if (!chosen) throw new Error(`there is no ${type.kind}`);
  return { name: chosen.metadata?.name ?? "", namespace: chosen.metadata?.namespace };
}

/** The agent's own templates under further names, and templates of a kind that somebody brings. */
async function ownTemplates(client: KubeClient): Promise<void> {
  const names = { plural: "gatewaytemplates", singular: "gatewaytemplate", kind: "GatewayTemplate" };
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const definition = {
    metadata: { name: "gatewaytemplates.example.com", labels: { [Labels.gatewayTemplate]: "true" } },
    spec: {
      group: "example.com",
      scope: "Namespaced" as const,
      names: { ...names, listKind: "GatewayTemplateList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
  await client.apply(CustomResourceDefinitionResource, definition, { fieldManager: "test" });
  const own = await until("the kind of own templates", 40_000, () =>
    discoverKind(client, "example.com/v1", "GatewayTemplate"),
  );
  for (const [type, name] of [
    [WgGatewayServerTemplateResource, "server"],
    [WgGatewayClientTemplateResource, "client"],
  ] as [ResourceType, string][]) {
    const [usual] = (await client.list(type)).items as (KubeObject & { spec: object })[];
    for (const namespace of ["default", Names.namespace]) {
      const copy = { metadata: { name: `wireguard-${name}`, namespace }, spec: usual?.spec } as KubeObject;
      await client.apply(type, copy, { fieldManager: "test" });
      await client.apply(own, { metadata: { name: `own-${name}`, namespace } }, { fieldManager: "test" });
    }
  }
}

/** A key Secret that a program may name, in every tenant namespace. */
async function ownKeys(client: KubeClient): Promise<void> {
  const { items } = await client.list(NamespaceResource, { labelSelector: { [Labels.tenantNamespace]: "true" } });
  for (const { metadata } of items) {
    const secret = { metadata: { name: "own-keys", namespace: metadata?.name }, data: { ...newKeyPair() } };
    await client.apply(SecretResource, secret, { fieldManager: "test" });
  }
}

async function prepareNode(client: KubeClient): Promise<void> {
  for (const slice of ["slice", "other"]) await identityOfSlice(client, slice);
  await client.apply(NamespaceResource, { metadata: { name: "bank" } }, { fieldManager: "test" });
}

function set(inputs: Properties, path: string, value: unknown): void {
  const parts = path.split(".");
  const leaf = parts.pop() ?? "";
  const holder = parts.reduce<Properties>((inner, part) => (inner[part] ??= {}) as Properties, inputs);
  if (value === undefined) delete holder[leaf];
  else holder[leaf] = value;
}

function get(inputs: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((inner, part) => (inner as Properties | undefined)?.[part], inputs);
}
