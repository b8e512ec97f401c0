import type { ApplyOptions, DeepPartial, KubeClient } from "../../agent/runtime/kube-client.js";
import type { KubeObject, ResourceType } from "../../agent/runtime/resource-type.js";
import { valueAt, type PropertyPath } from "../framework/property-path.js";

/**
 * Server-side apply, and then away with what others have put where the program alone decides: applying removes no more than what the same field manager had
 * put there before. A second request only where there is such a thing.
 *
 * @param decided fields that are gone when the manifest has none; of maps, the keys that it does not have
 */
export async function applyExactly<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  manifest: DeepPartial<T> & KubeObject,
  options: ApplyOptions,
  decided: readonly PropertyPath[],
): Promise<T> {
  const applied = await client.apply(type, manifest, options);
  const patch = removals(applied, manifest, decided);
  if (!patch) return applied;
  const { name = "", namespace } = manifest.metadata ?? {};
  const { fieldManager, signal } = options;
  return client.mergePatch(type, { name, namespace }, patch, { fieldManager, signal });
}

/** The merge patch that takes away what a manifest does not have; undefined where there is nothing of the kind. */
export function removals(live: object, manifest: object, decided: readonly PropertyPath[]): object | undefined {
  const surplus = decided.flatMap((path) => surplusAt(live, manifest, path));
  if (surplus.length === 0) return undefined;
  const patch: Tree = {};
  for (const path of surplus) putNull(patch, path);
  return patch;
}

interface Tree {
  [key: string]: Tree | null;
}

function surplusAt(live: object, manifest: object, path: PropertyPath): PropertyPath[] {
  const [present, wanted] = [valueAt(live, path), valueAt(manifest, path)];
  if (present === undefined || present === null) return [];
  if (wanted === undefined) return [path];
  if (!isMap(present) || !isMap(wanted)) return [];
  return Object.keys(present)
    .filter((key) => wanted[key] === undefined)
    .map((key) => [...path, key]);
}

function putNull(patch: Tree, path: PropertyPath): void {
  const keys = path.map(String);
  const last = keys.pop() ?? "";
  const parent = keys.reduce<Tree>((tree, key) => (tree[key] ??= {}), patch);
  parent[last] = null;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
