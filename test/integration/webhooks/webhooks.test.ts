import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import {
  ConfigurationResource,
  FirewallConfigurationResource,
  ForeignClusterResource,
  NamespaceMapResource,
  NamespaceOffloadingResource,
  QuotaResource,
  ResourceSliceResource,
  RouteConfigurationResource,
  ShadowPodResource,
  TenantResource,
  VirtualNodeResource,
  VkOptionsTemplateResource,
  type FirewallChain,
  type FirewallConfiguration,
  type ShadowPod,
  type VirtualNode,
} from "../../../agent/api/index.js";
import {
  DaemonSetResource,
  EventResource,
  Informer,
  KubeClient,
  NamespaceResource,
  NodeResource,
  ownerReference,
  PersistentVolumeResource,
  PodResource,
  RuntimeClassResource,
  SecretResource,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import {
  LimitRangeResource,
  ensureNamespace,
  eventually,
  startController,
  tenantLabels,
  type RunningController,
} from "../offloading/harness.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { remoteVolume } from "../support/remote-volume.js";

const TENANT = "liqo-tenant-consumer";
const REMOTE = "liqo.io/remote-cluster-id";
/** Keeps what is deleted in sight. */
const HOLD = "example.org/hold";

describe("webhooks called by a real API server", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let controller: RunningController;
  let client: KubeClient;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    client = server.client;
    controller = await startController(server, "provider", { webhooks: true });
    await ensureNamespace(client, TENANT, tenantLabels("consumer"));
  });

  after(async () => {
    await controller?.stop();
    await server?.stop();
  });

  async function refusal(action: Promise<unknown>): Promise<string> {
    try {
      await action;
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error("the request was not refused");
  }

  /** Takes our finalizer off an object that is being deleted, and waits for its end. */
  async function release<T extends KubeObject>(
    type: ResourceType<T>,
    id: { name: string; namespace: string },
  ): Promise<void> {
    await eventually(`the end of ${type.kind} ${id.name}`, async () => {
      const object = await client.get(type, id);
      if (!object) return true;
      const { resourceVersion, finalizers = [] } = object.metadata ?? {};
      const others = finalizers.filter((finalizer) => finalizer !== HOLD);
      await client.mergePatch(type, id, { metadata: { resourceVersion, finalizers: others } });
      return undefined;
    });
  }

  it("takes a Configuration's ranges as strings by server-side apply, repeatedly, and stores lists", async () => {
    const configuration = ConfigurationResource.build({
      metadata: { name: "consumer", namespace: TENANT, labels: { [REMOTE]: "consumer" } },
      spec: { remote: { cidr: { pod: "10.0.0.0/16", external: "10.70.0.0/16" } as never } },
    });
    for (let turn = 0; turn < 2; turn++) {
      const stored = await client.apply(ConfigurationResource, configuration, { fieldManager: "test" });
      expect(stored.spec.remote?.cidr).to.deep.equal({ pod: ["10.0.0.0/16"], external: ["10.70.0.0/16"] });
    }
    const wrong = { ...configuration, spec: { remote: { cidr: { pod: "10.0.0.0/40" } as never } } };
    expect(await refusal(client.apply(ConfigurationResource, wrong, { fieldManager: "test" }))).to.contain(
      "spec.remote.cidr.pod[0]",
    );
  });

  it("labels ForeignClusters and Tenants, and refuses Tenants in other namespaces", async () => {
    const foreign = await client.create(ForeignClusterResource, {
      ...ForeignClusterResource.build({ metadata: { name: "consumer" }, spec: { clusterID: "consumer" } }),
    });
    expect(foreign.metadata.labels?.[REMOTE]).to.equal("consumer");
    const tenant = (namespace: string) =>
      TenantResource.build({ metadata: { name: "my-tenant", namespace }, spec: { clusterID: "consumer" } });
    expect((await client.create(TenantResource, tenant(TENANT))).metadata.labels?.[REMOTE]).to.equal("consumer");
    expect(await refusal(client.create(TenantResource, tenant("default")))).to.contain("tenant namespace");
  });

  it("refuses a second source slice of one name", async () => {
    const slice = (namespace: string) =>
      ResourceSliceResource.build({
        metadata: { name: "slice", namespace, labels: { "liqo.io/replication": "true", "liqo.io/remoteID": "x" } },
        spec: {},
      });
    await client.create(ResourceSliceResource, slice("default"));
    await eventually("the slice in the cache", async () =>
      (await refusal(client.create(ResourceSliceResource, slice(TENANT)))).includes("already exists in the cluster"),
    );
  });

  it("refuses a VirtualNode whose Node exists, and fills in defaults", async () => {
    await client.create(NodeResource, { metadata: { name: "taken" } });
    const virtualNode = (name: string) =>
      VirtualNodeResource.build({ metadata: { name, namespace: TENANT }, spec: { clusterID: "other" } });
    expect(await refusal(client.create(VirtualNodeResource, virtualNode("taken")))).to.contain(
      "node taken already exists",
    );
    const created = await client.create(VirtualNodeResource, virtualNode("free"));
    expect(created.spec).to.include({ createNode: true, disableNetworkCheck: false });
    await client.delete(VirtualNodeResource, { name: "free", namespace: TENANT });
  });

  it("let a VirtualNode end whose template is gone", async () => {
    const id = { name: "leaving", namespace: TENANT };
    const template = { name: "own", namespace: TENANT };
    const options = { createNode: true, disableNetworkCheck: false, containerImage: "agent:1", metricsEnabled: false };
    await client.create(
      VkOptionsTemplateResource,
      VkOptionsTemplateResource.build({ metadata: template, spec: options }),
    );
    const virtualNode = VirtualNodeResource.build({
      metadata: { ...id, finalizers: [HOLD] },
      spec: { clusterID: "other", vkOptionsTemplateRef: template },
    });
    await client.create(VirtualNodeResource, virtualNode);
    await client.delete(VkOptionsTemplateResource, template);
    const label = { metadata: { labels: { changed: "true" } } };
    expect(await refusal(client.mergePatch(VirtualNodeResource, id, label))).to.contain(
      "there is no VkOptionsTemplate",
    );
    await client.delete(VirtualNodeResource, id);
    await release(VirtualNodeResource, id);
  });

  it("let a Tenant end whose namespace has lost its labels, and keep it from becoming another cluster's", async () => {
    const namespace = "liqo-tenant-leaving";
    const labels = tenantLabels("leaving");
    const id = { name: "leaving", namespace };
    await ensureNamespace(client, namespace, labels);
    const metadata = { ...id, finalizers: [HOLD] };
    await client.create(TenantResource, TenantResource.build({ metadata, spec: { clusterID: "leaving" } }));
    await client.delete(TenantResource, id);
    for (const change of [{ clusterID: null }, { clusterID: "consumer" }]) {
      expect(await refusal(client.mergePatch(TenantResource, id, { spec: change }))).to.match(/clusterID/i);
    }
    const none = Object.fromEntries(Object.keys(labels).map((label) => [label, null]));
    await client.mergePatch(NamespaceResource, { name: namespace }, { metadata: { labels: none } });
    await eventually("the namespace without labels in the cache", async () =>
      (await refusal(client.mergePatch(TenantResource, id, { spec: { clusterID: null } }))).includes(
        "tenant namespace",
      ),
    );
    await release(TenantResource, id);
  });

  it("validates NamespaceOffloadings, and mutates the pods of their namespaces", async () => {
    await ensureNamespace(client, "app");
    const offloading = (name: string) =>
      NamespaceOffloadingResource.build({
        metadata: { name, namespace: "app" },
        spec: { podOffloadingStrategy: "Remote", clusterSelector: { nodeSelectorTerms: [] } },
      });
    expect(await refusal(client.create(NamespaceOffloadingResource, offloading("wrong")))).to.contain("must be named");
    await client.create(NamespaceOffloadingResource, offloading("offloading"));
    await eventually("the scheduling label", async () => {
      const namespace = await client.get(NamespaceResource, { name: "app" });
      return namespace?.metadata?.labels?.["liqo.io/scheduling-enabled"] === "true";
    });
    const pod = (name: string): Pod => ({
      metadata: { name, namespace: "app" },
      spec: { containers: [{ name: "c", image: "i" }] },
    });
    const mutated = await eventually("a mutated pod", async () => {
      const created = await client.create(PodResource, pod(`p${Date.now()}`));
      return created.spec?.affinity ? created : undefined;
    });
    expect(mutated.spec?.tolerations?.some(({ key }) => key === "virtual-node.liqo.io/not-allowed")).to.equal(true);
    const delay = { metadata: { annotations: { "offloading.liqo.io/eviction-after-disconnect": "30" } } };
    await client.mergePatch(NamespaceOffloadingResource, { name: "offloading", namespace: "app" }, delay);
    const timed = await eventually("a pod with the delay", async () => {
      const created = await client.create(PodResource, pod(`t${Date.now()}`));
      return created.spec?.tolerations?.some(({ tolerationSeconds }) => tolerationSeconds === 30) ? created : undefined;
    });
    expect(timed.spec?.tolerations?.filter(({ key }) => key === "node.kubernetes.io/unreachable")).to.have.length(1);
    const daemon: Pod = pod("daemon");
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "d", controller: true };
    Object.assign(daemon.metadata ?? {}, { ownerReferences: [owner] });
    expect((await client.create(PodResource, daemon)).spec).to.not.have.property("affinity");
    const patch = { spec: { namespaceMappingStrategy: "EnforceSameName" } };
    expect(
      await refusal(client.mergePatch(NamespaceOffloadingResource, { name: "offloading", namespace: "app" }, patch)),
    ).to.contain("immutable");
  });

  it("let an offloading end only when no data goes with it, or its owner agrees", async () => {
    const id = { name: "offloading", namespace: "app" };
    const volume = remoteVolume({ name: "data", namespace: "app" }, "other");
    const end = () => client.delete(NamespaceOffloadingResource, id, { dryRun: true });
    const agree = (answer: string) =>
      client.mergePatch(NamespaceOffloadingResource, id, {
        metadata: { annotations: { "offloading.liqo.io/delete-remote-volumes": answer } },
      });
    await end();
    await client.create(PersistentVolumeResource, volume);
    const message = await eventually("a refusal", async () => {
      const text = await refusal(end());
      return text.includes("stays offloaded") ? text : undefined;
    });
    expect(message).to.contain("the data of claim data is in cluster other");
    expect(message).to.contain("deleteRemoteVolumes of the Pulumi resource");
    expect(await refusal(agree("perhaps"))).to.contain('"perhaps" is neither "true" nor "false"');
    await agree("false");
    expect(await refusal(end())).to.contain("stays offloaded");
    await agree("true");
    await end();
    await agree("false");
    await client.delete(PersistentVolumeResource, { name: volume.metadata?.name ?? "" });
    await eventually("the offloading to be free to end", () =>
      end().then(
        () => true,
        () => false,
      ),
    );
  });

  it("let a cluster's last virtual node, and the slice it was made from, end only when no data goes with them", async () => {
    const namespace = "liqo-tenant-holder";
    const offloading = { name: "offloading", namespace: "stored" };
    const [id, sibling] = [
      { name: "holder", namespace },
      { name: "holder-2", namespace },
    ];
    await ensureNamespace(client, namespace, tenantLabels("holder"));
    await ensureNamespace(client, offloading.namespace);
    await client.create(
      NamespaceOffloadingResource,
      NamespaceOffloadingResource.build({ metadata: offloading, spec: {} }),
    );
    const slice = await client.create(
      ResourceSliceResource,
      ResourceSliceResource.build({ metadata: { ...id, labels: { [REMOTE]: "holder" } }, spec: { class: "default" } }),
    );
    const spec = { clusterID: "holder", kubeconfigSecretRef: { name: "k" }, createNode: false };
    const virtualNode = (metadata: VirtualNode["metadata"]) =>
      client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata, spec }));
    await virtualNode({ ...id, ownerReferences: [ownerReference(ResourceSliceResource, slice)] });
    const mapped = async () => (await client.get(NamespaceMapResource, id))?.spec.desiredMapping?.["stored"];
    await eventually("the namespace mapped", mapped);
    const volume = remoteVolume({ name: "data", namespace: "stored", uid: "stored-data" }, "holder");
    const agree = (answer: string) =>
      client.mergePatch(NamespaceOffloadingResource, offloading, {
        metadata: { annotations: { "offloading.liqo.io/delete-remote-volumes": answer } },
      });
    const endNode = () => client.delete(VirtualNodeResource, id, { dryRun: true });
    const endSlice = () => client.delete(ResourceSliceResource, id, { dryRun: true });
    await endNode();
    await endSlice();
    await client.create(PersistentVolumeResource, volume);

    const message = await eventually("a refusal", () => refusal(endNode()).catch(() => undefined));
    const loss = "holder stays: namespace stored: the data of claim data is in cluster holder and would be deleted";
    expect(message).to.contain(`virtual node ${loss}`).and.to.contain("deleteRemoteVolumes of the Pulumi resource");
    expect(await refusal(endSlice())).to.contain(`resource slice ${loss}`);

    await virtualNode(sibling);
    await eventually("one of two to be free to end", () =>
      endNode().then(
        () => true,
        () => false,
      ),
    );
    await eventually("its slice, too", () =>
      endSlice().then(
        () => true,
        () => false,
      ),
    );
    // The last one, and nobody asks admission.
    await client.mergePatch(VirtualNodeResource, id, { metadata: { labels: { "liqo.io/webhook-skip": "true" } } });
    await client.delete(VirtualNodeResource, sibling);
    await eventually("the sibling's end", async () => (await client.get(VirtualNodeResource, sibling)) === undefined);
    await client.delete(VirtualNodeResource, id);
    const kept = await eventually("the reason", async () => {
      const { conditions } = (await client.get(VirtualNodeResource, id))?.status ?? {};
      return conditions?.find(({ reason }) => reason === "VolumesWouldBeLost");
    });
    expect(kept.message).to.contain("namespace stored: the data of claim data");
    await eventually("an event", async () => {
      const { items } = await client.list(EventResource, { namespace });
      return items.some(({ reason, involvedObject: { name } }) => reason === "VolumesWouldBeLost" && name === id.name);
    });
    expect(await mapped()).to.be.a("string");

    await agree("true");
    await eventually("its end", async () => (await client.get(VirtualNodeResource, id)) === undefined);
    await eventually("the map's end", async () => (await client.get(NamespaceMapResource, id)) === undefined);
    await endSlice();
    await client.delete(PersistentVolumeResource, { name: volume.metadata?.name ?? "" });
    await client.delete(ResourceSliceResource, id);
    await client.delete(NamespaceOffloadingResource, offloading);
  });

  it("prepares pods for virtual nodes that are older than the offloading of their namespace and have no node", async () => {
    const unschedulable = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
    const early = async (namespace: string, metadata: Pod["metadata"] = {}): Promise<Pod> => {
      await ensureNamespace(client, namespace);
      const pod = await client.create(PodResource, {
        metadata: { name: "early", namespace, ...metadata },
        spec: { containers: [{ name: "c", image: "i" }] },
      });
      const status = { conditions: [unschedulable] };
      return client
        .mergePatch(PodResource, { name: "early", namespace }, { status }, { subresource: "status" })
        .then(() => pod);
    };
    const offload = (namespace: string, podOffloadingStrategy: "Remote" | "LocalAndRemote") =>
      client.create(
        NamespaceOffloadingResource,
        NamespaceOffloadingResource.build({
          metadata: { name: "offloading", namespace },
          spec: { podOffloadingStrategy },
        }),
      );
    const present = (namespace: string) => client.get(PodResource, { name: "early", namespace });

    const tolerant = await early("app-both");
    await offload("app-both", "LocalAndRemote");
    const tolerating = await eventually("the toleration", async () => {
      const pod = await present("app-both");
      return pod?.spec?.tolerations?.some(({ key }) => key === "virtual-node.liqo.io/not-allowed") ? pod : undefined;
    });
    expect(tolerating.metadata?.uid).to.equal(tolerant.metadata?.uid);

    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r", controller: true };
    await early("app-remote", { ownerReferences: [owner] });
    await offload("app-remote", "Remote");
    await eventually("the pod's end", async () => (await present("app-remote")) === undefined);

    const bare = await early("app-bare");
    await offload("app-bare", "Remote");
    await eventually("a word on the bare pod", async () => {
      const { items } = await client.list(EventResource, { namespace: "app-bare" });
      return items.some(
        ({ reason, involvedObject }) => reason === "PredatesOffloading" && involvedObject.kind === "Pod",
      );
    });
    expect((await present("app-bare"))?.metadata?.uid).to.equal(bare.metadata?.uid);
  });

  it("keeps DaemonSets off virtual nodes", async () => {
    const labels = { app: "everywhere" };
    const created = await client.create(DaemonSetResource, {
      metadata: { name: "everywhere", namespace: "default" },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "c", image: "i" }], tolerations: [{ operator: "Exists" }] },
        },
      },
    });
    const affinity = created.spec?.template.spec?.affinity?.nodeAffinity;
    expect(affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).to.deep.equal([
      { matchExpressions: [{ key: "liqo.io/type", operator: "NotIn", values: ["virtual-node"] }] },
    ]);
  });

  describe("ShadowPods", () => {
    const user = "slice-0123456789ab";
    let tenantClient: KubeClient;

    before(async () => {
      await ensureNamespace(client, "app-consumer", { [REMOTE]: "consumer" });
      tenantClient = KubeClient.fromText(await server.kubeconfigFor(user, ["consumer", "system:masters"]));
      await client.create(
        QuotaResource,
        QuotaResource.build({
          metadata: { name: user, namespace: TENANT },
          spec: { user, resources: { cpu: 1, memory: "1Gi", pods: 10 } },
        }),
      );
    });

    function shadowPod(name: string, cpu: string, origin = "consumer"): ShadowPod {
      return ShadowPodResource.build({
        metadata: { name, namespace: "app-consumer", labels: { "offloading.liqo.io/origin": origin } },
        spec: { pod: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] } },
      });
    }

    it("are held to their consumer, their creator and their quota, and can always be deleted", async () => {
      expect(await refusal(tenantClient.create(ShadowPodResource, shadowPod("a", "1", "other")))).to.contain(
        "mismatch",
      );
      expect(await refusal(client.create(ShadowPodResource, shadowPod("a", "1")))).to.contain("failed getting quota");
      const created = await tenantClient.create(ShadowPodResource, shadowPod("a", "600m"));
      expect(created.metadata.labels?.["liqo.io/creator-user"]).to.equal(user);
      const patch = { metadata: { labels: { "liqo.io/creator-user": "other" } } };
      const id = { name: "a", namespace: "app-consumer" };
      expect(await refusal(client.mergePatch(ShadowPodResource, id, patch))).to.contain("creator name");
      expect(await client.delete(ShadowPodResource, id)).to.equal(true);
      // It counts until the webhook's watch has told of its end.
      await eventually("the whole quota free again", () =>
        tenantClient.create(ShadowPodResource, shadowPod("whole", "1"), { dryRun: true }),
      );
    });

    it("made before resources were enforced may be changed, are their user's from then on, and take no more than is free", async () => {
      const { config } = controller.context;
      config.resourceEnforcement = false;
      for (const name of ["early", "untouched"]) {
        const { metadata } = await tenantClient.create(ShadowPodResource, shadowPod(name, "600m"));
        expect(metadata.labels).to.not.have.property("liqo.io/creator-user");
      }
      config.resourceEnforcement = true;
      const [early, untouched] = ["early", "untouched"].map((name) => ({ name, namespace: "app-consumer" }));
      const noted = { metadata: { annotations: { note: "1" } } };
      const taking = (cpu: string) => ({
        spec: { pod: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] } },
      });
      const change = (by: KubeClient, id: typeof early, patch: object) =>
        by.mergePatch(ShadowPodResource, id ?? { name: "" }, patch);

      expect(await refusal(change(tenantClient, early, taking("2")))).to.contain("free 1 / requested 2");
      const changed = await change(tenantClient, early, noted);
      expect(changed.metadata.labels?.["liqo.io/creator-user"]).to.equal(user);
      await change(tenantClient, early, taking("700m"));
      expect(await refusal(change(client, early, noted))).to.contain("creator name");
      await eventually("what it takes in the webhook's sight", async () => {
        const answer = await refusal(tenantClient.create(ShadowPodResource, shadowPod("c", "400m"), { dryRun: true }));
        return answer.includes("free 300m / requested 400m");
      });

      // Whoever has no Quota may see to it, and leaves it to whom it belongs.
      const seen = await change(client, untouched, { ...noted, ...taking("500m") });
      expect(seen.metadata.labels).to.not.have.property("liqo.io/creator-user");
      expect(await refusal(change(client, untouched, taking("900m")))).to.contain("missing creator label");
      const given = { metadata: { labels: { "liqo.io/creator-user": user } } };
      expect(await refusal(change(client, untouched, given))).to.contain("creator name");
      for (const id of [early, untouched]) await client.delete(ShadowPodResource, id ?? { name: "" });
      await eventually("the whole quota free again", () =>
        tenantClient.create(ShadowPodResource, shadowPod("whole", "1"), { dryRun: true }),
      );
    });

    it("are counted with the overhead of their RuntimeClass", async () => {
      const name = "sandbox";
      const overhead = { podFixed: { cpu: "250m" } };
      await client.create(RuntimeClassResource, { metadata: { name }, handler: name, overhead });
      const informer = controller.context.informers.for(RuntimeClassResource);
      await eventually("the RuntimeClass in the cache", () => Promise.resolve(informer.get(name)));
      const sandboxed = (cpu: string): ShadowPod => {
        const { metadata, spec } = shadowPod("sandboxed", cpu);
        return ShadowPodResource.build({
          metadata,
          spec: { pod: { containers: [], ...spec.pod, runtimeClassName: name } },
        });
      };
      const ask = (cpu: string) => tenantClient.create(ShadowPodResource, sandboxed(cpu), { dryRun: true });
      expect(await refusal(ask("800m"))).to.contain("free 1 / requested 1050m");
      await ask("750m");
      await client.delete(RuntimeClassResource, { name });
    });

    it("become no Pod, not even for a moment, that admission makes larger than there is room for", async () => {
      const [namespace, limited] = ["limited-consumer", "slice-limited"];
      await ensureNamespace(client, namespace, { [REMOTE]: "consumer" });
      const limits = [{ type: "Container", defaultRequest: { cpu: "600m" } }];
      await client.create(LimitRangeResource, { metadata: { name: "defaults", namespace }, spec: { limits } });
      const spec = { user: limited, resources: { cpu: 1, pods: 10 } };
      await client.create(QuotaResource, QuotaResource.build({ metadata: { name: limited, namespace: TENANT }, spec }));
      const quotas = controller.context.informers.for(QuotaResource);
      await eventually("Quota and LimitRange in force", async () => {
        const probe = { metadata: { name: "probe", namespace }, spec: { containers: [{ name: "c", image: "i" }] } };
        const { spec } = await client.create(PodResource, probe, { dryRun: true });
        return spec?.containers[0]?.resources?.requests?.["cpu"] === "600m" && quotas.find(TENANT, limited);
      });
      const made: string[] = [];
      const pods = new Informer(client, PodResource, { namespace }).onEvent(
        ({ type, object }) => type === "added" && made.push(object.metadata?.name ?? ""),
      );
      await pods.start().waitForSync();
      const limitedClient = KubeClient.fromText(await server.kubeconfigFor(limited, ["consumer", "system:masters"]));
      const ask = (name: string): Promise<unknown> =>
        limitedClient.create(
          ShadowPodResource,
          ShadowPodResource.build({
            // Whoever asks has no say in it.
            metadata: {
              ...{ name, namespace, labels: { "offloading.liqo.io/origin": "consumer" } },
              annotations: { "offloading.liqo.io/room": JSON.stringify({ cpu: 9, pods: 1 }) },
            },
            spec: { pod: { containers: [{ name: "c", image: "i" }] } },
          }),
        );
      const podOf = (name: string) => eventually(`the Pod ${name}`, () => client.get(PodResource, { name, namespace }));
      await ask("first");
      expect((await podOf("first")).spec?.containers[0]?.resources?.requests).to.deep.equal({ cpu: "600m" });
      await ask("second");
      await eventually("why the second waits", async () => {
        const { message } = (await client.get(ShadowPodResource, { name: "second", namespace }))?.status ?? {};
        return message?.includes("peering cpu quota usage exceeded - free 400m / requested 600m");
      });
      // What has come before it is known once this one is.
      await client.create(PodResource, {
        metadata: { name: "marker", namespace },
        spec: { containers: [{ name: "c", image: "i" }] },
      });
      await eventually("the marker", () => Promise.resolve(made.includes("marker")));
      expect(made).to.deep.equal(["first", "marker"]);
      await client.delete(ShadowPodResource, { name: "first", namespace });
      await podOf("second");
      await client.delete(ShadowPodResource, { name: "second", namespace });
      await pods.stop();
      limitedClient.close();
    });

    it("of a burst get no more than the quota", async () => {
      const burst = Array.from({ length: 8 }, (_, i) =>
        tenantClient.create(ShadowPodResource, shadowPod(`b${i}`, "300m")),
      );
      const results = await Promise.allSettled(burst);
      expect(results.filter(({ status }) => status === "fulfilled")).to.have.length(3);
      const refused = results.find(({ status }) => status === "rejected") as PromiseRejectedResult;
      expect((refused.reason as Error).message).to.contain(
        "peering cpu quota usage exceeded - free 100m / requested 300m",
      );
    });
  });

  it("judges firewall rules that users bring by field, and names those that have no name, the same each time", async () => {
    const labels = { "networking.liqo.io/firewall-category": "gateway" };
    const firewall = (name: string, table: string, value = "10.0.0.1") =>
      FirewallConfigurationResource.build({
        metadata: { name, namespace: "default", labels },
        spec: { table: { name: table, family: "IPV4", chains: [guardChain(value)] } },
      });
    const apply = (object: FirewallConfiguration) =>
      client.apply(FirewallConfigurationResource, object, { fieldManager: "test" });
    const first = await apply(firewall("first", "t"));
    const named = first.spec.table.chains?.[0]?.rules.filterRules?.[0]?.name;
    expect(named).to.match(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect((await apply(firewall("first", "t"))).metadata.resourceVersion).to.equal(first.metadata.resourceVersion);
    expect(await refusal(apply(firewall("first", "other")))).to.contain("spec.table.name: cannot be changed");
    expect(await refusal(apply(firewall("second", "t")))).to.contain("default/first");
    expect(await refusal(apply(firewall("first", "t", "10.0.0.0/33")))).to.contain(
      "spec.table.chains[0].rules.filterRules[0].match[0].ip.value",
    );
    const routes = RouteConfigurationResource.build({
      metadata: { name: "first", namespace: "default" },
      spec: { table: { name: "t", rules: [{ routes: [{ dst: "10.0.0.0/8", gw: "nowhere" }] }] } },
    });
    expect(await refusal(client.create(RouteConfigurationResource, routes))).to.contain(
      "spec.table.rules[0].routes[0].gw",
    );
  });

  it("makes new certificates when they are deleted, and keeps answering", async () => {
    const id = { name: "liqo-webhook-certs", namespace: "liqo" };
    const before = await client.get(SecretResource, id);
    await client.delete(SecretResource, id);
    await eventually("a new Secret", async () => {
      const now = await client.get(SecretResource, id);
      return now !== undefined && now.metadata?.uid !== before?.metadata?.uid;
    });
    await eventually("an answer with the new certificate", () =>
      client.create(
        ForeignClusterResource,
        ForeignClusterResource.build({ metadata: { name: `f${Date.now()}` }, spec: { clusterID: "f" } }),
      ),
    );
  });
});

function guardChain(value: string): FirewallChain {
  const match = [{ op: "eq" as const, ip: { value, position: "src" as const } }];
  const filterRules = [{ action: "drop" as const, counter: true, match }];
  return { name: "c", type: "filter", hook: "forward", policy: "accept", priority: 0, rules: { filterRules } };
}
