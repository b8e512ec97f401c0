import type { Informer, KubeObject } from "../../runtime/index.js";
import type { AdmissionHandler } from "./admission.js";

/** Within the ten seconds that the API server grants a webhook. */
const SYNC_TIMEOUT_MS = 8_000;

type Synced = Pick<Informer<KubeObject>, "hasSynced" | "waitForSync">;

/** A handler that decides only once the lists it looks into are complete, as after a start. */
export function whenSynced(informers: readonly Synced[], handler: AdmissionHandler): AdmissionHandler {
  return async (request) => {
    for (const informer of informers) if (!informer.hasSynced) await informer.waitForSync(SYNC_TIMEOUT_MS);
    return handler(request);
  };
}
