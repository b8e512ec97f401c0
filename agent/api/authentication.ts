import { z } from "zod";
import { AGE, column, conditionPath, wideColumn } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { TenantResource, IdentityResource, ResourceSliceResource, RenewResource } from "./kinds.js";
import { bytes, clusterID, dateTime, localReference, object, quantities, stringMap } from "./schema.js";
import { immutable, withDefault } from "./schema-hints.js";

const awsConfig = object({
  awsUserArn: z.string(),
  awsAccessKeyID: z.string(),
  awsSecretAccessKey: z.string(),
  awsRegion: z.string(),
  awsClusterName: z.string(),
});

/** What a consumer needs to reach the provider's API server with the certificate issued to it. */
const authParams = object({
  ca: bytes.optional(),
  /** PEM certificate, as base64. */
  signedCRT: bytes.optional(),
  /** URL of the provider's API server. */
  apiServer: z.string().optional(),
  proxyURL: z.string().optional(),
  awsConfig: awsConfig.optional(),
});

const identityType = z.enum(["ControlPlane", "ResourceSlice"]);
const authzPolicy = z.enum(["KeysExchange", "TolerateNoHandshake"]);
const tenantCondition = z.enum(["Active", "Cordoned", "Drained"]);

const tenantSpec = object({
  /** Of the consumer. */
  clusterID: immutable(clusterID, "ClusterID is immutable").optional(),
  authzPolicy: withDefault(authzPolicy, "KeysExchange"),
  /** PEM "PUBLIC KEY"; before Liqo 1.0.2 the 32 raw bytes of an Ed25519 key. */
  publicKey: bytes.optional(),
  /** PEM "CERTIFICATE REQUEST". */
  csr: bytes.optional(),
  /** Of the nonce. */
  signature: bytes.optional(),
  /** Copied into the issued authParams. */
  proxyURL: z.string().optional(),
  tenantCondition: withDefault(tenantCondition, "Active"),
});

const tenantStatus = object({ tenantNamespace: z.string().optional(), authParams: authParams.optional() });

export const TenantDefinition = defineResource(TenantResource, {
  shortNames: ["tn"],
  spec: tenantSpec,
  status: tenantStatus,
  columns: [column("CONDITION", ".spec.tenantCondition"), AGE],
});

const identitySpec = object({
  /** Of the provider. */
  clusterID: clusterID.optional(),
  type: identityType.optional(),
  authParams: authParams.optional(),
  /** The provider's tenant namespace; for ControlPlane identities only. */
  namespace: z.string().optional(),
});

const identityStatus = object({ kubeconfigSecretRef: localReference.optional() });

export const IdentityDefinition = defineResource(IdentityResource, {
  shortNames: ["id"],
  spec: identitySpec,
  status: identityStatus,
  columns: [column("TYPE", ".spec.type"), wideColumn("KUBECONFIGSECRET", ".status.kubeconfigSecretRef.name"), AGE],
});

const sliceConditionType = z.enum(["Authentication", "Resources"]);
const sliceConditionStatus = z.enum(["Accepted", "Denied"]);

/** No condition of a type: still pending. */
const sliceCondition = object({
  type: sliceConditionType,
  status: sliceConditionStatus,
  lastTransitionTime: dateTime.optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

export const storageClassSchema = object({ storageClassName: z.string(), default: z.boolean().optional() });
export const ingressClassSchema = object({ ingressClassName: z.string(), default: z.boolean().optional() });
export const loadBalancerClassSchema = object({ loadBalancerClassName: z.string(), default: z.boolean().optional() });

const resourceSliceSpec = object({
  consumerClusterID: clusterID.optional(),
  providerClusterID: clusterID.optional(),
  /** Requested. */
  resources: quantities.optional(),
  /** "" and "default": the built-in class. Any other belongs to an external class controller. */
  class: z.string().optional(),
  /** PEM "CERTIFICATE REQUEST", filled in by the consumer's controller. */
  csr: bytes.optional(),
});

const resourceSliceStatus = object({
  conditions: z.array(sliceCondition).optional(),
  /** Granted. */
  resources: quantities.optional(),
  authParams: authParams.optional(),
  storageClasses: z.array(storageClassSchema).optional(),
  ingressClasses: z.array(ingressClassSchema).optional(),
  loadBalancerClasses: z.array(loadBalancerClassSchema).optional(),
  nodeLabels: stringMap.optional(),
  nodeSelector: stringMap.optional(),
});

export const ResourceSliceDefinition = defineResource(ResourceSliceResource, {
  shortNames: ["rslice"],
  spec: resourceSliceSpec,
  status: resourceSliceStatus,
  columns: [
    column("AUTHENTICATION", conditionPath("Authentication")),
    column("RESOURCES", conditionPath("Resources")),
    AGE,
  ],
});

const renewSpec = object({
  consumerClusterID: clusterID.optional(),
  publicKey: bytes.optional(),
  csr: bytes.optional(),
  /** Free text in the schema; the values are those of an Identity's type. */
  identityType: z.string().optional(),
  resourceSliceRef: localReference.optional(),
});

const renewStatus = object({ authParams: authParams.optional() });

export const RenewDefinition = defineResource(RenewResource, {
  spec: renewSpec,
  status: renewStatus,
  columns: [AGE],
});

export type AuthParams = z.infer<typeof authParams>;
export type AwsConfig = z.infer<typeof awsConfig>;
export type Tenant = CustomObject<TenantSpec, TenantStatus>;
export type TenantSpec = z.infer<typeof tenantSpec>;
export type TenantStatus = z.infer<typeof tenantStatus>;
export type TenantCondition = z.infer<typeof tenantCondition>;
export type AuthzPolicy = z.infer<typeof authzPolicy>;
export type Identity = CustomObject<IdentitySpec, IdentityStatus>;
export type IdentitySpec = z.infer<typeof identitySpec>;
export type IdentityStatus = z.infer<typeof identityStatus>;
export type IdentityType = z.infer<typeof identityType>;
export type ResourceSlice = CustomObject<ResourceSliceSpec, ResourceSliceStatus>;
export type ResourceSliceSpec = z.infer<typeof resourceSliceSpec>;
export type ResourceSliceStatus = z.infer<typeof resourceSliceStatus>;
export type ResourceSliceCondition = z.infer<typeof sliceCondition>;
export type ResourceSliceConditionType = z.infer<typeof sliceConditionType>;
export type ResourceSliceConditionStatus = z.infer<typeof sliceConditionStatus>;
export type StorageClassOffer = z.infer<typeof storageClassSchema>;
export type IngressClassOffer = z.infer<typeof ingressClassSchema>;
export type LoadBalancerClassOffer = z.infer<typeof loadBalancerClassSchema>;
export type Renew = CustomObject<RenewSpec, RenewStatus>;
export type RenewSpec = z.infer<typeof renewSpec>;
export type RenewStatus = z.infer<typeof renewStatus>;
