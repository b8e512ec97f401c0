import { once } from "node:events";
import { expect } from "chai";
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { pino } from "pino";
import type { ControllerContext } from "../../../agent/controller/context.js";
import { localClaimController } from "../../../agent/controller/offloading/storage/local-claim-controller.js";
import {
  PersistentVolumeClaimResource,
  SharedInformers,
  type EventRecorder,
  type KubeClient,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";

const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const VIRTUAL: PersistentVolumeClaim = {
  metadata: {
    name: "data",
    namespace: "shop",
    uid: "virtual-uid",
    resourceVersion: "10",
    annotations: { "volume.kubernetes.io/storage-provisioner": "liqo.io/storage", [SELECTED_NODE]: "node-2" },
  },
  spec: { storageClassName: "liqo", resources: { requests: { storage: "1Gi" } } },
};
/** Its provisioner has given the node back. */
const REAL: PersistentVolumeClaim = {
  metadata: { name: "virtual-uid", namespace: "liqo-storage", uid: "real-uid", resourceVersion: "11" },
  spec: { storageClassName: "disks" },
};
const LISTS: Record<string, object[]> = {
  persistentvolumeclaims: [VIRTUAL, REAL],
  nodes: [{ metadata: { name: "node-2" } }],
  storageclasses: [
    {
      metadata: { name: "disks", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "disks.example.com",
    },
  ],
};

/**
 * A cluster that answers the request by which a virtual claim loses its node once its watch has told of the real claim's end, and whose watch is behind
 * with what that request has done.
 */
function lateCluster(): { context: ControllerContext; made: string[] } {
  const end = new AbortController();
  const told = new AbortController();
  const made: string[] = [];
  const reached = async ({ signal }: AbortController): Promise<void> =>
    void (signal.aborted || (await once(signal, "abort")));
  const client = {
    cluster: "test",
    pages: async function* ({ plural }: ResourceType) {
      yield await Promise.resolve({ metadata: { resourceVersion: "20" }, items: LISTS[plural] ?? [] });
    },
    watch: async function* ({ plural }: ResourceType, { signal }: { signal: AbortSignal }) {
      if (plural === "persistentvolumeclaims") {
        await reached(end);
        yield { type: "DELETED", object: REAL };
      }
      if (!signal.aborted) await once(signal, "abort");
    },
    delete: () => Promise.resolve(end.abort()),
    mergePatch: async () => {
      await reached(told);
      return { ...VIRTUAL, metadata: { ...VIRTUAL.metadata, resourceVersion: "22", annotations: withoutNode() } };
    },
    apply: (_type: unknown, real: PersistentVolumeClaim) => {
      made.push(real.metadata?.annotations?.[SELECTED_NODE] ?? "");
      return Promise.resolve({ ...real, metadata: { ...real.metadata, uid: "another", resourceVersion: "23" } });
    },
  } as unknown as KubeClient;
  const informers = new SharedInformers(client);
  informers.for(PersistentVolumeClaimResource).onEvent(({ type }) => type === "deleted" && told.abort());
  const context = {
    client,
    informers,
    config: { clusterId: "consumer", realStorageClass: "" },
    logger: pino({ level: "silent" }),
    recorder: () => ({ warning: () => undefined, normal: () => undefined }) as unknown as EventRecorder,
  } as unknown as ControllerContext;
  return { context, made };
}

function withoutNode(): Record<string, string> {
  return { "volume.kubernetes.io/storage-provisioner": "liqo.io/storage" };
}

describe("a claim that is given back to the scheduler", () => {
  it("gets no other real claim for the node that it has lost, however late the watch tells of that", async () => {
    const { context, made } = lateCluster();
    const controller = localClaimController(context);
    await context.informers.start();
    controller.start();
    // The first gives it back; the end of the real claim, which is told meanwhile, brings the second.
    await until("the second pass", 10_000, () => controller.figures.passes >= 2 || undefined, 5);
    await controller.stop();
    await context.informers.stop();
    expect(made).to.deep.equal([]);
  });
});
