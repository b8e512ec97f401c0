import type { ServiceSpec } from "kubernetes-types/core/v1";
import { z } from "zod";
import { AGE, column } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { NetworkResource, IPResource } from "./kinds.js";
import { IPV4_CIDR_PATTERN } from "./cidr.js";
import { cidr, embedded, embeddedMetadata, int64, ipv4, object, objectReference, standardCondition } from "./schema.js";
import { immutable, listMap, withHint } from "./schema-hints.js";

const networkSpec = object({
  cidr: immutable(withHint(cidr, { pattern: IPV4_CIDR_PATTERN }), "CIDR field is immutable"),
  /** How many addresses are taken beforehand, the network address being the first. */
  preAllocated: immutable(int64.min(0), "PreAllocated field is immutable").optional(),
});

const networkStatus = object({
  cidr: cidr.optional(),
  /** `Allocated`: whether the Network has a range, and why not. */
  conditions: listMap(z.array(standardCondition), "type").optional(),
});

export const NetworkDefinition = defineResource(NetworkResource, {
  shortNames: ["net"],
  specRequired: true,
  spec: networkSpec,
  status: networkStatus,
  columns: [column("DESIRED CIDR", ".spec.cidr"), column("REMAPPED CIDR", ".status.cidr"), AGE],
});

const ipSpec = object({
  ip: immutable(ipv4, "IP field is immutable"),
  /** The Network to borrow from. Default: the external one. */
  networkRef: objectReference.optional(),
  /** Whether nodes masquerade towards the address. */
  masquerade: z.boolean().optional(),
  /** Makes a Service and its EndpointSlice. */
  serviceTemplate: object({
    metadata: embeddedMetadata.optional(),
    spec: embedded<ServiceSpec>().optional(),
  }).optional(),
});

const ipStatus = object({
  ip: immutable(ipv4, "IP field is immutable").optional(),
  cidr: immutable(cidr, "CIDR field is immutable").optional(),
});

export const IPDefinition = defineResource(IPResource, {
  specRequired: true,
  spec: ipSpec,
  status: ipStatus,
  columns: [
    column("LOCAL IP", ".spec.ip"),
    column("REMAPPED IP", ".status.ip"),
    column("REMAPPED IP CIDR", ".status.cidr"),
    AGE,
  ],
});

export type Network = CustomObject<NetworkSpec, NetworkStatus>;
export type NetworkSpec = z.infer<typeof networkSpec>;
export type NetworkStatus = z.infer<typeof networkStatus>;
export type IP = CustomObject<IPSpec, IPStatus>;
export type IPSpec = z.infer<typeof ipSpec>;
export type IPStatus = z.infer<typeof ipStatus>;
