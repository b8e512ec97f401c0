import { definedResources } from "../api/index.js";
import * as core from "../runtime/core-resources.js";
import { apiVersionOf, describeObject, type KubeObject, type ResourceType } from "../runtime/resource-type.js";

const JobResource: ResourceType = {
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  namespaced: true,
};

const keyOfType = (apiVersion: string, kind: string) => `${apiVersion}/${kind}`;

/** The kind of a manifest. @throws Error for a kind that no installation has */
export function resourceTypeOf(object: KubeObject): ResourceType {
  types ??= new Map(
    [...Object.values(core), JobResource, ...definedResources()].map((type: ResourceType) => [
      keyOfType(apiVersionOf(type), type.kind),
      type,
    ]),
  );
  const type = types.get(keyOfType(object.apiVersion ?? "", object.kind ?? ""));
  if (!type) throw new Error(`no resource type for ${object.apiVersion ?? ""} ${object.kind ?? ""}`);
  return type;
}

let types: Map<string, ResourceType> | undefined;

/** A manifest as messages name it. @throws Error for a kind that no installation has */
export function describeManifest(object: KubeObject): string {
  return describeObject(resourceTypeOf(object), object.metadata?.name ?? "", object.metadata?.namespace);
}
