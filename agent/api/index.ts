/**
 * The contract between clusters: the kinds of custom resources with their types, and the names, labels and arithmetic that all parts
 * share. Nothing here talks to a cluster or keeps state. Schemas, from which types, validation and CRDs derive, are imported from their own
 * files by whoever validates or installs: they cost megabytes that the agent's processes need not have.
 */
export * from "./address-mapping.js";
export * from "./annotations.js";
export type * from "./authentication.js";
export * from "./cidr.js";
export * from "./cluster-id.js";
export * from "./connection-status.js";
export type * from "./core.js";
export * from "./finalizers.js";
export * from "./grace-period.js";
export * from "./groups.js";
export type * from "./ipam.js";
export * from "./kind.js";
export * from "./kinds.js";
export type * from "./label-selector.js";
export * from "./labels.js";
export * from "./lent-address.js";
export * from "./names.js";
export type * from "./networking.js";
export * from "./normalize-cidrs.js";
export type * from "./offloading.js";
export type * from "./offloading-policy.js";
export * from "./peer-configuration.js";
export * from "./pod-reasons.js";
export * from "./quantity.js";
export * from "./resource-list.js";
export * from "./server-endpoint.js";
export type { LocalReference, ObjectReference, Quantities, StandardCondition } from "./schema.js";
