import { isDeleting, type KubeObject } from "../../agent/runtime/index.js";
import { WaitTimeout } from "./errors.js";
import { withLimit, type Progress } from "./progress.js";
import { describeRemaining, waitFor, type WaitRequest } from "./wait.js";

/**
 * Deletions of one `pulumi destroy` begin together: what is not being deleted within this time is to stay. A wait keeps half of it back for an
 * explanation.
 */
const NOTICE_MS = 4_000;

export interface Departure<T extends KubeObject> extends Omit<WaitRequest<T, never>, "judge" | "written"> {
  /** Further choice among those found. */
  filter?: (object: T) => boolean;
}

/**
 * Lets objects go that are going, or begin to within a moment, and returns those that are to stay.
 *
 * @throws WaitTimeout naming what holds one up that is going; Cancelled
 */
export async function letDepart<T extends KubeObject>(
  progress: Progress,
  { filter = () => true, ...request }: Departure<T>,
): Promise<T[]> {
  const noticed = await notice(progress, { filter, ...request });
  if (noticed.length === 0) return [];
  return waitFor<T, T[]>(progress, {
    ...request,
    judge: (objects) => {
      const chosen = objects.filter(filter);
      const departing = chosen.filter(isDeleting);
      return departing.length === 0 ? { done: chosen } : { waiting: describeRemaining(departing) };
    },
  });
}

/** Waits until all are being deleted, or the moment is over, and returns those that were there last. */
async function notice<T extends KubeObject>(
  progress: Progress,
  { filter = () => true, ...request }: Departure<T>,
): Promise<T[]> {
  const limited = withLimit(progress, NOTICE_MS);
  let chosen: T[] = [];
  try {
    await waitFor<T, void>(limited, {
      ...request,
      explain: undefined,
      judge: (objects) => {
        chosen = objects.filter(filter);
        return chosen.every(isDeleting) ? { done: undefined } : { waiting: "not all are being deleted" };
      },
    });
  } catch (error) {
    if (!(error instanceof WaitTimeout) || limited.deadline >= progress.deadline) throw error;
  }
  return chosen;
}
