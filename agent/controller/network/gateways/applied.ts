import { sameJson, type KubeObject } from "../../../runtime/index.js";

interface Entry {
  wish: string;
  uid?: string;
  generation?: number;
  /** What became of the wished fields, of objects that have no generation to tell changes by. */
  made?: unknown;
}

/** Remembers what was applied to an object, so that an unchanged wish for an unchanged object costs no request. */
export class AppliedMemory {
  private readonly entries = new Map<string, Entry>();

  isCurrent(key: string, wish: object, present: KubeObject | undefined): boolean {
    const entry = this.entries.get(key);
    return (
      entry !== undefined &&
      present !== undefined &&
      entry.uid === present.metadata?.uid &&
      entry.generation === present.metadata?.generation &&
      entry.wish === JSON.stringify(wish) &&
      sameJson(entry.made, wishedFieldsOf(present, wish))
    );
  }

  remember(key: string, wish: object, result: KubeObject): void {
    const { uid, generation } = result.metadata ?? {};
    // As the API server answers, not as wished: where it, or a webhook, puts something else in a field's place, that is no drift.
    this.entries.set(key, { wish: JSON.stringify(wish), uid, generation, made: wishedFieldsOf(result, wish) });
  }

  forget(key: string): void {
    this.entries.delete(key);
  }
}

/** Undefined where the generation tells of changes. Owner references are the garbage collector's concern as well, and are left out. */
function wishedFieldsOf(object: KubeObject, wish: KubeObject): unknown {
  if (object.metadata?.generation !== undefined) return undefined;
  return fieldsIn(object, {
    ...wish,
    metadata: { labels: wish.metadata?.labels, annotations: wish.metadata?.annotations },
  });
}

/** The value's fields that the shape has: others, as node ports or addresses, are set by whoever serves the object, at any time. */
function fieldsIn(value: unknown, shape: unknown): unknown {
  if (!isStructure(shape)) return value;
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return value;
    // Whatever came to a list, or went from it, is a change.
    return value.map((element, index) => (index < shape.length ? fieldsIn(element, shape[index]) : element) as unknown);
  }
  // None is the same as an empty one.
  const members: Record<string, unknown> = isStructure(value) ? { ...value } : {};
  const wished = Object.entries(shape).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(wished.map(([name, inner]) => [name, fieldsIn(members[name], inner)]));
}

function isStructure(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
