import { defineResource, known, type UnknowableProperties } from "../../framework/index.js";
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
import { deleteVirtualNode } from "../resource-slice/withdraw.js";
import { sliceId, splitSliceId } from "../resource-slice/id.js";
import { expectedNamespace, findTenantNamespace } from "../tenant-namespace/index.js";
import { inspectVirtualNode } from "./inspect.js";
import { virtualNodeRights } from "./rights.js";
import { virtualNodeInputs, virtualNodeOutputs, type VirtualNodeInputs, type VirtualNodeOutputs } from "./schema.js";
import { establishVirtualNode } from "./virtual-node.js";

/** A further virtual node. */
export const virtualNode = defineResource({
  token: "liqo:index:VirtualNode",
  description:
    "A further virtual node for a provider, beside those that ResourceSlices make by themselves: with its own capacity, labels, or choice of the " +
    "provider's nodes.\n\nImport ID: `<consumer cluster ID>/<provider cluster ID>/<name>`, optionally followed by `@<context>`.",
  inputs: virtualNodeInputs,
  outputs: virtualNodeOutputs,
  replaceOn: ["name", "providerClusterId"],
  check(_context, inputs, failures) {
    const given = [inputs.resourceSliceName, inputs.kubeconfigSecretName].filter((value) => value !== undefined);
    if (given.length !== 1) {
      failures.add("resourceSliceName", "either this or kubeconfigSecretName must be set, and not both");
    }
    return Promise.resolve();
  },
  diff: repairDrift,
  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<VirtualNodeOutputs>>> {
    const name = known(inputs.name);
    const consumer = await previewCluster(context, inputs.cluster);
    const providerClusterId = known(inputs.providerClusterId);
    if (consumer && providerClusterId) {
      const namespace = await expectedNamespace(consumer.client, providerClusterId, context.signal);
      const rights = virtualNodeRights(consumer, namespace);
      await foreseeRights(context, old ? rightsToChange(rights, old.outputs.drift) : rights);
    }
    if (old) return { drift: [] };
    return { drift: [], ...(name && inputs.createNode === true ? { nodeName: name } : {}) };
  },
  async create(context, inputs) {
    const consumer = await openCluster(context, inputs);
    const id = idOf(consumer, inputs);
    const tenant = await expectedNamespace(consumer.client, inputs.providerClusterId, context.signal);
    await requireRights(context, virtualNodeRights(consumer, tenant));
    const outputs = outputsOf(consumer, inputs);
    const tenantNamespace = await establishVirtualNode(context, consumer, inputs, (namespace) =>
      context.checkpoint(id, { ...outputs, tenantNamespace: namespace }),
    );
    return { id, outputs: { ...outputs, tenantNamespace } };
  },
  async read(context, { id, inputs }) {
    const imported = inputs ? undefined : readSingleImport(id);
    const { consumerClusterId, providerClusterId, name } = splitId(imported?.id ?? id);
    const cluster = inputs ? inputs.cluster : imported?.cluster;
    const open = imported ? openCluster : openIfInstalled;
    const consumer = await open(context, { cluster }, consumerClusterId);
    if (!consumer) return undefined;
    const found = await inspectVirtualNode(consumer, { providerClusterId, name }, inputs, context.signal);
    if (!found) return undefined;
    return { id: imported?.id ?? id, ...found, inputs: { ...found.inputs, ...(cluster ? { cluster } : {}) } };
  },
  async update(context, { id, inputs, outputs: { drift } }) {
    const consumer = await openCluster(context, inputs, splitId(id).consumerClusterId);
    const tenant = await expectedNamespace(consumer.client, inputs.providerClusterId, context.signal);
    await requireRights(context, rightsToChange(virtualNodeRights(consumer, tenant), drift));
    const outputs = outputsOf(consumer, inputs);
    const tenantNamespace = await establishVirtualNode(context, consumer, inputs, (namespace) =>
      context.checkpoint(id, { ...outputs, tenantNamespace: namespace }),
    );
    return { ...outputs, tenantNamespace };
  },
  async delete(context, { id, inputs }) {
    const { consumerClusterId, providerClusterId, name } = splitId(id);
    const consumer = await openIfInstalled(context, inputs, consumerClusterId);
    const namespace =
      consumer && (await findTenantNamespace(consumer.client, providerClusterId, context.signal))?.metadata?.name;
    if (consumer && namespace) await deleteVirtualNode(context, consumer, { name, namespace });
  },
});

function idOf(consumer: Peer, { providerClusterId, name }: VirtualNodeInputs): string {
  return sliceId(`${consumer.clusterId}/${providerClusterId}`, name);
}

function splitId(id: string): { consumerClusterId: string; providerClusterId: string; name: string } {
  const { pair, name } = splitSliceId(id);
  const [consumerClusterId = "", providerClusterId = ""] = pair.split("/");
  return { consumerClusterId, providerClusterId, name };
}

function outputsOf(
  consumer: Peer,
  { createNode, name }: VirtualNodeInputs,
): Omit<VirtualNodeOutputs, "tenantNamespace"> {
  return { consumerClusterId: consumer.clusterId, ...(createNode ? { nodeName: name } : {}), drift: [] };
}
