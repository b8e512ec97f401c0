import { defineFunction } from "../framework/index.js";
import { renderManifests as render } from "./rendering/render.js";
import { renderInputs, renderOutputs } from "./rendering/schema.js";

/** liqo:index:renderManifests: what a program would apply, for those who apply it by other means. */
export const renderManifests = defineFunction({
  token: "liqo:index:renderManifests",
  description:
    "The manifests that a program with these inputs would apply, by cluster, as objects and as YAML: for GitOps tools and Terraform. Applies nothing. Clusters that are " +
    "given are read, to fill in what is left out.",
  inputs: renderInputs,
  outputs: renderOutputs,
  call: render,
});
