import type { z } from "zod";
import { fieldsOf, typeOf, unwrap } from "../../../provider/framework/field-info.js";
import { providerConfig } from "../../../provider/framework/index.js";
import { registry } from "../../../provider/resources/index.js";

/** A property that a program can set, wherever it lies: "NetworkLink", "gatewayServer.port". */
export interface SettableProperty {
  owner: string;
  path: string;
  field: z.core.$ZodType;
}

/** Owners of input properties: every resource and component, and the provider itself. */
export function inputSchemas(): Map<string, z.ZodObject> {
  const definitions = [...registry.resources, ...registry.components];
  const named = definitions.map(({ token, inputs }) => [token.split(":").at(-1) ?? "", inputs] as const);
  return new Map([...named, ["Provider", providerConfig] as const]);
}

/** Every input property, down to the leaves; elements of lists and maps as "[0]" and ".key". */
export function settableProperties(): SettableProperty[] {
  return [...inputSchemas()].flatMap(([owner, schema]) => walk(owner, schema, ""));
}

function walk(owner: string, type: z.core.$ZodType, path: string): SettableProperty[] {
  const { schema } = unwrap(type);
  const own = path === "" ? [] : [{ owner, path, field: type }];
  switch (typeOf(schema)) {
    case "object":
      return [
        ...own,
        ...Object.entries(fieldsOf(schema as z.ZodObject)).flatMap(([key, field]) =>
          walk(owner, field, path === "" ? key : `${path}.${key}`),
        ),
      ];
    case "array":
      return [...own, ...walk(owner, (schema as z.ZodArray).element, `${path}[0]`)];
    case "record":
      return [...own, ...walk(owner, (schema as z.ZodRecord).valueType, `${path}.key`)];
    default:
      return own;
  }
}
