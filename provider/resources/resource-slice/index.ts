import { resourceListsEqual } from "../../../agent/api/index.js";
import {
  defineResource,
  known,
  UNKNOWN,
  type CallContext,
  type ChangeContext,
  type UnknowableProperties,
} from "../../framework/index.js";
import {
  checkDifferentClusters,
  foreseeRights,
  openDeparting,
  openFound,
  openImported,
  openPair,
  pairId,
  previewPair,
  readPairImport,
  requireRights,
  rightsToChange,
  type NeededIn,
  type Pair,
} from "../../preconditions/index.js";
import { clusterIds, onlyForceChanged, repairDrift } from "../pair-properties.js";
import { sliceId, splitSliceId } from "./id.js";
import { inspectSlice } from "./inspect.js";
import { negotiate } from "./negotiate.js";
import { sliceRights } from "./rights.js";
import {
  resourceSliceInputs,
  resourceSliceOutputs,
  type ResourceSliceInputs,
  type ResourceSliceOutputs,
} from "./schema.js";
import { deleteVirtualNode, withdraw } from "./withdraw.js";

/** Resources of a provider for a consumer. */
export const resourceSlice = defineResource({
  token: "liqo:index:ResourceSlice",
  description:
    "Asks the provider for resources and, once they are granted, makes a virtual node of them on the consumer. A change of what is asked for is " +
    "negotiated in place; the virtual node follows.\n\n" +
    "Import ID: `<consumer cluster ID>/<provider cluster ID>/<name>@<consumer context>,<provider context>`.",
  inputs: resourceSliceInputs,
  outputs: resourceSliceOutputs,
  replaceOn: ["name"],
  async check(context, _inputs, failures, oldInputs) {
    if (!oldInputs) await checkDifferentClusters(context, failures);
  },
  diff(request) {
    const { sliceName, providerClusterId } = request.outputs;
    const wanted = request.inputs.name ?? providerClusterId;
    // Writing the usual name down, or leaving it out, names no other.
    return { ...repairDrift(request), ignore: wanted !== undefined && wanted === sliceName ? ["name"] : [] };
  },
  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<ResourceSliceOutputs>>> {
    const name = inputs.name === undefined ? undefined : known(inputs.name);
    if (old) {
      await foreseeChange(context, inputs, old);
      return { drift: [], ...(asksForTheSame(inputs, old.oldInputs) ? {} : { acceptedResources: UNKNOWN }) };
    }
    const pair = await previewPair(context, inputs);
    if (pair) await foreseeRights(context, sliceRights(pair, needsOf(inputs), context.signal));
    const finalName = name ?? (inputs.name === undefined ? pair?.provider.clusterId : undefined);
    return {
      drift: [],
      ...(pair ? clusterIds(pair) : {}),
      ...(finalName ? { sliceName: finalName } : {}),
      ...(finalName && inputs.createVirtualNode === true ? { virtualNodeName: finalName } : {}),
    };
  },
  async create(context, inputs) {
    const pair = await openPair(context, inputs);
    await requireRights(context, sliceRights(pair, inputs, context.signal));
    const name = inputs.name ?? pair.provider.clusterId;
    return { id: sliceId(pairId(pair), name), outputs: await establish(context, pair, name, inputs) };
  },
  async read(context, { id, inputs }) {
    const imported = inputs ? undefined : readPairImport(id);
    const { pair: expected, name } = splitSliceId(imported?.id ?? id);
    const given =
      inputs ?? resourceSliceInputs.parse({ consumer: imported?.consumer, provider: imported?.provider, name });
    const pair = imported ? await openImported(context, given, expected) : await openFound(context, given, expected);
    if (!pair) return undefined;
    const found = await inspectSlice(pair, name, given, imported !== undefined, context.signal);
    return found && { id: sliceId(expected, name), ...found };
  },
  async update(context, { id, inputs, oldInputs, outputs }) {
    if (onlyForceChanged(inputs, oldInputs)) return outputs as ResourceSliceOutputs;
    const { pair: expected, name } = splitSliceId(id);
    const pair = await openPair(context, inputs, expected);
    await requireRights(context, changeRights(context, pair, inputs, { oldInputs, outputs }));
    return establish(context, pair, name, inputs);
  },
  async delete(context, { id, inputs }) {
    const { pair, name } = splitSliceId(id);
    await withdraw(context, await openDeparting(context, inputs, pair), name);
  },
});

type Needs = Parameters<typeof sliceRights>[1];

function needsOf(inputs: UnknowableProperties<Needs>): Needs {
  return { createVirtualNode: inputs.createVirtualNode === true, cordoned: inputs.cordoned === true };
}

/** Tells in a preview of a change which rights are missing. */
async function foreseeChange(
  context: CallContext,
  inputs: UnknowableProperties<ResourceSliceInputs>,
  old: Before,
): Promise<void> {
  if (onlyForceChanged(inputs, old.oldInputs)) return;
  const pair = await previewPair(context, inputs);
  if (pair) await foreseeRights(context, changeRights(context, pair, needsOf(inputs), old));
}

interface Before {
  oldInputs: ResourceSliceInputs;
  outputs: Partial<ResourceSliceOutputs>;
}

function changeRights({ signal }: CallContext, pair: Pair, needs: Needs, { oldInputs, outputs }: Before): NeededIn[] {
  // What was cordoned is let go on in the provider, too.
  const cordoned = needs.cordoned || oldInputs.cordoned;
  return rightsToChange(sliceRights(pair, { ...needs, cordoned }, signal), outputs.drift);
}

/** Whether what was granted answers what is asked for now. */
function asksForTheSame(inputs: UnknowableProperties<ResourceSliceInputs>, before: ResourceSliceInputs): boolean {
  const resources = known<ResourceSliceInputs["resources"]>(inputs.resources);
  return resources !== undefined && resourceListsEqual(resources, before.resources) && inputs.class === before.class;
}

async function establish(
  context: ChangeContext<ResourceSliceOutputs>,
  pair: Pair,
  name: string,
  inputs: ResourceSliceInputs,
): Promise<ResourceSliceOutputs> {
  const ids = { ...clusterIds(pair), sliceName: name };
  const { namespaces, ...negotiated } = await negotiate(context, pair, name, inputs, (tenantNamespaces) =>
    context.checkpoint(sliceId(pairId(pair), name), { ...ids, tenantNamespaces }),
  );
  // A slice that no longer asks for one leaves its virtual node behind otherwise.
  if (!inputs.createVirtualNode)
    await deleteVirtualNode(context, pair.consumer, { name, namespace: namespaces.consumer });
  return { ...ids, tenantNamespaces: namespaces, ...negotiated, drift: [] };
}
