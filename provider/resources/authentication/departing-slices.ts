import { Labels, ResourceSliceResource, VirtualNodeResource, type VirtualNode } from "../../../agent/api/index.js";
import { isDeleting, type KubeObject } from "../../../agent/runtime/index.js";
import { ifFound, letDepart, Refused, waitUntilNone, type Progress } from "../../waits/index.js";
import { usesSlice } from "../resource-slice/used-by.js";
import type { Party } from "./party.js";

/**
 * Slices need the identity until their end: those that are going are waited for. The deletion of one begins with its virtual node, which may take its
 * time to drain.
 *
 * @throws Refused naming the slices that are to stay
 */
export async function waitForDepartingSlices(progress: Progress, consumer: Party): Promise<void> {
  const { client, namespace, remoteId } = consumer;
  const slices = {
    client,
    type: ResourceSliceResource,
    namespace,
    labelSelector: { [Labels.remoteID]: remoteId, [Labels.replication]: "true" },
    what: "the end of the consumer's ResourceSlices",
  };
  // Between the end of its node and its own deletion a slice looks as if it stayed: it is looked at twice.
  for (let isSecondLook = false; ;) {
    const kept = ((await ifFound(letDepart(progress, slices))) ?? []).map(({ metadata }) => metadata.name ?? "");
    if (kept.length === 0) break;
    const nodes = (await client.list(VirtualNodeResource, { namespace, signal: progress.signal })).items;
    const staying = kept.filter((slice) => !nodes.some((node) => isDeleting(node) && usesSlice(node, slice)));
    if (staying.length > 0 && isSecondLook) {
      const names = staying.join(", ");
      throw new Refused(
        `cluster ${client.cluster}: ResourceSlice ${names} still uses this authentication: delete it first`,
      );
    }
    isSecondLook = staying.length > 0;
    const filter = (node: KubeObject) =>
      isDeleting(node) && kept.some((slice) => usesSlice(node as VirtualNode, slice));
    await waitUntilNone(progress, client, VirtualNodeResource, { namespace, filter });
  }
  progress.status("consumer: no ResourceSlices left");
}
