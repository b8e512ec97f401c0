import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import "./core.js";
import "./authentication.js";
import "./networking.js";
import "./ipam.js";
import "./offloading.js";
import { definedResources } from "./definition.js";

/** The CustomResourceDefinitions of all kinds. */
export function crds(): CustomResourceDefinition[] {
  return definedResources().map((resource) => resource.crd());
}
