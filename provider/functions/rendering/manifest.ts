import { stringify } from "yaml";
import { apiVersionOf, type KubeObject, type ResourceType } from "../../../agent/runtime/index.js";
import type { ObjectMetadata } from "../../framework/index.js";
import type { RenderOutputs } from "./schema.js";

/** An object with the two fields that say what it is, as files have them. */
export function manifestOf(type: ResourceType, object: object): KubeObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...object };
}

/** Puts the labels and annotations that a resource has for all its objects beneath the objects' own. */
export function withChosenMetadata(
  objects: readonly KubeObject[],
  { objectLabels, objectAnnotations }: ObjectMetadata,
): KubeObject[] {
  const beneath = (chosen: Record<string, string>, own: Record<string, string> | undefined) =>
    Object.keys(chosen).length > 0 || own ? { ...chosen, ...own } : undefined;
  return objects.map((object) => ({
    ...object,
    metadata: {
      ...object.metadata,
      labels: beneath(objectLabels, object.metadata?.labels),
      annotations: beneath(objectAnnotations, object.metadata?.annotations),
    },
  }));
}

/** Objects as a file of YAML documents; "" for none. Every text that YAML could take for something else is quoted. */
export function yamlOf(objects: readonly unknown[]): string {
  // Other tools read YAML 1.1, where "on" and "1_0" are no texts.
  return objects
    .map((object) => stringify(object, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false }))
    .join("---\n");
}

/** Sets Secrets with content apart. */
export function renderedOf(clusterId: string, objects: readonly KubeObject[]): NonNullable<RenderOutputs["consumer"]> {
  const plain = objects.map(withoutUndefined);
  const isSecret = (object: KubeObject): boolean => object.kind === "Secret" && "data" in object;
  const manifests = plain.filter((object) => !isSecret(object));
  const secretManifests = plain.filter(isSecret);
  return {
    clusterId,
    manifests,
    yaml: yamlOf(manifests),
    secretManifests,
    secretYaml: yamlOf(secretManifests),
  };
}

/** As the API server will see it. */
function withoutUndefined(object: KubeObject): KubeObject {
  return JSON.parse(JSON.stringify(object)) as KubeObject;
}
