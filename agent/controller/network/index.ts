import { Lock } from "../../runtime/index.js";
import type { AreaSetup } from "../context.js";
import { configurationController } from "./addresses/configuration-controller.js";
import { ipController } from "./addresses/ip-controller.js";
import { networkController } from "./addresses/network-controller.js";
import { offloadedPodIPController } from "./addresses/offloaded-pod-ip-controller.js";
import { serviceIPController } from "./addresses/service-ip-controller.js";
import { unknownSourceIPController } from "./addresses/unknown-source-ip-controller.js";
import { internalFabricController } from "./fabric/internal-fabric-controller.js";
import { internalNodeController } from "./fabric/internal-node-controller.js";
import { tunnelController } from "./fabric/tunnel-controller.js";
import { gatewayController } from "./gateways/gateway-controller.js";
import { CLIENT, SERVER } from "./gateways/kinds.js";
import { workloadController } from "./gateways/workload-controller.js";
import { formerHostsControllers } from "./rules/former-hosts-controller.js";

/**
 * The control side of the network (network specification): addresses (ranges and borrowed addresses), gateways (from templates to
 * running pods), fabric (links between nodes and gateways) and rules that users bring (what is said of them). It writes objects only: links, routes and rules are made by the
 * gateway and fabric roles, which read them.
 */
export const setupNetwork: AreaSetup = (context) => {
  if (!context.config.networkingEnabled) return [];
  // Whatever is handed out once in the cluster (ranges, addresses, identifiers) is chosen under one lock.
  const lock = new Lock();
  return [
    networkController(context, lock),
    ipController(context, lock),
    configurationController(context),
    serviceIPController(context),
    unknownSourceIPController(context),
    offloadedPodIPController(context),
    gatewayController(context, SERVER),
    gatewayController(context, CLIENT),
    workloadController(context, SERVER),
    workloadController(context, CLIENT),
    internalNodeController(context, lock),
    internalFabricController(context, lock),
    tunnelController(context, lock),
    ...formerHostsControllers(context),
  ];
};
