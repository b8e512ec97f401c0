import type { AnyResource } from "../framework/resource.js";
import type { Decoded, Properties } from "./values.js";

/** Which upgrades a state has been through: absent where there are none. Names that begin so are no properties. */
export const VERSION_KEY = "__stateVersion";

/** Marks a state as being of the present shape. */
export function versionMark({ stateUpgrades = [] }: AnyResource): Properties {
  return stateUpgrades.length > 0 ? { [VERSION_KEY]: stateUpgrades.length } : {};
}

/**
 * Brings what an earlier version of the package has written to the present shape, without asking a cluster.
 *
 * @throws Error for a state that a later version has written
 */
export function upgradeState<Inputs extends Decoded | undefined>(
  { stateUpgrades = [], token }: AnyResource,
  state: Decoded,
  inputs: Inputs,
): { state: Decoded; inputs: Inputs } {
  const found = state.value[VERSION_KEY];
  const version = typeof found === "number" ? found : 0;
  if (version > stateUpgrades.length) {
    throw new Error(
      `${token}: the state was written by a later version of the package liqo (shape ${version}, known here: ${stateUpgrades.length}): use that version, or a newer one`,
    );
  }
  const isEmpty = Object.keys(state.value).length === 0;
  if (isEmpty || version === stateUpgrades.length) return { state, inputs };
  const upgraded = stateUpgrades
    .slice(version)
    .reduce((old, upgrade) => upgrade(old), { inputs: { ...inputs?.value }, state: { ...state.value } });
  return {
    state: { ...state, value: { ...upgraded.state, [VERSION_KEY]: stateUpgrades.length } },
    inputs: inputs && { ...inputs, value: upgraded.inputs },
  };
}
