import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { quantitiesEqual } from "../api/quantity.js";
import {
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  type EventRecorder,
  type KubeClient,
} from "../runtime/index.js";
import { SELECTED_NODE_ANNOTATION } from "./virtual-claim.js";

/**
 * Gives a claim back to the scheduler, which will look for another node: none of this one's kind can hold its data. `why` is told in an
 * event on the claim.
 *
 * @returns the claim as it is then: who goes by an older copy takes it for one that still has its node
 */
export async function reschedule(
  client: KubeClient,
  recorder: EventRecorder,
  claim: PersistentVolumeClaim,
  why: string,
): Promise<PersistentVolumeClaim> {
  const { name = "", namespace, resourceVersion } = claim.metadata ?? {};
  recorder.warning(PersistentVolumeClaimResource, claim, "ReschedulingRequired", why);
  const metadata = { resourceVersion, annotations: { [SELECTED_NODE_ANNOTATION]: null } };
  return client.mergePatch(PersistentVolumeClaimResource, { name, namespace }, { metadata });
}

/** Tells volume and claim how much room the claim behind them has: it may have got more than asked for, and grows later than asked for. */
export async function reportCapacity(
  client: KubeClient,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  storage: string | undefined,
): Promise<void> {
  if (storage === undefined || claim.status?.phase !== "Bound") return;
  const { name = "", namespace } = claim.metadata ?? {};
  const capacity = { storage };
  if (!hasCapacity(volume.spec?.capacity, storage)) {
    const id = { name: volume.metadata?.name ?? "" };
    await client.mergePatch(PersistentVolumeResource, id, { spec: { capacity } });
  }
  if (hasCapacity(claim.status.capacity, storage)) return;
  const options = { subresource: "status" } as const;
  await client.mergePatch(PersistentVolumeClaimResource, { name, namespace }, { status: { capacity } }, options);
}

function hasCapacity(capacity: Record<string, string> | undefined, storage: string): boolean {
  return quantitiesEqual(capacity?.["storage"] ?? "0", storage);
}
