import {
  type ResourceSlice,
  type ResourceSliceCondition,
  type ResourceSliceConditionType,
  type ResourceSliceStatus,
  type StorageClassOffer,
  type Tenant,
} from "../../api/index.js";
import { findCondition, kubeTime } from "../../runtime/index.js";
import type { Node } from "kubernetes-types/core/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import { isDefaultClass, isVirtualClass } from "../../storage/virtual-claim.js";
import type { ControllerConfig } from "../context.js";
import { architectureLabels } from "./own-architecture.js";

/** What of the cluster itself an answer goes by. */
export interface OwnCluster {
  storageClasses: StorageClass[];
  nodes: Node[];
}

export interface ConditionValue {
  type: ResourceSliceConditionType;
  accepted: boolean;
  message: string;
}

/** The status with the condition set; lastTransitionTime moves when anything of it changes (control plane specification, §6). */
export function withSliceCondition(status: ResourceSliceStatus, value: ConditionValue): ResourceSliceStatus {
  const state = value.accepted ? "Accepted" : "Denied";
  const condition: ResourceSliceCondition = {
    type: value.type,
    status: state,
    reason: `ResourceSlice${value.type}${state}`,
    message: value.message,
  };
  const old = findCondition(status.conditions, value.type);
  const unchanged = old?.status === state && old.reason === condition.reason && old.message === condition.message;
  const next = { ...condition, lastTransitionTime: unchanged ? old.lastTransitionTime : kubeTime() };
  const others = status.conditions?.filter(({ type }) => type !== value.type) ?? [];
  // A stable order, whichever condition was set first.
  return { ...status, conditions: [...others, next].sort((a, b) => a.type.localeCompare(b.type)) };
}

/**
 * What the built-in class answers to a slice's request, by the Tenant's condition (control plane specification, §6.3). Slices of other
 * classes are answered by their class's controller, unless the Tenant takes no new ones; so are those of the built-in class where it is switched off.
 */
export function answerResources(
  status: ResourceSliceStatus,
  slice: ResourceSlice,
  tenant: Tenant,
  config: ControllerConfig,
  cluster: OwnCluster,
): ResourceSliceStatus {
  const denied = (message: string): ResourceSliceStatus =>
    withSliceCondition(status, { type: "Resources", accepted: false, message });
  switch (tenant.spec.tenantCondition) {
    case "Drained":
      return denied("the tenant is drained");
    case "Cordoned":
      return findCondition(status.conditions, "Resources")
        ? status
        : denied("the tenant is cordoned: no new slice is accepted");
    case "Active":
    case undefined:
      return config.defaultSliceClassEnabled && isBuiltInClass(slice) ? grant(status, slice, config, cluster) : status;
  }
}

function isBuiltInClass({ spec }: ResourceSlice): boolean {
  return spec.class === undefined || spec.class === "" || spec.class === "default";
}

/** Everything asked for, and the defaults for what was not. */
function grant(
  status: ResourceSliceStatus,
  { spec }: ResourceSlice,
  config: ControllerConfig,
  { storageClasses, nodes }: OwnCluster,
): ResourceSliceStatus {
  const granted: ResourceSliceStatus = {
    ...status,
    resources: { ...config.defaultSliceResources, ...spec.resources },
    storageClasses: offerStorageClasses(config, storageClasses),
    ingressClasses: offers(config.ingressClasses).map(({ name, isDefault }) => ({
      ingressClassName: name,
      ...(isDefault ? { default: true } : {}),
    })),
    loadBalancerClasses: offers(config.loadBalancerClasses).map(({ name, isDefault }) => ({
      loadBalancerClassName: name,
      ...(isDefault ? { default: true } : {}),
    })),
    // The administrator's word comes last.
    nodeLabels: { ...architectureLabels(nodes), ...config.clusterLabels },
  };
  return withSliceCondition(granted, {
    type: "Resources",
    accepted: true,
    message: "ResourceSlice resources accepted",
  });
}

function offerStorageClasses(config: ControllerConfig, classes: StorageClass[]): StorageClassOffer[] {
  if (!config.storageEnabled) return [];
  const isDefault = (storageClass: StorageClass): boolean =>
    config.realStorageClass ? storageClass.metadata?.name === config.realStorageClass : isDefaultClass(storageClass);
  return classes
    .filter((storageClass) => !isVirtualClass(storageClass))
    .map((storageClass) => ({
      storageClassName: storageClass.metadata?.name ?? "",
      ...(isDefault(storageClass) ? { default: true } : {}),
    }))
    .sort((a, b) => (a.storageClassName < b.storageClassName ? -1 : 1));
}

/** "nginx;default" marks the default; unmarked, the first is it. */
function offers(words: readonly string[]): { name: string; isDefault: boolean }[] {
  const parsed = words.map((word) => {
    const [name = "", ...flags] = word.split(";");
    return { name, isDefault: flags.includes("default") };
  });
  const marked = parsed.some(({ isDefault }) => isDefault);
  return parsed.map((offer, index) => ({ ...offer, isDefault: marked ? offer.isDefault : index === 0 }));
}
