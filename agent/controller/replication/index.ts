import type { AreaSetup } from "../context.js";
import { ReplicationManager } from "./replication-manager.js";

/** Carries ResourceSlices, NamespaceMaps and Renews to providers, and their status back. Nothing here knows what they mean. */
export const setupReplication: AreaSetup = (context) => [new ReplicationManager(context)];
