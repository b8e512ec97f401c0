import {
  GeneveTunnelResource,
  InternalFabricResource,
  InternalNodeResource,
  Labels,
  geneveTunnelName,
  type GeneveTunnel,
  type InternalFabric,
  type InternalNode,
} from "../../../api/index.js";
import { Controller, isDeleting, keyOf, nonBlockingOwnerReference } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import type { Lock } from "../../../runtime/lock.js";

const MAX_ID = 2 ** 24 - 2;

/**
 * Keeps a GeneveTunnel, which carries the virtual network identifier, for each pair of InternalFabric and InternalNode (network
 * specification, §8). The encapsulation is VXLAN; the kind keeps Liqo's name. Owned by the InternalFabric.
 */
export function tunnelController(context: ControllerContext, lock: Lock): Controller {
  const { client, informers, logger } = context;
  const fabrics = informers.for(InternalFabricResource);
  const nodes = informers.for(InternalNodeResource);
  const tunnels = informers.for(GeneveTunnelResource);
  const controller = new Controller({
    name: "geneve-tunnel",
    workers: 1,
    logger,
    reconcile: async (key) => {
      const fabric = fabrics.get(key);
      if (!fabric || isDeleting(fabric)) return;
      const { name = "", namespace = "" } = fabric.metadata;
      const wanted = new Map(
        nodes
          .list()
          .filter((node) => !isDeleting(node))
          .map((node) => [geneveTunnelName(name, node.metadata.name ?? ""), node]),
      );
      const present = tunnels.inNamespace(namespace).filter(({ spec }) => spec.internalFabricRef.name === name);
      for (const { metadata } of present) {
        if (!wanted.has(metadata.name ?? ""))
          await client.delete(GeneveTunnelResource, { name: metadata.name ?? "", namespace });
        else wanted.delete(metadata.name ?? "");
      }
      if (wanted.size > 0) await lock.run(() => create(fabric, [...wanted.values()]));
    },
  });
  controller.watch(fabrics);
  controller.watch(nodes, () => fabrics.list().map(keyOf));
  controller.watch(tunnels, ({ metadata, spec }) => [
    keyOf({ metadata: { namespace: metadata.namespace, name: spec.internalFabricRef.name } }),
  ]);
  return controller;

  async function create(fabric: InternalFabric, missing: InternalNode[]): Promise<void> {
    const { items } = await client.list(GeneveTunnelResource);
    const taken = new Set(items.map(({ spec }) => spec.id));
    const there = new Set(items.map(keyOf));
    for (const node of missing) {
      const id = nextFree(taken);
      taken.add(id);
      const tunnel = tunnelOf(fabric, node, id);
      if (!there.has(keyOf(tunnel))) tunnels.observe(await client.create(GeneveTunnelResource, tunnel));
    }
  }
}

function nextFree(taken: ReadonlySet<number>): number {
  let id = 1;
  while (taken.has(id)) id += 1;
  if (id > MAX_ID) throw new Error(`all ${MAX_ID} virtual network identifiers are in use`);
  return id;
}

function tunnelOf(fabric: InternalFabric, node: InternalNode, id: number): GeneveTunnel {
  const [fabricName = "", nodeName = ""] = [fabric.metadata.name, node.metadata.name];
  const reference = (type: { apiVersion: string; kind: string }, { metadata }: InternalFabric | InternalNode) => ({
    apiVersion: type.apiVersion,
    kind: type.kind,
    name: metadata.name,
    ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
  });
  return GeneveTunnelResource.build({
    metadata: {
      name: geneveTunnelName(fabricName, nodeName),
      namespace: fabric.metadata.namespace,
      labels: { [Labels.internalFabricName]: fabricName, [Labels.internalNodeName]: nodeName },
      ownerReferences: [nonBlockingOwnerReference(InternalFabricResource, fabric)],
    },
    spec: {
      id,
      internalFabricRef: reference(InternalFabricResource, fabric),
      internalNodeRef: reference(InternalNodeResource, node),
    },
  });
}
