import "./plain-keys.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { UNKNOWN } from "../framework/unknown.js";
import { formatPath, startsWith, type PropertyPath } from "../framework/property-path.js";
import { OUTPUT_VALUE, RESOURCE_REFERENCE, SECRET, SIGNATURE_KEY, UNKNOWN_VALUE } from "./signatures.js";

export type Properties = Record<string, unknown>;

/** Properties as hooks want them, and where the secrets were. */
export interface Decoded {
  value: Properties;
  secrets: SecretPaths;
}

/** Where secrets are. A secret inside a list makes the whole list one, as its elements may move. */
export class SecretPaths {
  private readonly paths = new Map<string, PropertyPath>();

  constructor(paths: Iterable<PropertyPath> = []) {
    for (const path of paths) this.add(path);
  }

  add(path: PropertyPath): void {
    const list = path.findIndex((part) => typeof part === "number");
    const kept = list < 0 ? path : path.slice(0, list);
    this.paths.set(formatPath(kept), kept);
  }

  has(path: PropertyPath): boolean {
    return this.paths.has(formatPath(path));
  }

  /** Whether a value at this path is itself a secret or lies in one. */
  covers(path: PropertyPath): boolean {
    return [...this.paths.values()].some((secret) => startsWith(path, secret));
  }

  union(...others: SecretPaths[]): SecretPaths {
    return new SecretPaths([this, ...others].flatMap((one) => [...one.paths.values()]));
  }

  [Symbol.iterator](): Iterator<PropertyPath> {
    return this.paths.values();
  }
}

/** Reads properties as the engine sends them: unknowns become UNKNOWN, secrets are unwrapped and noted, null counts as absent. */
export function decode(properties: struct.Struct | undefined): Decoded {
  const secrets = new SecretPaths();
  return { value: properties ? decodeFields(properties, [], secrets) : {}, secrets };
}

/** Writes properties for the engine: UNKNOWN becomes Pulumi's marker, what lies at a secret path is marked, undefined is left out. */
export function encode(value: Properties, secrets: SecretPaths = new SecretPaths()): struct.Struct {
  return encodeFields(value, [], secrets);
}

function decodeFields(source: struct.Struct, path: PropertyPath, secrets: SecretPaths): Properties {
  const entries: [string, unknown][] = [];
  source.getFieldsMap().forEach((field: struct.Value, key: string) => {
    const value = decodeValue(field, [...path, key], secrets);
    if (value !== undefined) entries.push([key, value]);
  });
  // fromEntries defines own properties even for names such as "__proto__".
  return Object.fromEntries(entries);
}

function decodeValue(field: struct.Value, path: PropertyPath, secrets: SecretPaths): unknown {
  switch (field.getKindCase()) {
    case struct.Value.KindCase.NULL_VALUE:
    case struct.Value.KindCase.KIND_NOT_SET:
      return undefined;
    case struct.Value.KindCase.STRING_VALUE: {
      const text = field.getStringValue();
      return text === UNKNOWN_VALUE ? UNKNOWN : text;
    }
    case struct.Value.KindCase.NUMBER_VALUE:
      return field.getNumberValue();
    case struct.Value.KindCase.BOOL_VALUE:
      return field.getBoolValue();
    case struct.Value.KindCase.LIST_VALUE:
      return (field.getListValue()?.getValuesList() ?? []).map(
        (element, index) => decodeValue(element, [...path, index], secrets) ?? null,
      );
    case struct.Value.KindCase.STRUCT_VALUE:
      return decodeStruct(field.getStructValue() ?? new struct.Struct(), path, secrets);
  }
}

function decodeStruct(source: struct.Struct, path: PropertyPath, secrets: SecretPaths): unknown {
  const fields = source.getFieldsMap();
  const text = (key: string): string => fields.get(key)?.getStringValue() ?? "";
  switch (text(SIGNATURE_KEY)) {
    case SECRET: {
      secrets.add(path);
      const inner = fields.get("value");
      return inner && decodeValue(inner, path, secrets);
    }
    case OUTPUT_VALUE: {
      if (fields.get("secret")?.getBoolValue()) secrets.add(path);
      const inner = fields.get("value");
      return inner ? decodeValue(inner, path, secrets) : UNKNOWN;
    }
    case RESOURCE_REFERENCE: {
      const id = fields.get("id");
      // A custom resource stands for its ID; a component has none and stands for its URN.
      return id ? decodeValue(id, path, secrets) : text("urn");
    }
    default:
      return decodeFields(source, path, secrets);
  }
}

function encodeFields(value: Properties, path: PropertyPath, secrets: SecretPaths): struct.Struct {
  const result = new struct.Struct();
  const fields = result.getFieldsMap();
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== undefined) fields.set(key, encodeValue(inner, [...path, key], secrets));
  }
  return result;
}

function encodeValue(value: unknown, path: PropertyPath, secrets: SecretPaths): struct.Value {
  const plain = encodePlain(value, path, secrets);
  if (!secrets.has(path)) return plain;
  const marked = new struct.Struct();
  marked.getFieldsMap().set(SIGNATURE_KEY, stringValue(SECRET)).set("value", plain);
  return structValue(marked);
}

function encodePlain(value: unknown, path: PropertyPath, secrets: SecretPaths): struct.Value {
  const result = new struct.Value();
  if (value === UNKNOWN) return stringValue(UNKNOWN_VALUE);
  if (typeof value === "string") return stringValue(value);
  if (typeof value === "number") result.setNumberValue(value);
  else if (typeof value === "boolean") result.setBoolValue(value);
  else if (Array.isArray(value)) {
    const list = new struct.ListValue();
    list.setValuesList(value.map((element, index) => encodePlain(element, [...path, index], secrets)));
    result.setListValue(list);
  } else if (typeof value === "object" && value !== null) {
    return structValue(encodeFields(value as Properties, path, secrets));
  } else result.setNullValue(struct.NullValue.NULL_VALUE);
  return result;
}

function stringValue(text: string): struct.Value {
  const result = new struct.Value();
  result.setStringValue(text);
  return result;
}

function structValue(inner: struct.Struct): struct.Value {
  const result = new struct.Value();
  result.setStructValue(inner);
  return result;
}
