import type { AreaSetup } from "../context.js";
import { ForeignClusterController } from "./foreign-cluster-controller.js";

/** Tells how each peering is: one ForeignCluster per peer. Reads what the other areas make, changes none of it. */
export const setupStatus: AreaSetup = (context) => [new ForeignClusterController(context)];
