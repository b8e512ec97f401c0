/**
 * The contract between clusters: one definition per custom resource, from which type, validation and CRD derive, and the
 * names, labels and arithmetic that all parts share. Nothing here talks to a cluster or keeps state.
 */
export * from "./address-mapping.js";
export * from "./annotations.js";
export * from "./authentication.js";
export * from "./cidr.js";
export * from "./cluster-id.js";
export * from "./core.js";
export * from "./crd.js";
export * from "./definition.js";
export * from "./finalizers.js";
export * from "./groups.js";
export * from "./ipam.js";
export * from "./labels.js";
export * from "./names.js";
export * from "./networking.js";
export * from "./normalize-cidrs.js";
export * from "./offloading.js";
export * from "./peer-configuration.js";
export * from "./quantity.js";
export * from "./resource-list.js";
export type { LocalReference, ObjectReference, Quantities, StandardCondition } from "./schema.js";
