import { z } from "zod";
import { AGE, column } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { InternalFabricResource, InternalNodeResource, GeneveTunnelResource } from "./kinds.js";
import { cidr, int32, int64, ipv4, object, objectReference } from "./schema.js";

const internalFabricSpec = object({
  mtu: int64.optional(),
  /** The remote cluster's ranges as this cluster knows them. */
  remoteCIDRs: z.array(cidr).optional(),
  /** Of the active gateway pod. */
  gatewayIP: ipv4,
  interface: object({ node: object({ name: z.string() }), gateway: object({ ip: ipv4 }) }),
});

export const InternalFabricDefinition = defineResource(InternalFabricResource, {
  shortNames: ["if", "ifabric"],
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
  /** All that the node has, as its fabric tells: by one of them it sends to gateways, whatever the CNI makes of it. None where it cannot be told. */
  addresses: z.array(ipv4).optional(),
});

export const InternalNodeDefinition = defineResource(InternalNodeResource, {
  shortNames: ["in", "inode"],
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

export const GeneveTunnelDefinition = defineResource(GeneveTunnelResource, {
  shortNames: ["gvtn"],
  specRequired: true,
  spec: geneveTunnelSpec,
  columns: [AGE],
});

export type InternalFabric = CustomObject<InternalFabricSpec>;
export type InternalFabricSpec = z.infer<typeof internalFabricSpec>;
export type InternalNode = CustomObject<InternalNodeSpec, InternalNodeStatus>;
export type InternalNodeSpec = z.infer<typeof internalNodeSpec>;
export type InternalNodeStatus = z.infer<typeof internalNodeStatus>;
export type GeneveTunnel = CustomObject<GeneveTunnelSpec>;
export type GeneveTunnelSpec = z.infer<typeof geneveTunnelSpec>;
