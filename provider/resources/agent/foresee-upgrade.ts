import { VERSION } from "../../version.js";
import { known, type CallContext, type UnknowableProperties } from "../../framework/index.js";
import { describeManifest } from "../../../agent/install/kinds.js";
import { agentManifests } from "../../../agent/install/manifests.js";
import { driftOf, liveObjects, superfluousOf } from "./drift.js";
import { findInstallation } from "./existing.js";
import { installInputs } from "./install-inputs.js";
import { resolveRanges } from "./resolve.js";
import type { AgentInputs, AgentOutputs } from "./schema.js";

/** How many of the objects that change a preview names. */
const NAMED = 20;

/** Whether what is installed, as far as the state knows, is of another version than the package. */
export function isOtherVersion({ version = "" }: Partial<AgentOutputs>): boolean {
  return version !== "" && version !== VERSION;
}

/** Tells in a preview what an upgrade, or the way back, comes to: both versions, and which objects become others or go. Definitions of custom resources are not compared. */
export async function foreseeUpgrade(
  context: CallContext,
  inputs: UnknowableProperties<AgentInputs>,
  outputs: Partial<AgentOutputs>,
): Promise<void> {
  const all = known<AgentInputs>(inputs);
  if (!all) return;
  const client = await context.client(all.cluster);
  const present = await findInstallation(client, context.signal);
  if (!present?.version || present.version === VERSION) return;
  const resolved = await resolveRanges(client, all, outputs, context.signal);
  // All objects bear the version's label: that alone makes none another.
  const wanted = agentManifests({ ...installInputs(all, resolved), version: present.version });
  const live = await liveObjects(client, wanted, context.signal);
  const former = superfluousOf(wanted, live).map((object) => `${describeManifest(object)} goes`);
  const changes = [...driftOf(wanted, live), ...former];
  const named = changes.slice(0, NAMED).map((line) => `\n  ${line}`);
  const more = changes.length > NAMED ? `\n  and ${changes.length - NAMED} more` : "";
  context.log(
    "info",
    `cluster ${client.cluster}: the agent ${present.clusterId} goes from version ${present.version} to ${VERSION} in place; as the new version has it` +
      (changes.length > 0 ? `:${named.join("")}${more}` : ", nothing else changes"),
  );
}
