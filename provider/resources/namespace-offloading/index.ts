import { Names, NamespaceOffloadingResource } from "../../../agent/api/index.js";
import { isDeleting } from "../../../agent/runtime/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import { defineResource, known, type ChangeContext, type UnknowableProperties } from "../../framework/index.js";
import {
  foreseeRights,
  openCluster,
  openIfInstalled,
  previewCluster,
  readSingleImport,
  requireRights,
  rightsToChange,
  type Peer,
} from "../../preconditions/index.js";
import { repairDrift } from "../pair-properties.js";
import { offload, offloadedOf } from "./offload.js";
import { offloadingRights } from "./rights.js";
import {
  namespaceOffloadingInputs,
  namespaceOffloadingOutputs,
  type NamespaceOffloadingInputs,
  type NamespaceOffloadingOutputs,
} from "./schema.js";
import { settingsOf } from "./settings.js";
import { withdrawOffloading } from "./withdraw.js";

/** A namespace extended over virtual nodes. */
export const namespaceOffloading = defineResource({
  token: "liqo:index:NamespaceOffloading",
  description:
    "Extends a namespace to the providers: they get a namespace for it, and its new pods may run there. When it is deleted, pods come home first.\n\n" +
    "Import ID: `<consumer cluster ID>/<namespace>`, optionally followed by `@<context>`.",
  inputs: namespaceOffloadingInputs,
  outputs: namespaceOffloadingOutputs,
  replaceOn: ["namespace", "namespaceMappingStrategy", "remoteNamespaceName"],
  check(_context, inputs, failures) {
    const strategy = known(inputs.namespaceMappingStrategy);
    if (strategy === "SelectedName" && inputs.remoteNamespaceName === undefined) {
      failures.add("remoteNamespaceName", "is required for the namespaceMappingStrategy SelectedName");
    }
    if (strategy !== undefined && strategy !== "SelectedName" && inputs.remoteNamespaceName !== undefined) {
      failures.add("remoteNamespaceName", `is for the namespaceMappingStrategy SelectedName, not ${strategy}`);
    }
    return Promise.resolve();
  },
  diff: repairDrift,
  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<NamespaceOffloadingOutputs>>> {
    const consumer = await previewCluster(context, inputs.cluster);
    const namespace = known(inputs.namespace);
    if (!consumer || !namespace) return { drift: [] };
    const rights = offloadingRights(consumer, namespace, inputs.createNamespace === true);
    await foreseeRights(context, old ? rightsToChange(rights, old.outputs.drift) : rights);
    return { drift: [], ...(old ? {} : { consumerClusterId: consumer.clusterId }) };
  },
  async create(context, inputs) {
    const consumer = await openCluster(context, inputs);
    await requireRights(context, offloadingRights(consumer, inputs.namespace, inputs.createNamespace));
    const id = `${consumer.clusterId}/${inputs.namespace}`;
    return { id, outputs: await establish(context, consumer, id, inputs, inputs) };
  },
  async read(context, { id, inputs }) {
    const imported = inputs ? undefined : readSingleImport(id);
    const cluster = inputs ? inputs.cluster : imported?.cluster;
    const { clusterId, namespace } = splitId(imported?.id ?? id);
    const open = imported ? openCluster : openIfInstalled;
    const consumer = await open(context, { cluster }, clusterId);
    if (!consumer) return undefined;
    const found = await consumer.client.get(
      NamespaceOffloadingResource,
      { name: Names.namespaceOffloading, namespace },
      context.signal,
    );
    if (!found || isDeleting(found)) return undefined;
    const { spec } = found;
    const terms = spec.clusterSelector?.nodeSelectorTerms ?? [];
    const given = inputs ?? namespaceOffloadingInputs.parse({ namespace });
    const phase = found.status?.offloadingPhase ?? "InProgress";
    return {
      id: imported?.id ?? id,
      inputs: {
        ...given,
        ...(cluster ? { cluster } : {}),
        namespaceMappingStrategy: spec.namespaceMappingStrategy ?? "DefaultName",
        podOffloadingStrategy: spec.podOffloadingStrategy ?? "LocalAndRemote",
        ...settingsOf(found.metadata.annotations, inputs),
        ...(spec.remoteNamespaceName ? { remoteNamespaceName: spec.remoteNamespaceName } : {}),
        ...(given.clusterSelector || terms.length > 0
          ? {
              clusterSelector: {
                nodeSelectorTerms: terms as NonNullable<typeof given.clusterSelector>["nodeSelectorTerms"],
              },
            }
          : {}),
      },
      outputs: {
        consumerClusterId: consumer.clusterId,
        ...offloadedOf(found, phase),
        drift: [
          ...(phase === "Ready" || phase === "NoClusterSelected" ? [] : [`the offloading is ${phase}`]),
          ...deviationsOf(found, addObjectMetadata({}, given)),
        ],
      },
    };
  },
  async update(context, { id, inputs, oldInputs, outputs }) {
    const consumer = await openCluster(context, inputs, splitId(id).clusterId);
    const rights = offloadingRights(consumer, inputs.namespace, inputs.createNamespace);
    await requireRights(context, rightsToChange(rights, outputs.drift));
    return establish(context, consumer, id, inputs, oldInputs);
  },
  async delete(context, { id, inputs }) {
    const { clusterId, namespace } = splitId(id);
    const consumer = await openIfInstalled(context, inputs, clusterId);
    if (consumer) await withdrawOffloading(context, consumer, namespace, inputs.createNamespace);
  },
});

async function establish(
  context: ChangeContext<NamespaceOffloadingOutputs>,
  consumer: Peer,
  id: string,
  inputs: NamespaceOffloadingInputs,
  before: NamespaceOffloadingInputs,
): Promise<NamespaceOffloadingOutputs> {
  const consumerClusterId = consumer.clusterId;
  const offloaded = await offload(context, consumer, inputs, before, () =>
    context.checkpoint(id, { consumerClusterId }),
  );
  return { consumerClusterId, ...offloaded, drift: [] };
}

function splitId(id: string): { clusterId: string; namespace: string } {
  const [clusterId, namespace, ...rest] = id.split("/");
  if (clusterId && namespace && rest.length === 0) return { clusterId, namespace };
  throw new Error(`"${id}" is not an ID of the form <consumer cluster ID>/<namespace>`);
}
