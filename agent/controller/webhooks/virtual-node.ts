import type { Node } from "kubernetes-types/core/v1";
import { Labels, LabelValues, Names, VkOptionsTemplateResource } from "../../api/index.js";
import type { VirtualNode, VkOptionsTemplateSpec } from "../../api/index.js";
import { isDeleting, NodeResource } from "../../runtime/index.js";
import { lossesWithout, lossInformers, type LossInformers } from "../offloading/cluster-losses.js";
import {
  allow,
  deny,
  mutate,
  type AdmissionAnswer,
  type AdmissionHandler,
  type AdmissionRequest,
} from "./admission.js";
import type { PatchOperation } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { whenSynced } from "./when-synced.js";

/**
 * Fills in what the options template decides, so that it shows in the object. The Deployment is not put into the object: the
 * controller computes it at each pass, so that later changes of the template reach existing virtual nodes.
 */
export function virtualNodeMutator({ client, config }: WebhookContext): AdmissionHandler {
  return async (request) => {
    const { object } = request as AdmissionRequest<VirtualNode>;
    // Its end must not wait for a template that is gone.
    if (!object || isDeleting(object)) return allow();
    const reference = object.spec.vkOptionsTemplateRef;
    const name = reference?.name ?? Names.vkOptionsTemplate;
    const namespace = reference?.namespace ?? config.namespace;
    const template = await client.get(VkOptionsTemplateResource, { name, namespace });
    if (!template && reference?.name) {
      return deny(`spec.vkOptionsTemplateRef: there is no VkOptionsTemplate ${namespace}/${name}`);
    }
    return mutate(defaultsPatch(object, template?.spec));
  };
}

export function defaultsPatch({ spec }: VirtualNode, options: Partial<VkOptionsTemplateSpec> = {}): PatchOperation[] {
  const defaults = {
    createNode: options.createNode ?? true,
    disableNetworkCheck: options.disableNetworkCheck ?? false,
  };
  return Object.entries(defaults)
    .filter(([key]) => spec[key as keyof typeof defaults] === undefined)
    .map(([key, value]) => ({ op: "add", path: `/spec/${key}`, value }));
}

/** A virtual node is a Node of the same name: it must not clash with another one. Nor may it end where users' data would go with it. */
export function virtualNodeValidator({ client, informers }: WebhookContext): AdmissionHandler {
  const known = lossInformers(informers);
  return whenSynced(Object.values(known), async (request) => {
    const { object, oldObject, operation } = request as AdmissionRequest<VirtualNode>;
    if (operation === "DELETE" && oldObject) return isDeleting(oldObject) ? allow() : checkEnd(oldObject, known);
    if (!object || operation !== "CREATE") return allow();
    const node = await client.get(NodeResource, { name: object.metadata.name ?? "" });
    return checkNewVirtualNode(object, node, known.virtualNodes.list());
  });
}

function checkEnd(virtualNode: VirtualNode, known: LossInformers): AdmissionAnswer {
  const losses = lossesWithout([virtualNode], known);
  return losses.length === 0 ? allow() : deny(`virtual node ${virtualNode.metadata.name} stays: ${losses.join("; ")}`);
}

export function checkNewVirtualNode(
  { metadata, spec }: VirtualNode,
  node: Node | undefined,
  virtualNodes: readonly VirtualNode[],
): AdmissionAnswer {
  const { name, namespace } = metadata;
  const other = virtualNodes.find((vn) => vn.metadata.name === name && vn.metadata.namespace !== namespace);
  if (other) return deny(`a VirtualNode ${name} exists already in namespace ${other.metadata.namespace}`);
  const labels = node?.metadata?.labels ?? {};
  // A virtual Node of the same cluster is a leftover of this very virtual node, which takes it over.
  const isLeftover =
    labels[Labels.type] === LabelValues.virtualNodeType && labels[Labels.remoteClusterID] === spec.clusterID;
  return node && !isLeftover ? deny(`node ${name} already exists`) : allow();
}
