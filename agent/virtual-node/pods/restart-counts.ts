import type { ContainerStatus, Pod } from "kubernetes-types/core/v1";

/**
 * Restarts as the consumer sees them: those that the remote pod counts, and one for each time that the provider has
 * made the pod anew (offloading specification, §6.4). Never falls.
 */
export class RestartCounts {
  private readonly known = new Map<string, { remoteUid: string; offset: number }>();

  /** Takes note of the remote pod's identity; returns what to add to its counts. */
  offset(local: Pod, remote: Pod): number {
    const uid = local.metadata?.uid ?? "";
    const remoteUid = remote.metadata?.uid ?? "";
    const entry = this.known.get(uid);
    if (!entry) {
      const offset = inferredOffset(local, remote);
      this.known.set(uid, { remoteUid, offset });
      return offset;
    }
    if (entry.remoteUid !== remoteUid) {
      entry.remoteUid = remoteUid;
      entry.offset += 1;
    }
    return entry.offset;
  }

  forget(uid: string): void {
    this.known.delete(uid);
  }
}

/** After a restart of this process only the statuses tell how often the remote pod had been made anew. */
function inferredOffset(local: Pod, remote: Pod): number {
  const before = statuses(local);
  const now = new Map(statuses(remote).map(({ name, restartCount }) => [name, restartCount]));
  return Math.max(0, ...before.map(({ name, restartCount }) => restartCount - (now.get(name) ?? 0)));
}

function statuses({ status }: Pod): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** The statuses with the offset added, no count below the one shown before. */
export function withRestarts(
  remote: ContainerStatus[] | undefined,
  local: ContainerStatus[] | undefined,
  offset: number,
): ContainerStatus[] | undefined {
  if (!remote?.length) return local?.map(waitingAgain);
  return remote.map((status) => {
    const shown = local?.find(({ name }) => name === status.name)?.restartCount ?? 0;
    return { ...status, restartCount: Math.max(shown, status.restartCount + offset) };
  });
}

/** The remote pod has been made anew and its containers are not known yet: their counts must not be forgotten. */
function waitingAgain({ name, image, imageID, restartCount, lastState }: ContainerStatus): ContainerStatus {
  const state = { waiting: { reason: "ContainerCreating" } };
  return {
    name,
    image,
    imageID,
    restartCount,
    ready: false,
    started: false,
    state,
    ...(lastState ? { lastState } : {}),
  };
}
