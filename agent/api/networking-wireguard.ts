import type { DeploymentSpec } from "kubernetes-types/apps/v1";
import type { ServiceSpec } from "kubernetes-types/core/v1";
import { z } from "zod";
import { AGE } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import {
  WgGatewayServerResource,
  WgGatewayClientResource,
  WgGatewayServerTemplateResource,
  WgGatewayClientTemplateResource,
} from "./kinds.js";
import { Labels } from "./labels.js";
import { endpointStatus, gatewayConditions, gatewayPublicKey, internalEndpoint } from "./networking-gateways.js";
import { embedded, embeddedMetadata, localReference, object, objectReference } from "./schema.js";

const deploymentTemplate = object({
  metadata: embeddedMetadata.optional(),
  spec: embedded<DeploymentSpec>().optional(),
});
const serviceTemplate = object({ metadata: embeddedMetadata.optional(), spec: embedded<ServiceSpec>().optional() });

const metrics = object({
  enabled: z.boolean(),
  service: serviceTemplate.optional(),
  serviceMonitor: object({ metadata: embeddedMetadata.optional(), spec: embedded().optional() }).optional(),
});

const wgGatewayServerSpec = object({
  deployment: deploymentTemplate,
  service: serviceTemplate,
  metrics: metrics.optional(),
  secretRef: localReference.optional(),
});

const wgGatewayServerStatus = object({
  secretRef: objectReference.optional(),
  publicKey: gatewayPublicKey,
  internalEndpoint: internalEndpoint.optional(),
  endpoint: endpointStatus.optional(),
  conditions: gatewayConditions,
});

export const WgGatewayServerDefinition = defineResource(WgGatewayServerResource, {
  shortNames: ["wgs", "wggs"],
  specRequired: true,
  spec: wgGatewayServerSpec,
  status: wgGatewayServerStatus,
  columns: [AGE],
});

const wgGatewayClientSpec = object({
  deployment: deploymentTemplate,
  metrics: metrics.optional(),
  secretRef: localReference.optional(),
});

const wgGatewayClientStatus = object({
  secretRef: objectReference.optional(),
  publicKey: gatewayPublicKey,
  internalEndpoint: internalEndpoint.optional(),
  conditions: gatewayConditions,
});

export const WgGatewayClientDefinition = defineResource(WgGatewayClientResource, {
  shortNames: ["wgc", "wggc"],
  specRequired: true,
  spec: wgGatewayClientSpec,
  status: wgGatewayClientStatus,
  columns: [AGE],
});

const gatewayTemplateSpec = object({
  /** The kind of the object that is made. */
  objectKind: object({ apiVersion: z.string().optional(), kind: z.string().optional() }).optional(),
  /** Its metadata and spec, as Go text/template (network specification, §5.1). */
  template: embedded().optional(),
});

/** By this label the template kinds are found, so that users may bring their own. */
const templateLabels = { [Labels.gatewayTemplate]: "true" };

export const WgGatewayServerTemplateDefinition = defineResource(WgGatewayServerTemplateResource, {
  shortNames: ["wggst", "wgst"],
  labels: templateLabels,
  spec: gatewayTemplateSpec,
  columns: [AGE],
});

export const WgGatewayClientTemplateDefinition = defineResource(WgGatewayClientTemplateResource, {
  shortNames: ["wggct", "wgct"],
  labels: templateLabels,
  spec: gatewayTemplateSpec,
  columns: [AGE],
});

export type WgGatewayServer = CustomObject<WgGatewayServerSpec, WgGatewayServerStatus>;
export type WgGatewayServerSpec = z.infer<typeof wgGatewayServerSpec>;
export type WgGatewayServerStatus = z.infer<typeof wgGatewayServerStatus>;
export type WgGatewayClient = CustomObject<WgGatewayClientSpec, WgGatewayClientStatus>;
export type WgGatewayClientSpec = z.infer<typeof wgGatewayClientSpec>;
export type WgGatewayClientStatus = z.infer<typeof wgGatewayClientStatus>;
export type WgGatewayServerTemplate = CustomObject<GatewayTemplateSpec>;
export type WgGatewayClientTemplate = CustomObject<GatewayTemplateSpec>;
export type GatewayTemplateSpec = z.infer<typeof gatewayTemplateSpec>;
