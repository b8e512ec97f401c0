import { expect } from "chai";
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { Labels } from "../../../agent/api/index.js";
import {
  EventResource,
  NodeResource,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  StorageClassResource,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { ensureNamespace, eventually, gone, startController, type RunningController } from "./harness.js";

const NAMESPACE = "shop";
const STORAGE = "liqo-storage";
const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const DISK = { csi: { driver: "disks.example.com", volumeHandle: "disk-1" } };

/** Claims of class liqo whose first pod was given one of the cluster's own nodes: the test plays scheduler and the real class's provisioner. */
describe("claims with their data in the own cluster", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let client: KubeClient;
  let controller: RunningController;

  const claimOf = (name: string, namespace = NAMESPACE): Promise<PersistentVolumeClaim | undefined> =>
    client.get(PersistentVolumeClaimResource, { name, namespace });
  const storageClass = (name: string, provisioner: string, annotations = {}): Promise<unknown> =>
    client.create(StorageClassResource, {
      metadata: { name, annotations },
      provisioner,
      volumeBindingMode: "WaitForFirstConsumer",
      allowVolumeExpansion: true,
    });
  const makeClaim = async (name: string, node: string, storageClassName = "liqo"): Promise<PersistentVolumeClaim> => {
    await client.create(PersistentVolumeClaimResource, {
      metadata: { name, namespace: NAMESPACE },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, storageClassName },
    });
    // As the scheduler does, once there is a pod.
    const metadata = { annotations: { [SELECTED_NODE]: node } };
    return client.mergePatch(PersistentVolumeClaimResource, { name, namespace: NAMESPACE }, { metadata });
  };
  const realOf = ({ metadata }: PersistentVolumeClaim): Promise<PersistentVolumeClaim> =>
    eventually(`the real claim of ${metadata?.name}`, () => claimOf(metadata?.uid ?? "", STORAGE));
  /** As the provisioner of the real class does. */
  const provisionReal = (real: PersistentVolumeClaim): Promise<PersistentVolume> => {
    const { name, namespace, uid } = real.metadata ?? {};
    return client.create(PersistentVolumeResource, {
      metadata: { name: `disk-${uid}`, annotations: { "pv.kubernetes.io/provisioned-by": "disks.example.com" } },
      spec: {
        ...DISK,
        capacity: { storage: "2Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "disks",
        persistentVolumeReclaimPolicy: "Delete",
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
          },
        },
      },
    });
  };
  const bound = (name: string): Promise<PersistentVolumeClaim> =>
    eventually(`${name} bound`, async () => {
      const claim = await claimOf(name);
      return claim?.status?.phase === "Bound" ? claim : undefined;
    });
  const volumeOf = async ({ spec }: PersistentVolumeClaim): Promise<PersistentVolume> =>
    (await client.get(PersistentVolumeResource, { name: spec?.volumeName ?? "" }))!;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({
      name: "consumer",
      controllers: [
        "persistentvolume-binder-controller",
        "persistentvolumeclaim-protection-controller",
        "persistentvolume-protection-controller",
      ],
    });
    client = server.client;
    await ensureNamespace(client, NAMESPACE);
    await client.create(NodeResource, { metadata: { name: "node-1", labels: { zone: "a" } } });
    await client.create(NodeResource, { metadata: { name: "provider", labels: { [Labels.type]: "virtual-node" } } });
    // Also where it is the default, the class liqo is not its own real one.
    await storageClass("liqo", "liqo.io/storage", { "storageclass.kubernetes.io/is-default-class": "true" });
    controller = await startController(server, "consumer");
  });

  after(async () => {
    await controller?.stop();
    server?.client.close();
    await server?.stop();
  });

  it("are given back to the scheduler while there is no real class, with what to do", async () => {
    await makeClaim("data", "node-1");
    const message = await eventually("the event", async () => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      return items.find(({ reason }) => reason === "ReschedulingRequired")?.message;
    });
    expect(message).to.contain("has no default storage class: name one as realStorageClass");
    await eventually("no node chosen", async () => !(await claimOf("data"))?.metadata?.annotations?.[SELECTED_NODE]);
    await storageClass("disks", "disks.example.com", { "storageclass.kubernetes.io/is-default-class": "true" });
    // Claims come by another watch: the next one would be given back, too.
    await eventually("the class in the cache", () =>
      Promise.resolve(controller.context.informers.for(StorageClassResource).get("disks")),
    );
  });

  it("have a real claim of the default class behind them, for the chosen node, and its volume by another name", async () => {
    const metadata = { annotations: { [SELECTED_NODE]: "node-1" } };
    const claim = await client.mergePatch(
      PersistentVolumeClaimResource,
      { name: "data", namespace: NAMESPACE },
      { metadata },
    );
    const real = await realOf(claim);
    expect(real.spec).to.deep.include({ storageClassName: "disks", accessModes: ["ReadWriteOnce"] });
    expect(real.metadata?.annotations).to.include({ [SELECTED_NODE]: "node-1" });
    expect(real.metadata?.labels).to.deep.equal({
      "storage.liqo.io/virtual-pvc-namespace": NAMESPACE,
      "storage.liqo.io/virtual-pvc-name": "data",
    });
    await provisionReal(real);
    const volume = await volumeOf(await bound("data"));
    expect(volume.spec).to.deep.include({ capacity: { storage: "2Gi" }, storageClassName: "liqo" });
    expect(volume.spec?.csi).to.include(DISK.csi);
    expect(volume.spec?.nodeAffinity?.required?.nodeSelectorTerms).to.deep.equal([
      {
        matchExpressions: [
          { key: "zone", operator: "In", values: ["a"] },
          { key: Labels.type, operator: "DoesNotExist" },
        ],
      },
    ]);
  });

  it("grow with the real ones", async () => {
    const claim = (await claimOf("data"))!;
    const patch = { spec: { resources: { requests: { storage: "3Gi" } } } };
    await client.mergePatch(PersistentVolumeClaimResource, { name: "data", namespace: NAMESPACE }, patch);
    const real = await eventually("3Gi asked for", async () => {
      const one = await claimOf(claim.metadata?.uid ?? "", STORAGE);
      return one?.spec?.resources?.requests?.["storage"] === "3Gi" ? one : undefined;
    });
    const id = { name: real.metadata?.name ?? "", namespace: STORAGE };
    const status = { capacity: { storage: "3Gi" } };
    await client.mergePatch(PersistentVolumeClaimResource, id, { status }, { subresource: "status" });
    await eventually("3Gi had", async () => (await claimOf("data"))?.status?.capacity?.["storage"] === "3Gi");
  });

  it("are left to virtual nodes, and other classes to their provisioners", async () => {
    const claims = [await makeClaim("away", "provider"), await makeClaim("other", "node-1", "disks")];
    const next = await makeClaim("next", "node-1");
    await realOf(next);
    for (const { metadata } of claims) expect(await claimOf(metadata?.uid ?? "", STORAGE)).to.equal(undefined);
  });

  it("take volume and real claim with them when they are deleted, and no other's volume", async () => {
    const other = (await claimOf("other"))!;
    // The names of other provisioners' volumes are made alike.
    const foreign = { name: `pvc-${other.metadata?.uid}` };
    const spec = { ...DISK, capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
    await client.create(PersistentVolumeResource, {
      metadata: foreign,
      spec: {
        ...spec,
        persistentVolumeReclaimPolicy: "Delete",
        storageClassName: "disks",
        claimRef: { namespace: NAMESPACE, name: "other", uid: other.metadata?.uid },
      },
    });
    const claim = (await claimOf("data"))!;
    for (const name of ["other", "data"])
      await client.delete(PersistentVolumeClaimResource, { name, namespace: NAMESPACE });
    await gone(client, PersistentVolumeResource, { name: claim.spec?.volumeName ?? "" });
    await gone(client, PersistentVolumeClaimResource, { name: claim.metadata?.uid ?? "", namespace: STORAGE });
    const released = await eventually("the other's volume released", async () => {
      const volume = await client.get(PersistentVolumeResource, foreign);
      return volume?.status?.phase === "Released" ? volume : undefined;
    });
    expect(released.metadata?.deletionTimestamp).to.equal(undefined);
  });

  it("keep their data when the volume is to be retained, until the volume is deleted", async () => {
    const claim = await makeClaim("kept", "node-1");
    await provisionReal(await realOf(claim));
    const name = (await bound("kept")).spec?.volumeName ?? "";
    const patch = { spec: { persistentVolumeReclaimPolicy: "Retain" } };
    await client.mergePatch(PersistentVolumeResource, { name }, patch);
    await client.delete(PersistentVolumeClaimResource, { name: "kept", namespace: NAMESPACE });
    await eventually("the volume released", async () => {
      const volume = await client.get(PersistentVolumeResource, { name });
      return volume?.status?.phase === "Released";
    });
    const real = { name: claim.metadata?.uid ?? "", namespace: STORAGE };
    expect((await client.get(PersistentVolumeClaimResource, real))?.metadata?.deletionTimestamp).to.equal(undefined);
    await client.delete(PersistentVolumeResource, { name });
    await gone(client, PersistentVolumeClaimResource, real);
  });

  it("leave no real claim behind when they go before they have a volume, though nobody watched", async () => {
    const claim = (await claimOf("next"))!;
    await controller.stop();
    await client.delete(PersistentVolumeClaimResource, { name: "next", namespace: NAMESPACE });
    await gone(client, PersistentVolumeClaimResource, { name: "next", namespace: NAMESPACE });
    controller = await startController(server, "consumer");
    await gone(client, PersistentVolumeClaimResource, { name: claim.metadata?.uid ?? "", namespace: STORAGE });
  });

  it("follow the scheduler to another node, and are given back to it where the real class has no volume for one", async () => {
    await client.create(NodeResource, { metadata: { name: "node-2" } });
    const select = (node: string | null, name: string, namespace: string): Promise<unknown> =>
      client.mergePatch(
        PersistentVolumeClaimResource,
        { name, namespace },
        { metadata: { annotations: { [SELECTED_NODE]: node } } },
      );
    const nodeOf = (claim?: PersistentVolumeClaim) => claim?.metadata?.annotations?.[SELECTED_NODE];
    const claim = await makeClaim("moving", "node-1");
    const first = await realOf(claim);
    const real = first.metadata?.name ?? "";
    await select("node-2", "moving", NAMESPACE);
    await eventually("the real claim for node-2", async () => nodeOf(await claimOf(real, STORAGE)) === "node-2");
    expect((await claimOf(real, STORAGE))?.metadata?.uid).to.equal(first.metadata?.uid);

    // As provisioners do that have no room within reach of a node.
    await select(null, real, STORAGE);
    await eventually("no node chosen", async () => nodeOf(await claimOf("moving")) === undefined);
    await gone(client, PersistentVolumeClaimResource, { name: real, namespace: STORAGE });
    const event = await eventually("the event", async () => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      return items.find(({ message, involvedObject: { name } }) => name === "moving" && message?.includes("node-2"));
    });
    expect(event.reason).to.equal("ReschedulingRequired");
    expect(event.message).to.contain("class disks has no volume for node node-2").and.contain(`${STORAGE}/${real}`);
    await select("node-1", "moving", NAMESPACE);
    const second = await realOf(claim);
    expect(nodeOf(second)).to.equal("node-1");
    await provisionReal(second);
    await bound("moving");
    expect(nodeOf(await claimOf("moving"))).to.equal("node-1");
  });

  it("have the size of their data, also where a real claim is left and the data is with a provider", async () => {
    const claim = await makeClaim("left", "node-1");
    const real = await realOf(claim);
    const name = `pvc-${claim.metadata?.uid}`;
    const provider = { key: Labels.remoteClusterID, operator: "In", values: ["provider"] };
    // As a virtual node does, which the scheduler has chosen meanwhile.
    await client.create(PersistentVolumeResource, {
      metadata: {
        name,
        labels: { [Labels.remoteClusterID]: "provider" },
        annotations: { "pv.kubernetes.io/provisioned-by": "liqo.io/storage" },
      },
      spec: {
        hostPath: { path: "/tmp/liqo-placeholder" },
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "liqo",
        persistentVolumeReclaimPolicy: "Delete",
        claimRef: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          name: "left",
          namespace: NAMESPACE,
          uid: claim.metadata?.uid,
        },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [provider] }] } },
      },
    });
    await bound("left");
    await provisionReal(real);
    await eventually("the real claim bound", async () => {
      return (await claimOf(real.metadata?.name ?? "", STORAGE))?.status?.phase === "Bound";
    });
    // Another claim that is seen through tells that this one has been, too.
    const next = await makeClaim("after", "node-1");
    await provisionReal(await realOf(next));
    await bound("after");
    expect((await claimOf("left"))?.status?.capacity).to.deep.equal({ storage: "1Gi" });
    expect((await client.get(PersistentVolumeResource, { name }))?.spec?.capacity).to.deep.equal({ storage: "1Gi" });
  });
});
