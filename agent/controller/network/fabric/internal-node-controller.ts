import type { Node } from "kubernetes-types/core/v1";
import { InternalNodeResource, NetworkResource, type InternalNode } from "../../../api/index.js";
import {
  Controller,
  NodeResource,
  insideAddresses,
  isDeleting,
  keyOf,
  nonBlockingOwnerReference,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import type { Lock } from "../../../runtime/lock.js";
import { physicalNodes } from "../nodes.js";
import { freeLinkAddress } from "./link-addresses.js";
import { newInterfaceName } from "./interface-name.js";

/**
 * Keeps an InternalNode for each node that is not virtual (network specification, §8): its links' name in gateways, its address on
 * them, and where gateways reach it. Watches Nodes and InternalNodes; the latter go with their nodes.
 */
export function internalNodeController(context: ControllerContext, lock: Lock): Controller {
  const { client, informers, logger } = context;
  const nodes = physicalNodes(context);
  const internalNodes = informers.for(InternalNodeResource);
  const controller = new Controller({
    name: "internal-node",
    workers: 1,
    logger,
    reconcile: async (name) => {
      const node = nodes.get(name);
      const present = internalNodes.get(name);
      if (!node || isDeleting(node)) {
        if (present && !isDeleting(present)) await client.delete(InternalNodeResource, { name });
        return;
      }
      const internalNode = present ?? (await lock.run(() => create(context, node)));
      if (internalNode) await writeStatus(node, internalNode);
    },
  });
  controller.watch(nodes, function* (node, event) {
    const isNews = event.type !== "updated" || insideAddresses(event.old)[0] !== insideAddresses(event.object)[0];
    if (isNews) yield keyOf(node);
  });
  controller.watch(internalNodes);
  controller.watch(informers.for(NetworkResource), () =>
    nodes
      .list()
      .map(keyOf)
      .filter((name) => !internalNodes.get(name)),
  );
  return controller;

  async function writeStatus(node: Node, internalNode: InternalNode): Promise<void> {
    const [address] = insideAddresses(node);
    const { local, remote } = internalNode.status?.nodeIP ?? {};
    if (!address || (local === address && remote === address)) return;
    // The encapsulation does not mind from which of its addresses a node sends: this one is reachable from everywhere.
    const status = { ...internalNode.status, nodeIP: { local: address, remote: address } };
    internalNodes.observe(await client.replaceStatus(InternalNodeResource, { ...internalNode, status }));
  }
}

async function create(context: ControllerContext, node: Node): Promise<InternalNode | undefined> {
  const { client, informers } = context;
  const name = node.metadata?.name ?? "";
  const present = await client.get(InternalNodeResource, { name });
  if (present) return present;
  const ip = await freeLinkAddress(context);
  if (!ip) return undefined;
  const internalNode = await client.create(
    InternalNodeResource,
    InternalNodeResource.build({
      metadata: { name, ownerReferences: [nonBlockingOwnerReference(NodeResource, node)] },
      spec: { interface: { gateway: { name: newInterfaceName() }, node: { ip } } },
    }),
  );
  informers.for(InternalNodeResource).observe(internalNode);
  return internalNode;
}
