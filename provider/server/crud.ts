import type { ChangeContext } from "../framework/context.js";
import type { AnyResource } from "../framework/resource.js";
import { UNKNOWN } from "../framework/unknown.js";
import { secretPathsOf } from "../framework/validate.js";
import type { Call } from "./calls.js";
import { PartialFailure } from "./errors.js";
import { versionMark } from "./upgrade.js";
import { SecretPaths, type Decoded, type Properties } from "./values.js";
import { messageOf } from "../../agent/runtime/kube-error.js";

/** What the engine keeps as a resource's state, and what in it is secret. */
export interface State {
  id: string;
  properties: Properties;
  secrets: SecretPaths;
}

/** State is the inputs with the outputs over them. */
export function stateOf(definition: AnyResource, inputs: Decoded, outputs: Properties): Omit<State, "id"> {
  const properties = { ...inputs.value, ...outputs, ...versionMark(definition) };
  return { properties, secrets: secretsOf(definition, properties, inputs.secrets) };
}

export function secretsOf(definition: AnyResource, properties: Properties, given: SecretPaths): SecretPaths {
  return new SecretPaths([
    ...given,
    ...secretPathsOf(definition.inputs, properties),
    ...secretPathsOf(definition.outputs, properties),
  ]);
}

/** The outputs proper among a resource's state. */
export function outputsOf(definition: AnyResource, properties: Properties): Properties {
  return pick(properties, Object.keys(definition.outputs.shape));
}

/** The inputs as far as the state tells: for engines that do not send them. */
export function inputsOf(definition: AnyResource, properties: Properties): Properties {
  return pick(properties, Object.keys(definition.inputs.shape));
}

function pick(properties: Properties, keys: string[]): Properties {
  return Object.fromEntries(
    keys.filter((key) => properties[key] !== undefined).map((key) => [key, properties[key]] as const),
  );
}

/** What preview can tell: outputs that the resource's hook knows, for an update the old ones, and UNKNOWN for the rest. */
export async function previewState(
  definition: AnyResource,
  call: Call,
  inputs: Decoded,
  old: { id: string; oldInputs: Properties; outputs: Properties } | undefined,
): Promise<State> {
  const told: Properties = await call
    .run(async () => (await definition.preview?.(call, inputs.value, old)) ?? {})
    .catch((error: unknown) => {
      call.log("debug", `preview of ${call.name}: ${String(error)}`);
      return {};
    });
  const outputs: Properties = {};
  for (const key of Object.keys(definition.outputs.shape)) {
    outputs[key] = told[key] ?? old?.outputs[key] ?? inputs.value[key] ?? UNKNOWN;
  }
  return { id: old?.id ?? "", ...stateOf(definition, inputs, outputs) };
}

export async function createResource(definition: AnyResource, call: Call, inputs: Decoded): Promise<State> {
  return change(definition, call, inputs, undefined, async (context) => definition.create(context, inputs.value));
}

export async function updateResource(
  definition: AnyResource,
  call: Call,
  inputs: Decoded,
  old: { id: string; oldInputs: Properties; outputs: Properties },
): Promise<State> {
  return change(definition, call, inputs, old.outputs, async (context) => ({
    id: old.id,
    outputs: await definition.update(context, { ...old, inputs: inputs.value }),
  }));
}

/** Runs create or update; a failure after a checkpoint keeps what there is. */
async function change(
  definition: AnyResource,
  call: Call,
  inputs: Decoded,
  oldOutputs: Properties | undefined,
  work: (context: ChangeContext<Properties>) => Promise<{ id: string; outputs: Properties }>,
): Promise<State> {
  let made: { id: string; outputs: Properties } | undefined;
  const context: ChangeContext<Properties> = call.extend({
    checkpoint: (id: string, outputs: Properties) => {
      made = { id, outputs: { ...made?.outputs, ...outputs } };
    },
  });
  try {
    const { id, outputs } = await call.run(() => work(context));
    return { id, ...stateOf(definition, inputs, outputs) };
  } catch (error) {
    // Assigned in a callback, which the compiler does not see.
    const partial = made;
    if (!partial) throw error;
    const state = stateOf(definition, inputs, { ...oldOutputs, ...partial.outputs });
    const message = messageOf(error);
    throw new PartialFailure(message, partial.id, state.properties, inputs.value, state.secrets);
  }
}

/** What is there now; undefined when it is gone. */
export async function readResource(
  definition: AnyResource,
  call: Call,
  id: string,
  properties: Decoded,
  inputs: Decoded | undefined,
): Promise<(State & { inputs: Properties }) | undefined> {
  const found = await call.run(() =>
    definition.read(call, { id, inputs: inputs?.value, outputs: outputsOf(definition, properties.value) }),
  );
  if (!found) return undefined;
  const given = inputs ? properties.secrets.union(inputs.secrets) : properties.secrets;
  const state = stateOf(definition, { value: found.inputs, secrets: given }, found.outputs);
  return { id: found.id ?? id, inputs: found.inputs, ...state };
}

export async function deleteResource(
  definition: AnyResource,
  call: Call,
  id: string,
  inputs: Properties,
  properties: Properties,
): Promise<void> {
  await call.run(() => definition.delete(call, { id, inputs, outputs: outputsOf(definition, properties) }));
}
