import type { Registry } from "../server/registry.js";
import { getClusterInfo } from "../functions/get-cluster-info.js";
import { getPeeringInfo } from "../functions/get-peering-info.js";
import { getTopology } from "../functions/get-topology.js";
import { renderManifests } from "../functions/render-manifests.js";
import { agent } from "./agent/index.js";
import { authentication } from "./authentication/index.js";
import { namespaceOffloading } from "./namespace-offloading/index.js";
import { networkLink } from "./network-link/index.js";
import { peering } from "./peering/index.js";
import { peeringUser } from "./peering-user/index.js";
import { resourceSlice } from "./resource-slice/index.js";
import { virtualNode } from "./virtual-node/index.js";

/** Everything that the package liqo offers. */
export const registry: Registry = {
  resources: [agent, networkLink, authentication, resourceSlice, virtualNode, namespaceOffloading, peeringUser],
  functions: [getClusterInfo, getPeeringInfo, getTopology, renderManifests],
  components: [peering],
};
