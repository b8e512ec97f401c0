import type { Registry } from "../server/registry.js";
import { agent } from "./agent/index.js";
import { getClusterInfo } from "../functions/get-cluster-info.js";
import { getPeeringInfo } from "../functions/get-peering-info.js";

/** Everything that the package liqo offers. */
export const registry: Registry = {
  resources: [agent],
  functions: [getClusterInfo, getPeeringInfo],
  components: [],
};
