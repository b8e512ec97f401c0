import { z } from "zod";
import { AGE, column } from "./columns.js";
import { defineResource, type ObjectOf } from "./definition.js";
import { NETWORKING } from "./groups.js";
import { cidr, int32, int64, ipv4, object, objectReference } from "./schema.js";

const internalFabricSpec = object({
  mtu: int64.optional(),
  /** The remote cluster's ranges as this cluster knows them. */
  remoteCIDRs: z.array(cidr).optional(),
  /** Of the active gateway pod. */
  gatewayIP: ipv4,
  interface: object({ node: object({ name: z.string() }), gateway: object({ ip: ipv4 }) }),
});

export const InternalFabricResource = defineResource({
  ...NETWORKING,
  kind: "InternalFabric",
  plural: "internalfabrics",
  shortNames: ["if", "ifabric"],
  namespaced: true,
  specRequired: true,
  spec: internalFabricSpec,
  columns: [column("GATEWAY IP", ".spec.gatewayIP"), AGE],
});

const internalNodeSpec = object({
  interface: object({ gateway: object({ name: z.string() }), node: object({ ip: ipv4 }) }),
});

/** The source addresses that the node uses towards a gateway pod on itself, and elsewhere. */
const internalNodeStatus = object({
  nodeIP: object({ local: ipv4.optional(), remote: ipv4.optional() }).optional(),
});

export const InternalNodeResource = defineResource({
  ...NETWORKING,
  kind: "InternalNode",
  plural: "internalnodes",
  shortNames: ["in", "inode"],
  namespaced: false,
  specRequired: true,
  spec: internalNodeSpec,
  status: internalNodeStatus,
  columns: [column("NODE IP LOCAL", ".status.nodeIP.local"), column("NODE IP REMOTE", ".status.nodeIP.remote"), AGE],
});

const geneveTunnelSpec = object({
  /** The virtual network identifier, unique in the cluster. */
  id: int32,
  internalFabricRef: objectReference,
  internalNodeRef: objectReference,
});

export const GeneveTunnelResource = defineResource({
  ...NETWORKING,
  kind: "GeneveTunnel",
  plural: "genevetunnels",
  shortNames: ["gvtn"],
  namespaced: true,
  specRequired: true,
  spec: geneveTunnelSpec,
  columns: [AGE],
});

export type InternalFabric = ObjectOf<typeof InternalFabricResource>;
export type InternalFabricSpec = z.infer<typeof internalFabricSpec>;
export type InternalNode = ObjectOf<typeof InternalNodeResource>;
export type InternalNodeSpec = z.infer<typeof internalNodeSpec>;
export type InternalNodeStatus = z.infer<typeof internalNodeStatus>;
export type GeneveTunnel = ObjectOf<typeof GeneveTunnelResource>;
export type GeneveTunnelSpec = z.infer<typeof geneveTunnelSpec>;
