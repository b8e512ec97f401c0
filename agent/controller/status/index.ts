import type { AreaSetup } from "../context.js";
import { ForeignClusterController } from "./foreign-cluster-controller.js";
import { stateEvents } from "./state-events.js";

/** Tells how each peering is: one ForeignCluster per peer, and events where a tunnel comes and goes. Reads what the other areas make, changes none of it. */
export const setupStatus: AreaSetup = (context) => [new ForeignClusterController(context), ...stateEvents(context)];
