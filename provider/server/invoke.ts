import { FailureList } from "../framework/failures.js";
import type { AnyFunction } from "../framework/function.js";
import { hasUnknown, UNKNOWN } from "../framework/unknown.js";
import { secretPathsOf, validateProperties } from "../framework/validate.js";
import type { Call } from "./calls.js";
import { SecretPaths, type Properties } from "./values.js";

export interface Invoked {
  result: Properties;
  secrets: SecretPaths;
  failures: FailureList;
}

/** Calls a function; with unknown arguments every result is unknown. */
export async function invokeFunction(definition: AnyFunction, call: Call, args: Properties): Promise<Invoked> {
  const failures = new FailureList();
  const inputs = validateProperties(definition.inputs, args, failures);
  if (failures.count > 0) return { result: {}, secrets: new SecretPaths(), failures };
  const result: Properties = hasUnknown(inputs)
    ? Object.fromEntries(Object.keys(definition.outputs.shape).map((key) => [key, UNKNOWN]))
    : await call.run(() => definition.call(call, inputs));
  return { result, secrets: new SecretPaths(secretPathsOf(definition.outputs, result)), failures };
}
