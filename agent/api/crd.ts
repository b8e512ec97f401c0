import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import "./core.js";
import "./authentication.js";
import "./networking-configuration.js";
import "./networking-gateways.js";
import "./networking-wireguard.js";
import "./networking-fabric.js";
import "./networking-rules.js";
import "./ipam.js";
import "./offloading.js";
import "./offloading-policy.js";
import { definitions } from "./definition.js";

/** The CustomResourceDefinitions of all kinds. */
export function crds(): CustomResourceDefinition[] {
  return definitions().map((definition) => definition.crd());
}
