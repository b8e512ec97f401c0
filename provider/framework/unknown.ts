/** Stands for a value that the engine does not know yet: only in preview, and only in check, diff and preview hooks. */
export const UNKNOWN: unique symbol = Symbol.for("pulumi-liqo.unknown");

export type Unknown = typeof UNKNOWN;

/** A value any part of which may not be known yet. */
export type Unknowable<T> =
  | Unknown
  | (T extends readonly (infer E)[] ? Unknowable<E>[] : T extends object ? { [K in keyof T]: Unknowable<T[K]> } : T);

/** The properties of an object, each of which may not be known yet. */
export type UnknowableProperties<T> = { [K in keyof T]: Unknowable<T[K]> };

export function isUnknown(value: unknown): value is Unknown {
  return value === UNKNOWN;
}

/** Whether the value, or anything inside it, is not known yet. */
export function hasUnknown(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  if (Array.isArray(value)) return value.some(hasUnknown);
  return typeof value === "object" && value !== null && Object.values(value).some(hasUnknown);
}

/** Narrows to a wholly known value; undefined when a part is unknown. */
export function known<T>(value: Unknowable<T>): T | undefined {
  return hasUnknown(value) ? undefined : (value as T);
}
