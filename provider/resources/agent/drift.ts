import { NetworkType, reservedNetworkName, type Network } from "../../../agent/api/index.js";
import { Labels, LabelValues } from "../../../agent/api/labels.js";
import type { InstallInputs } from "../../../agent/install/inputs.js";
import { describeManifest, resourceTypeOf } from "../../../agent/install/kinds.js";
import { agentManifests } from "../../../agent/install/manifests.js";
import { InstallNames } from "../../../agent/install/names.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import {
  apiVersionOf,
  describeObject,
  keyOf,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/resource-type.js";
import { deviationsOf } from "../../kube/deviations.js";
import { ifVisible } from "../../waits/if-found.js";
import { identityOf } from "./apply.js";

/** What a refresh would be slow to compare, and what an upgrade alone changes. */
const LEFT_OUT = ["CustomResourceDefinition"];

/** The live objects of an installation's kinds, by kind and namespace and then by key; undefined where the credentials may not look. */
export type LiveObjects = ReadonlyMap<string, ReadonlyMap<string, KubeObject> | undefined>;

/**
 * Where the live objects are not as an installation made them: lost objects, and changed ones with the fields, a line each. Of templates only labels and
 * annotations count, as people may edit them.
 */
export function driftOf(manifests: readonly KubeObject[], live: LiveObjects): string[] {
  return manifests.filter(isCompared).flatMap((manifest) => {
    const type = resourceTypeOf(manifest);
    const { name = "", namespace } = manifest.metadata ?? {};
    const ofType = live.get(scopeOf(type, namespace));
    // Credentials that may not look are no proof that something is missing.
    if (!ofType) return [];
    const object = ofType.get(keyOf(manifest));
    if (!object) return [`${describeObject(type, name, namespace)} is missing`];
    return deviationsOf(object, comparable(manifest));
  });
}

/** What installations of ours have made and these manifests do not have: what another version had. Each object bears who made it, and in which version. */
export function superfluousOf(manifests: readonly KubeObject[], live: LiveObjects): KubeObject[] {
  return notWanted(manifests, live).filter((object) => !hasContent(object));
}

/**
 * The same of this version: what it makes with other settings, and what an update that broke off has left. Copies that people made of its objects, labels and
 * all, stay.
 */
export function leftoversOf(inputs: InstallInputs, manifests: readonly KubeObject[], live: LiveObjects): KubeObject[] {
  const possible = new Set(possibleManifests(inputs).map(identityOf));
  return notWanted(manifests, live).filter((object) => possible.has(identityOf(object)) || isReservedRange(object));
}

/** Leftovers, as drift says it. What is on its way out is none, and a namespace may stay for what is in it. */
export function leftoversAsDrift(inputs: InstallInputs, manifests: readonly KubeObject[], live: LiveObjects): string[] {
  return leftoversOf(inputs, manifests, live)
    .filter((object) => !hasContent(object) && object.metadata?.deletionTimestamp === undefined)
    .map((object) => `${describeManifest(object)} should not be there`);
}

/** Everything that an installation in its place can consist of: whatever a setting that changes in place brings or takes away. */
export function possibleManifests(inputs: InstallInputs): KubeObject[] {
  return agentManifests({ ...inputs, apiServerProxy: true, storageEnabled: true });
}

function notWanted(manifests: readonly KubeObject[], live: LiveObjects): KubeObject[] {
  const wanted = new Set(manifests.map(identityOf));
  return [...live.values()]
    .flatMap((objects) => [...(objects?.values() ?? [])])
    .filter((object) => isMadeByUs(object) && !wanted.has(identityOf(object)));
}

function isMadeByUs({ metadata }: KubeObject): boolean {
  const { [Labels.appManagedBy]: manager, [Labels.appVersion]: version } = metadata?.labels ?? {};
  return manager === InstallNames.manager && version !== undefined;
}

/** With them would go what is in them. */
function hasContent({ kind }: KubeObject): boolean {
  return kind === "Namespace";
}

/** Their names come from the setting itself. */
function isReservedRange(object: KubeObject): boolean {
  if (object.kind !== "Network" || object.metadata?.labels?.[Labels.networkType] !== NetworkType.reserved) return false;
  return object.metadata.name === reservedNetworkName((object as Network).spec.cidr);
}

/** The live objects of the manifests' kinds, but for those left out of every comparison: one request for each kind and namespace. */
export async function liveObjects(
  client: KubeClient,
  manifests: readonly KubeObject[],
  signal: AbortSignal,
): Promise<LiveObjects> {
  const scopes = new Map<string, { type: ResourceType; namespace?: string }>();
  for (const manifest of manifests.filter(isCompared)) {
    const type = resourceTypeOf(manifest);
    const namespace = manifest.metadata?.namespace;
    scopes.set(scopeOf(type, namespace), { type, namespace });
  }
  const labelSelector = { [Labels.appPartOf]: LabelValues.partOf };
  const found = [...scopes].map(async ([scope, { type, namespace }]) => {
    const list = await ifVisible(client.list(type, { namespace, labelSelector, signal }));
    return [scope, list && new Map(list.items.map((object) => [keyOf(object), object]))] as const;
  });
  return new Map(await Promise.all(found));
}

function isCompared({ kind = "" }: KubeObject): boolean {
  return !LEFT_OUT.includes(kind);
}

function scopeOf(type: ResourceType, namespace = ""): string {
  return `${apiVersionOf(type)}/${type.kind} ${namespace}`;
}

/** A namespace that was there before the agent is not marked as ours: it lacks that one label rightly. */
function comparable(manifest: KubeObject): KubeObject {
  const { kind = "", metadata, apiVersion } = manifest;
  if (kind.endsWith("Template")) return { apiVersion, kind, metadata };
  if (kind !== "Namespace") return manifest;
  const labels = { ...metadata?.labels };
  delete labels[Labels.appManagedBy];
  return { ...manifest, metadata: { ...metadata, labels } };
}
