import { QuotaResource } from "../../api/index.js";
import { RuntimeClassResource } from "../../runtime/index.js";
import type { AreaSetup } from "../context.js";
import { deadNodePodsController } from "./dead-node-pods-controller.js";
import { earlyPodsController } from "./early-pods-controller.js";
import { podsOfShadowPods } from "./informers.js";
import { namespaceMapController } from "./namespace-map/controller.js";
import { namespaceOffloadingController } from "./namespace-offloading/controller.js";
import { namespaceOffloadingPolicyController } from "./namespace-offloading-policy/controller.js";
import { localClaimController } from "./storage/local-claim-controller.js";
import { releasedVolumeController } from "./storage/released-volume-controller.js";
import { remoteUnavailableController } from "./remote-unavailable-controller.js";
import { shadowEndpointSliceController } from "./shadow-endpoint-slice/controller.js";
import { shadowPodController } from "./shadow-pod/controller.js";
import { quotaExcessController } from "./shadow-pod/quota-excess-controller.js";
import { QuotaRoom } from "./shadow-pod/quota-room.js";
import { unplacedPodsController } from "./unplaced-pods-controller.js";
import { virtualNodeController } from "./virtual-node/controller.js";
import { virtualNodeCreator } from "./virtual-node-creator.js";

/**
 * Virtual nodes and offloading. On the consumer: virtual nodes from accepted slices, namespaces extended over them, volumes of claims that any
 * cluster may hold. On the provider: the
 * namespaces, pods and endpoints that consumers ask for. The virtual node's own work is a process of its own.
 */
export const setupOffloading: AreaSetup = (context) => {
  const { informers, config } = context;
  const room = new QuotaRoom(
    informers.for(QuotaResource),
    podsOfShadowPods(context),
    informers.for(RuntimeClassResource),
  );
  return [
    virtualNodeCreator(context),
    virtualNodeController(context),
    namespaceOffloadingController(context),
    namespaceOffloadingPolicyController(context),
    earlyPodsController(context),
    unplacedPodsController(context),
    namespaceMapController(context),
    shadowPodController(context, room),
    ...(config.resourceEnforcement ? [quotaExcessController(context, room)] : []),
    deadNodePodsController(context),
    shadowEndpointSliceController(context),
    remoteUnavailableController(context),
    ...(config.storageEnabled ? [localClaimController(context)] : []),
    releasedVolumeController(context),
  ];
};
