import { expect } from "chai";
import type { PersistentVolume, PersistentVolumeClaim, Volume } from "kubernetes-types/core/v1";
import { Labels, ShadowPodResource, VirtualNodeResource } from "../../../agent/api/index.js";
import {
  EventResource,
  NodeResource,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  PodResource,
  StorageClassResource,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { LOCAL_NAMESPACE, NODE, TENANT, startHarness, type Harness, local, remote } from "./harness.js";

const SECONDS = 40_000;
const SELECTED_NODE = "volume.kubernetes.io/selected-node";
/** Lets claims go that nobody uses. */
const PROTECTION = "persistentvolumeclaim-protection-controller";

/** Claims of class liqo whose first pod was given a virtual node: the test plays scheduler, and the provider's binder. */
describe("claims with their data at the provider", function () {
  this.timeout(240_000);
  let harness: Harness;
  let consumer: KubeClient;
  let provider: KubeClient;

  const claimWhere = (
    client: KubeClient,
    id: { name: string; namespace: string },
    what: string,
    condition: (claim: PersistentVolumeClaim) => boolean = () => true,
  ): Promise<PersistentVolumeClaim> =>
    until(
      what,
      SECONDS,
      async () => {
        const claim = await client.get(PersistentVolumeClaimResource, id);
        return claim && condition(claim) ? claim : undefined;
      },
      25,
    );
  const eventOf = (name: string, reason: string): Promise<string> =>
    until(`event ${reason} of ${name}`, SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      return items.find((event) => event.involvedObject.name === name && event.reason === reason)?.message;
    });

  const makeClaim = (
    name: string,
    spec: Partial<NonNullable<PersistentVolumeClaim["spec"]>> = {},
    annotations: Record<string, string> = {},
  ): Promise<PersistentVolumeClaim> =>
    consumer.create(PersistentVolumeClaimResource, {
      metadata: { ...local(name), labels: { app: "database" }, annotations },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
        storageClassName: "liqo",
        ...spec,
      },
    });
  const select = (name: string, node = NODE): Promise<unknown> =>
    consumer.mergePatch(PersistentVolumeClaimResource, local(name), {
      metadata: { annotations: { [SELECTED_NODE]: node } },
    });
  const provisioned = async (name: string): Promise<{ claim: PersistentVolumeClaim; volume: PersistentVolume }> => {
    const claim = await claimWhere(consumer, local(name), `${name} bound`, ({ status }) => status?.phase === "Bound");
    const volume = await consumer.get(PersistentVolumeResource, { name: claim.spec?.volumeName ?? "" });
    return { claim, volume: volume! };
  };
  const gone = (client: KubeClient, id: { name: string; namespace: string }): Promise<true> =>
    until(`${id.name} to go from ${client.cluster}`, SECONDS, async () =>
      (await client.get(PersistentVolumeClaimResource, id)) ? undefined : true,
    );
  const offer = (...storageClasses: object[]): Promise<unknown> =>
    consumer.mergePatch(VirtualNodeResource, { name: NODE, namespace: TENANT }, { spec: { storageClasses } });
  const label = (value: string): Promise<true> =>
    until(`label ${value}`, SECONDS, async () => {
      const node = await consumer.get(NodeResource, { name: NODE });
      return node?.metadata?.labels?.[Labels.storageAvailable] === value ? true : undefined;
    });

  before(async function () {
    this.timeout(START_LIMIT_MS);
    harness = await startHarness({
      consumerControllers: ["persistentvolume-binder-controller", "ephemeral-volume-controller", PROTECTION],
      providerControllers: [PROTECTION],
    });
    consumer = harness.consumer.client;
    provider = harness.provider.client;
    await consumer.create(StorageClassResource, {
      metadata: { name: "liqo" },
      provisioner: "liqo.io/storage",
      volumeBindingMode: "WaitForFirstConsumer",
      reclaimPolicy: "Delete",
      allowVolumeExpansion: true,
    });
    await provider.create(StorageClassResource, {
      metadata: { name: "fast" },
      provisioner: "example.com/disks",
      volumeBindingMode: "WaitForFirstConsumer",
      allowVolumeExpansion: true,
    });
    await offer({ storageClassName: "cheap" }, { storageClassName: "fast", default: true });
    await harness.map("Accepted");
    await harness.startVirtualNode();
    await until("the Node", SECONDS, async () => (await consumer.get(NodeResource, { name: NODE })) && true);
  });

  after(() => harness?.stop());

  it("the Node says that it has storage as soon as the provider offers a class", async () => {
    await label("true");
    await offer();
    await label("false");
    await offer({ storageClassName: "cheap" }, { storageClassName: "fast", default: true });
    await label("true");
  });

  it("are made there, of the offered default class, and bound here to a volume that only the provider's nodes reach", async () => {
    await makeClaim("data", { volumeMode: "Filesystem" });
    await select("data");
    const { claim, volume } = await provisioned("data");
    expect(volume.metadata?.name).to.equal(`pvc-${claim.metadata?.uid}`);
    expect(volume.metadata?.annotations).to.include({ "pv.kubernetes.io/provisioned-by": "liqo.io/storage" });
    expect(volume.spec?.hostPath?.path).to.equal("/tmp/liqo-placeholder");
    expect(volume.spec?.persistentVolumeReclaimPolicy).to.equal("Delete");
    expect(volume.spec?.nodeAffinity?.required?.nodeSelectorTerms).to.deep.equal([
      { matchExpressions: [{ key: Labels.remoteClusterID, operator: "In", values: ["provider"] }] },
    ]);
    const copy = await claimWhere(provider, remote("data"), "the claim at the provider");
    expect(copy.spec).to.deep.include({ storageClassName: "fast", accessModes: ["ReadWriteOnce"] });
    expect(copy.spec?.resources?.requests).to.deep.equal({ storage: "1Gi" });
    expect(copy.spec?.volumeName).to.equal(undefined);
    expect(copy.metadata?.labels).to.include({ app: "database", [Labels.offloadingOrigin]: "consumer" });
    expect(Object.keys(copy.metadata?.annotations ?? {})).to.deep.equal(["storage.liqo.io/virtual-pvc-uid"]);
    expect(await eventOf("data", "ProvisioningSucceeded")).to.contain("cluster provider, of its class fast");
  });

  it("take class and access modes of their annotations", async () => {
    const modes = { "liqo.io/remote-storage-class": "cheap", "liqo.io/remote-access-modes": "ReadWriteMany" };
    await makeClaim("annotated", {}, modes);
    await select("annotated");
    const { volume } = await provisioned("annotated");
    expect(volume.spec?.accessModes).to.deep.equal(["ReadWriteOnce"]);
    const copy = await claimWhere(provider, remote("annotated"), "the claim at the provider");
    expect(copy.spec).to.deep.include({ storageClassName: "cheap", accessModes: ["ReadWriteMany"] });
  });

  it("grow, and have the size that the provider has given them", async () => {
    await bindRemotely(provider, remote("data"), "1Gi");
    const patch = { spec: { resources: { requests: { storage: "3Gi" } } } };
    await consumer.mergePatch(PersistentVolumeClaimResource, local("data"), patch);
    await claimWhere(provider, remote("data"), "3Gi asked for there", ({ spec }) => {
      return spec?.resources?.requests?.["storage"] === "3Gi";
    });
    await bindRemotely(provider, remote("data"), "4Gi");
    const grown = await claimWhere(consumer, local("data"), "4Gi here", ({ status }) => {
      return status?.capacity?.["storage"] === "4Gi";
    });
    const volume = await consumer.get(PersistentVolumeResource, { name: grown.spec?.volumeName ?? "" });
    expect(volume?.spec?.capacity).to.deep.equal({ storage: "4Gi" });
  });

  it("that the provider does not let grow stay as they are, with its reason", async () => {
    await provider.mergePatch(StorageClassResource, { name: "fast" }, { allowVolumeExpansion: false });
    const patch = { spec: { resources: { requests: { storage: "5Gi" } } } };
    await until("the class's rule in force", SECONDS, () =>
      provider.mergePatch(PersistentVolumeClaimResource, remote("data"), patch, { dryRun: true }).then(
        () => undefined,
        () => true,
      ),
    );
    await consumer.mergePatch(PersistentVolumeClaimResource, local("data"), patch);
    expect(await eventOf("data", "FailedReflection")).to.contain("only dynamically provisioned pvc can be resized");
    const claim = await consumer.get(PersistentVolumeClaimResource, local("data"));
    expect(claim?.status?.capacity).to.deep.equal({ storage: "4Gi" });
  });

  it("are given back to the scheduler when the provider has no storage", async () => {
    await offer();
    // Claims come by another watch.
    await label("false");
    await makeClaim("nowhere");
    await select("nowhere");
    expect(await eventOf("nowhere", "ReschedulingRequired")).to.contain("provider offers no storage class");
    await claimWhere(consumer, local("nowhere"), "no node any more", ({ metadata, spec }) => {
      return !metadata?.annotations?.[SELECTED_NODE] && !spec?.volumeName;
    });
    expect(await provider.get(PersistentVolumeClaimResource, remote("nowhere"))).to.equal(undefined);
    await offer({ storageClassName: "fast" });
    await label("true");
  });

  it("that ask for what cannot be carried are refused with the field's name", async () => {
    await makeClaim("copied", { dataSource: { kind: "PersistentVolumeClaim", name: "data" } });
    await select("copied");
    expect(await eventOf("copied", "ProvisioningFailed")).to.contain("spec.dataSource");
    expect(await provider.get(PersistentVolumeClaimResource, remote("copied"))).to.equal(undefined);
  });

  it("of another provisioner, or for another node, are left alone", async () => {
    await makeClaim("others", { storageClassName: "disks" }, { [SELECTED_NODE]: NODE });
    await makeClaim("elsewhere");
    await select("elsewhere", "node-1");
    await makeClaim("last");
    await select("last");
    await provisioned("last");
    for (const name of ["others", "elsewhere"])
      expect(await provider.get(PersistentVolumeClaimResource, remote(name)), name).to.equal(undefined);
  });

  it("made for a pod's ephemeral volumes are what its remote pod uses; those of other classes are the provider's to make", async () => {
    await consumer.create(StorageClassResource, {
      metadata: { name: "anywhere", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "liqo.io/storage",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const resources = { requests: { storage: "1Gi" } };
    const ephemeral = (name: string, storageClassName?: string): Volume => ({
      name,
      ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources, storageClassName } } },
    });
    await consumer.create(PodResource, {
      metadata: local("web"),
      spec: {
        containers: [{ name: "main", image: "web" }],
        volumes: [ephemeral("scratch", "liqo"), ephemeral("cache"), ephemeral("disk", "disks")],
      },
    });
    for (const name of ["web-scratch", "web-cache"]) {
      await claimWhere(consumer, local(name), `the claim ${name}`);
      await select(name);
      await provisioned(name);
      await claimWhere(provider, remote(name), `the claim ${name} at the provider`);
    }
    await consumer.request("POST", `/api/v1/namespaces/${LOCAL_NAMESPACE}/pods/web/binding`, {
      body: { metadata: local("web"), target: { kind: "Node", name: NODE } },
    });
    const shadow = await until("the ShadowPod", SECONDS, () => provider.get(ShadowPodResource, remote("web")));
    const volumes = (shadow.spec.pod?.volumes ?? []).map(({ name, persistentVolumeClaim, ephemeral: template }) => [
      name,
      persistentVolumeClaim?.claimName ?? template?.volumeClaimTemplate?.spec.storageClassName,
    ]);
    expect(volumes.slice(0, 3)).to.deep.equal([
      ["scratch", "web-scratch"],
      ["cache", "web-cache"],
      ["disk", "disks"],
    ]);
  });

  it("never take a claim of the provider's own, and say so", async () => {
    await provider.create(PersistentVolumeClaimResource, {
      metadata: remote("taken"),
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    await makeClaim("taken");
    await select("taken");
    expect(await eventOf("taken", "FailedReflection")).to.contain("already exists in cluster provider");
    const kept = await provider.get(PersistentVolumeClaimResource, remote("taken"));
    expect(kept?.metadata?.labels).to.equal(undefined);
  });

  it("made anew under the same name do not find the data of their predecessors", async () => {
    const before = await claimWhere(provider, remote("last"), "the claim at the provider");
    await harness.stopVirtualNode();
    await consumer.delete(PersistentVolumeClaimResource, local("last"));
    await gone(consumer, local("last"));
    await makeClaim("last");
    await select("last");
    await harness.startVirtualNode();
    const { claim } = await provisioned("last");
    const after = await claimWhere(provider, remote("last"), "another claim at the provider", ({ metadata }) => {
      return metadata?.uid !== before.metadata?.uid;
    });
    expect(after.metadata?.annotations).to.include({ "storage.liqo.io/virtual-pvc-uid": claim.metadata?.uid });
  });

  it("deleted at the provider are made anew, and it is told that the data has gone", async () => {
    const before = await claimWhere(provider, remote("last"), "the claim");
    // Its room comes back once the virtual node knows that the claim is bound: of one that is not, no data can have gone.
    await bindRemotely(provider, remote("last"), "2Gi");
    await claimWhere(consumer, local("last"), "2Gi here", ({ status }) => status?.capacity?.["storage"] === "2Gi");
    await provider.delete(PersistentVolumeClaimResource, remote("last"));
    await claimWhere(
      provider,
      remote("last"),
      "another claim",
      ({ metadata }) => metadata?.uid !== before.metadata?.uid,
    );
    expect(await eventOf("last", "RemoteVolumeLost")).to.contain("made anew, empty");
  });

  it("leave their data at the provider for as long as their volume is retained, and give it to who asks for that volume", async () => {
    for (const name of ["kept", "passing"]) {
      await makeClaim(name);
      await select(name);
    }
    await provisioned("passing");
    const { volume } = await provisioned("kept");
    const copy = await claimWhere(provider, remote("kept"), "the claim at the provider");
    const id = { name: volume.metadata?.name ?? "" };
    const reclaim = (persistentVolumeReclaimPolicy: string, more: object = {}): Promise<unknown> =>
      consumer.mergePatch(PersistentVolumeResource, id, { spec: { persistentVolumeReclaimPolicy, ...more } });
    const isSame = async (): Promise<void> => {
      const found = await provider.get(PersistentVolumeClaimResource, remote("kept"));
      expect(found?.metadata?.uid).to.equal(copy.metadata?.uid);
      expect(found?.metadata?.deletionTimestamp).to.equal(undefined);
    };
    await reclaim("Retain");
    await consumer.delete(PersistentVolumeClaimResource, local("kept"));
    await gone(consumer, local("kept"));
    // Another that is deleted after it has gone.
    await consumer.delete(PersistentVolumeClaimResource, local("passing"));
    await gone(provider, remote("passing"));
    await isSame();

    await makeClaim("kept");
    await select("kept");
    expect(await eventOf("kept", "RemoteVolumeRetained")).to.contain(`its volume ${id.name} is`);
    await isSame();
    await consumer.delete(PersistentVolumeClaimResource, local("kept"));
    await gone(consumer, local("kept"));

    await reclaim("Retain", { claimRef: null });
    await makeClaim("kept", { volumeName: id.name });
    await provisioned("kept");
    await consumer.mergePatch(PersistentVolumeClaimResource, local("kept"), { metadata: { labels: { again: "yes" } } });
    await claimWhere(
      provider,
      remote("kept"),
      "the same claim, taken over",
      ({ metadata }) => metadata?.labels?.["again"] === "yes",
    );
    await isSame();
    await reclaim("Delete");
    await consumer.delete(PersistentVolumeClaimResource, local("kept"));
    await gone(provider, remote("kept"));
  });

  it("deleted here go from the provider, also those that nobody watched", async () => {
    await consumer.delete(PersistentVolumeClaimResource, local("annotated"));
    await gone(provider, remote("annotated"));
    await harness.stopVirtualNode();
    await consumer.delete(PersistentVolumeClaimResource, local("data"));
    await harness.startVirtualNode();
    await gone(provider, remote("data"));
  });
});

/** As the provider's binder does, with a volume of that size. */
async function bindRemotely(
  client: KubeClient,
  id: { name: string; namespace: string },
  storage: string,
): Promise<void> {
  const capacity = { storage };
  const claim = await client.get(PersistentVolumeClaimResource, id);
  if (!claim?.spec?.volumeName) {
    await client.mergePatch(PersistentVolumeClaimResource, id, { spec: { volumeName: "disk-1" } });
  }
  const status = { phase: "Bound", capacity, accessModes: ["ReadWriteOnce"] };
  await client.mergePatch(PersistentVolumeClaimResource, id, { status }, { subresource: "status" });
}
