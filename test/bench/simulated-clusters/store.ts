import type { KubeObject } from "../../../agent/runtime/index.js";

/** Any object, as JSON. */
export type Json = KubeObject & { [field: string]: unknown };

export interface StoreEvent {
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: Json;
}

export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

interface Collection {
  objects: Map<string, Json>;
  /** Everything that has happened, so that a watch can begin at any version. */
  history: StoreEvent[];
  listeners: Set<(event: StoreEvent) => void>;
}

/** The objects of one cluster, in memory. Collections are named by their path: "apis/networking.liqo.io/v1beta1/networks". */
export class ObjectStore {
  private readonly collections = new Map<string, Collection>();
  private version = 1;

  get resourceVersion(): string {
    return String(this.version);
  }

  list(collection: string, selection: Selection = {}): Json[] {
    return [...this.of(collection).objects.values()].filter((object) => isSelected(object, selection));
  }

  get(collection: string, name: string, namespace = ""): Json | undefined {
    return this.of(collection).objects.get(`${namespace}/${name}`);
  }

  /** Creates the object, or lays what is given over what is there; null removes a field. */
  merge(collection: string, given: Json): Json {
    const { name = "", namespace = "" } = given.metadata ?? {};
    const present = this.get(collection, name, namespace);
    const merged = merge(present ?? {}, given) as Json;
    if (present && JSON.stringify(merged) === JSON.stringify(present)) return present;
    this.version++;
    merged.metadata = {
      uid: `uid-${this.version}`,
      creationTimestamp: new Date().toISOString(),
      generation: 1,
      ...merged.metadata,
      resourceVersion: this.resourceVersion,
    };
    this.of(collection).objects.set(`${namespace}/${name}`, merged);
    this.tell(collection, { type: present ? "MODIFIED" : "ADDED", object: merged });
    return merged;
  }

  delete(collection: string, name: string, namespace = ""): Json | undefined {
    const object = this.get(collection, name, namespace);
    if (!object) return undefined;
    this.version++;
    this.of(collection).objects.delete(`${namespace}/${name}`);
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: this.resourceVersion } };
    this.tell(collection, { type: "DELETED", object: last });
    return last;
  }

  /** Tells of every change after a version; returns a function that ends it. */
  watch(collection: string, after: string, listener: (event: StoreEvent) => void): () => void {
    const { history, listeners } = this.of(collection);
    for (const event of history) if (Number(event.object.metadata?.resourceVersion) > Number(after)) listener(event);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Deletes all that is in a namespace. */
  empty(namespace: string): void {
    for (const [name, { objects }] of this.collections)
      for (const object of [...objects.values()])
        if (object.metadata?.namespace === namespace) this.delete(name, object.metadata.name ?? "", namespace);
  }

  private tell(name: string, event: StoreEvent): void {
    const collection = this.of(name);
    collection.history.push(event);
    for (const listener of collection.listeners) listener(event);
  }

  private of(name: string): Collection {
    const present = this.collections.get(name);
    if (present) return present;
    const made: Collection = { objects: new Map(), history: [], listeners: new Set() };
    this.collections.set(name, made);
    return made;
  }
}

/** Selectors of sets ("a in (b,c)"), of presence ("a") and of equality. */
export function isSelected(object: Json, { namespace, labelSelector = "", fieldSelector = "" }: Selection): boolean {
  if (namespace !== undefined && object.metadata?.namespace !== namespace) return false;
  const labels = object.metadata?.labels ?? {};
  const requirements = labelSelector.split(/,(?![^(]*\))/).filter((one) => one !== "");
  const fields = fieldSelector.split(",").filter((one) => one !== "");
  return (
    requirements.every((requirement) => meets(labels, requirement)) &&
    fields.every((field) => {
      const [path = "", value] = field.split("=");
      return fieldOf(object, path) === value;
    })
  );
}

function meets(labels: Record<string, string>, requirement: string): boolean {
  const [, key = "", values = ""] = /^(\S+) in \((.*)\)$/.exec(requirement) ?? [];
  if (key) return values.split(",").includes(labels[key] ?? "");
  const [name = "", value] = requirement.split("=");
  return value === undefined ? labels[name] !== undefined : labels[name] === value;
}

function fieldOf(object: Json, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((inner, part) => (inner as Record<string, unknown> | undefined)?.[part], object);
}

function merge(present: unknown, given: unknown): unknown {
  if (!isMap(given)) return given;
  const result: Record<string, unknown> = isMap(present) ? { ...present } : {};
  for (const [key, value] of Object.entries(given)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
