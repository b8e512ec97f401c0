import type { DeploymentSpec } from "kubernetes-types/apps/v1";
import type {
  LocalObjectReference,
  NodeAffinity,
  NodeSelectorTerm,
  PodSpec,
  ResourceRequirements,
  ScopeSelector,
  Taint,
  Toleration,
} from "kubernetes-types/core/v1";
import type { Endpoint, EndpointPort } from "kubernetes-types/discovery/v1";
import { z } from "zod";
import { ingressClassSchema, loadBalancerClassSchema, storageClassSchema } from "./authentication.js";
import { AGE, column, conditionPath, wideColumn } from "./columns.js";
import { REFLECTABLE_GROUP_MESSAGE, customResourceName, isReflectableGroup } from "./custom-resource.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { labelSelector } from "./label-selector.js";
import {
  NamespaceMapResource,
  NamespaceOffloadingResource,
  QuotaResource,
  ShadowPodResource,
  ShadowEndpointSliceResource,
  VirtualNodeResource,
  VkOptionsTemplateResource,
} from "./kinds.js";
import {
  clusterID,
  dateTime,
  embedded,
  embeddedMetadata,
  int32,
  int64,
  localReference,
  object,
  objectReference,
  quantities,
  stringMap,
} from "./schema.js";
import { listMap, withDefault, withHint, withRequiredDefault, withRules } from "./schema-hints.js";

const namespaceMapPhase = z.enum(["Accepted", "CreationLoopBackOff", "Terminating"]);

/** Both maps: by local namespace. */
const namespaceMapSpec = object({ desiredMapping: stringMap.optional() });
const namespaceMapStatus = object({
  currentMapping: z
    .record(z.string(), object({ remoteNamespace: z.string().optional(), phase: namespaceMapPhase.optional() }))
    .optional(),
});

export const NamespaceMapDefinition = defineResource(NamespaceMapResource, {
  shortNames: ["nm", "nsmap"],
  spec: namespaceMapSpec,
  status: namespaceMapStatus,
  columns: [column("LOCAL", ".metadata.labels.liqo\\.io/replication"), AGE],
});

export const namespaceMappingStrategy = z.enum(["EnforceSameName", "DefaultName", "SelectedName"]);
const podOffloadingStrategy = z.enum(["Local", "Remote", "LocalAndRemote"]);
const offloadingPhase = z.enum(["Ready", "NoClusterSelected", "InProgress", "SomeFailed", "AllFailed", "Terminating"]);

export const namespaceOffloadingSpec = object({
  namespaceMappingStrategy: withDefault(namespaceMappingStrategy, "DefaultName"),
  remoteNamespaceName: z.string().optional(),
  podOffloadingStrategy: withDefault(podOffloadingStrategy, "LocalAndRemote"),
  /** No terms: all clusters. */
  clusterSelector: object({ nodeSelectorTerms: z.array(embedded<NodeSelectorTerm>()) }).optional(),
});

const remoteNamespaceCondition = object({
  type: z.enum(["OffloadingRequired", "Ready"]),
  status: z.enum(["True", "False", "Unknown"]),
  lastTransitionTime: dateTime.optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const namespaceOffloadingStatus = object({
  remoteNamespaceName: z.string().optional(),
  offloadingPhase: offloadingPhase.optional(),
  /** By cluster ID. */
  remoteNamespacesConditions: z.record(z.string(), z.array(remoteNamespaceCondition)).optional(),
  observedGeneration: int64.optional(),
});

export const NamespaceOffloadingDefinition = defineResource(NamespaceOffloadingResource, {
  shortNames: ["nso", "nsof", "nsoff", "nsoffloading"],
  specRequired: true,
  spec: namespaceOffloadingSpec,
  status: namespaceOffloadingStatus,
  columns: [
    column("NAMESPACEMAPPINGSTRATEGY", ".spec.namespaceMappingStrategy"),
    column("PODOFFLOADINGSTRATEGY", ".spec.podOffloadingStrategy"),
    column("OFFLOADINGPHASE", ".status.offloadingPhase"),
    wideColumn("REMOTENAMESPACENAME", ".status.remoteNamespaceName"),
    AGE,
  ],
});

const limitsEnforcement = z.enum(["Hard", "Soft", "None"]);

const quotaSpec = object({
  user: z.string().min(1),
  limitsEnforcement: limitsEnforcement.optional(),
  resources: quantities,
  cordoned: z.boolean().optional(),
});

export const QuotaDefinition = defineResource(QuotaResource, {
  shortNames: ["qt"],
  specRequired: true,
  spec: quotaSpec,
  columns: [
    column("ENFORCEMENT", ".spec.limitsEnforcement"),
    column("CORDONED", ".spec.cordoned", "boolean"),
    AGE,
    wideColumn("USER", ".spec.user"),
  ],
});

const podPhase = z.enum(["Pending", "Running", "Succeeded", "Failed", "Unknown"]);
const shadowPodSpec = object({ pod: embedded<PodSpec>().optional() });
const shadowPodStatus = object({
  phase: withDefault(podPhase, "Unknown"),
  /** Why there is no pod, while there is none. */
  reason: z.string().optional(),
  message: z.string().optional(),
});

export const ShadowPodDefinition = defineResource(ShadowPodResource, {
  shortNames: ["shp", "shpod"],
  spec: shadowPodSpec,
  status: shadowPodStatus,
  columns: [column("STATUS", ".status.phase"), AGE],
});

const shadowEndpointSliceSpec = object({
  template: object({
    addressType: z.string().optional(),
    endpoints: z.array(embedded<Endpoint>()).optional(),
    ports: z.array(embedded<EndpointPort>()).optional(),
  }).optional(),
});

export const ShadowEndpointSliceDefinition = defineResource(ShadowEndpointSliceResource, {
  shortNames: ["shes", "sheps", "seps"],
  spec: shadowEndpointSliceSpec,
  columns: [AGE],
});

const offloadingPatch = object({
  annotationsNotReflected: z.array(z.string()).optional(),
  labelsNotReflected: z.array(z.string()).optional(),
  nodeSelector: stringMap.optional(),
  tolerations: z.array(embedded<Toleration>()).optional(),
  affinity: object({ nodeAffinity: embedded<NodeAffinity>().optional() }).optional(),
  runtimeClassName: z.string().optional(),
});

const virtualNodeSpec = object({
  clusterID: clusterID.optional(),
  /** The Deployment of the virtual node's process, filled in at admission. */
  template: object({
    metadata: embeddedMetadata.optional(),
    spec: embedded<DeploymentSpec>().optional(),
  }).optional(),
  offloadingPatch: offloadingPatch.optional(),
  createNode: z.boolean().optional(),
  disableNetworkCheck: z.boolean().optional(),
  kubeconfigSecretRef: localReference.optional(),
  images: z.array(object({ names: z.array(z.string()).optional(), sizeBytes: int64.optional() })).optional(),
  /** A core ResourceQuotaSpec: `hard` is the node's capacity. */
  resourceQuota: object({
    hard: quantities.optional(),
    scopes: z.array(z.string()).optional(),
    scopeSelector: embedded<ScopeSelector>().optional(),
  }).optional(),
  labels: stringMap.optional(),
  annotations: stringMap.optional(),
  taints: z.array(embedded<Taint>()).optional(),
  storageClasses: z.array(storageClassSchema).optional(),
  ingressClasses: z.array(ingressClassSchema).optional(),
  loadBalancerClasses: z.array(loadBalancerClassSchema).optional(),
  vkOptionsTemplateRef: objectReference.optional(),
});

const virtualNodeConditionType = z.enum(["VirtualKubelet", "Node"]);
const virtualNodeConditionStatus = z.enum(["None", "Running", "Creating", "Draining", "Deleting"]);

const virtualNodeCondition = object({
  type: virtualNodeConditionType,
  status: withRequiredDefault(virtualNodeConditionStatus, "None"),
  lastTransitionTime: dateTime.optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const virtualNodeStatus = object({ conditions: z.array(virtualNodeCondition).optional() });

export const VirtualNodeDefinition = defineResource(VirtualNodeResource, {
  shortNames: ["vn", "vnode", "virno", "vno"],
  spec: virtualNodeSpec,
  status: virtualNodeStatus,
  columns: [
    column("CLUSTERID", ".spec.clusterID"),
    column("CREATE NODE", ".spec.createNode", "boolean"),
    AGE,
    wideColumn("NODE", conditionPath("Node")),
    wideColumn("VIRTUALKUBELET", conditionPath("VirtualKubelet")),
  ],
});

const reflectionType = z.enum(["DenyList", "AllowList", "CustomLiqo"]);

/** Kinds of which a part may be reflected. EndpointSlices follow their Services; what else there is follows its pods. */
const SELECTABLE = ["service", "ingress", "configmap", "secret"];
const SELECTABLE_MESSAGE = `a selector is for ${SELECTABLE.join(", ")} only`;

const reflectorConfig = object({
  workers: int64.min(0),
  type: reflectionType.optional(),
  /** Which objects of the kind are reflected at all, by their labels. */
  selector: labelSelector.optional(),
});

const reflectorsConfig = withHint(
  withRules(
    z.record(z.string(), reflectorConfig).superRefine((kinds, context) => {
      for (const [kind, { selector }] of Object.entries(kinds)) {
        if (selector === undefined || SELECTABLE.includes(kind)) continue;
        context.addIssue({ code: "custom", path: [kind, "selector"], message: SELECTABLE_MESSAGE });
      }
    }),
    {
      rule: `self.all(kind, kind in [${SELECTABLE.map((kind) => `'${kind}'`).join(", ")}] || !has(self[kind].selector))`,
      message: SELECTABLE_MESSAGE,
    },
  ),
  // More than there are kinds: the API server wants to know how long checking may take.
  { maxProperties: 16 },
);

/** A custom resource that is reflected because this cluster's administrator, and the provider's, want it. */
const reflectedResource = object({
  group: withRules(
    withHint(z.string().refine(isReflectableGroup, REFLECTABLE_GROUP_MESSAGE), {
      maxLength: 253,
      pattern: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
    }),
    {
      rule: "self.contains('.') && !self.endsWith('.k8s.io') && !self.endsWith('.liqo.io') && !(self in ['k8s.io', 'liqo.io'])",
      message: REFLECTABLE_GROUP_MESSAGE,
    },
  ),
  version: z.string().regex(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/),
  kind: z.string().regex(/^[A-Za-z][-A-Za-z0-9]{0,62}$/),
  plural: z.string().regex(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/),
  workers: int64.min(0).optional(),
  type: z.enum(["DenyList", "AllowList"]).optional(),
  selector: labelSelector.optional(),
});

const customResources = listMap(
  z
    .array(reflectedResource)
    .max(16)
    .superRefine((resources, context) => {
      const names = resources.map(customResourceName);
      names.forEach((name, index) => {
        if (names.indexOf(name) === index) return;
        context.addIssue({ code: "custom", path: [index], message: `${name} is there twice` });
      });
    }),
  "group",
  "plural",
);

const vkOptionsTemplateSpec = object({
  createNode: z.boolean(),
  disableNetworkCheck: z.boolean(),
  containerImage: z.string(),
  metricsEnabled: z.boolean(),
  metricsAddress: z.string().optional(),
  labelsNotReflected: z.array(z.string()).optional(),
  annotationsNotReflected: z.array(z.string()).optional(),
  /** By reflected kind: `pod`, `service`, `configmap`, … */
  reflectorsConfig: reflectorsConfig.optional(),
  /** Beside the kinds above; the rights to them are given in both clusters. */
  customResources: customResources.optional(),
  resources: embedded<ResourceRequirements>().optional(),
  extraArgs: z.array(z.string()).optional(),
  extraAnnotations: stringMap.optional(),
  extraLabels: stringMap.optional(),
  nodeExtraAnnotations: stringMap.optional(),
  nodeExtraLabels: stringMap.optional(),
  replicas: int32.optional(),
  imagePullSecrets: z.array(embedded<LocalObjectReference>()).optional(),
  pullPolicy: z.string().optional(),
  tolerations: z.array(embedded<Toleration>()).optional(),
});

export const VkOptionsTemplateDefinition = defineResource(VkOptionsTemplateResource, {
  shortNames: ["vkot", "vkopt"],
  specRequired: true,
  spec: vkOptionsTemplateSpec,
  columns: [AGE],
});

export type NamespaceMap = CustomObject<NamespaceMapSpec, NamespaceMapStatus>;
export type NamespaceMapSpec = z.infer<typeof namespaceMapSpec>;
export type NamespaceMapStatus = z.infer<typeof namespaceMapStatus>;
export type NamespaceMapPhase = z.infer<typeof namespaceMapPhase>;
export type NamespaceOffloading = CustomObject<NamespaceOffloadingSpec, NamespaceOffloadingStatus>;
export type NamespaceOffloadingSpec = z.infer<typeof namespaceOffloadingSpec>;
export type NamespaceOffloadingStatus = z.infer<typeof namespaceOffloadingStatus>;
export type NamespaceMappingStrategy = z.infer<typeof namespaceMappingStrategy>;
export type PodOffloadingStrategy = z.infer<typeof podOffloadingStrategy>;
export type OffloadingPhase = z.infer<typeof offloadingPhase>;
export type RemoteNamespaceCondition = z.infer<typeof remoteNamespaceCondition>;
export type Quota = CustomObject<QuotaSpec>;
export type QuotaSpec = z.infer<typeof quotaSpec>;
export type LimitsEnforcement = z.infer<typeof limitsEnforcement>;
export type ShadowPod = CustomObject<ShadowPodSpec, ShadowPodStatus>;
export type ShadowPodSpec = z.infer<typeof shadowPodSpec>;
export type ShadowPodStatus = z.infer<typeof shadowPodStatus>;
export type PodPhase = z.infer<typeof podPhase>;
export type ShadowEndpointSlice = CustomObject<ShadowEndpointSliceSpec>;
export type ShadowEndpointSliceSpec = z.infer<typeof shadowEndpointSliceSpec>;
export type OffloadingPatch = z.infer<typeof offloadingPatch>;
export type VirtualNode = CustomObject<VirtualNodeSpec, VirtualNodeStatus>;
export type VirtualNodeSpec = z.infer<typeof virtualNodeSpec>;
export type VirtualNodeStatus = z.infer<typeof virtualNodeStatus>;
export type VirtualNodeCondition = z.infer<typeof virtualNodeCondition>;
export type VirtualNodeConditionType = z.infer<typeof virtualNodeConditionType>;
export type VirtualNodeConditionStatus = z.infer<typeof virtualNodeConditionStatus>;
export type VkOptionsTemplate = CustomObject<VkOptionsTemplateSpec>;
export type VkOptionsTemplateSpec = z.infer<typeof vkOptionsTemplateSpec>;
export type ReflectionType = z.infer<typeof reflectionType>;
