import type { AreaSetup } from "../context.js";
import { ReplicationManager } from "./replication-manager.js";

/** Carries ResourceSlices, NamespaceMaps and Renews to providers, and their status back. Nothing here knows what they mean, but that a slice's virtual nodes leave before it. */
export const setupReplication: AreaSetup = (context) => [new ReplicationManager(context)];
