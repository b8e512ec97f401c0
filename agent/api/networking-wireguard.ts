import type { DeploymentSpec } from "kubernetes-types/apps/v1";
import type { ServiceSpec } from "kubernetes-types/core/v1";
import { z } from "zod";
import { AGE } from "./columns.js";
import { defineResource, type ObjectOf } from "./definition.js";
import { NETWORKING } from "./groups.js";
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

export const WgGatewayServerResource = defineResource({
  ...NETWORKING,
  kind: "WgGatewayServer",
  plural: "wggatewayservers",
  shortNames: ["wgs", "wggs"],
  namespaced: true,
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

export const WgGatewayClientResource = defineResource({
  ...NETWORKING,
  kind: "WgGatewayClient",
  plural: "wggatewayclients",
  shortNames: ["wgc", "wggc"],
  namespaced: true,
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

export const WgGatewayServerTemplateResource = defineResource({
  ...NETWORKING,
  kind: "WgGatewayServerTemplate",
  plural: "wggatewayservertemplates",
  shortNames: ["wggst", "wgst"],
  namespaced: true,
  labels: templateLabels,
  spec: gatewayTemplateSpec,
  columns: [AGE],
});

export const WgGatewayClientTemplateResource = defineResource({
  ...NETWORKING,
  kind: "WgGatewayClientTemplate",
  plural: "wggatewayclienttemplates",
  shortNames: ["wggct", "wgct"],
  namespaced: true,
  labels: templateLabels,
  spec: gatewayTemplateSpec,
  columns: [AGE],
});

export type WgGatewayServer = ObjectOf<typeof WgGatewayServerResource>;
export type WgGatewayServerSpec = z.infer<typeof wgGatewayServerSpec>;
export type WgGatewayServerStatus = z.infer<typeof wgGatewayServerStatus>;
export type WgGatewayClient = ObjectOf<typeof WgGatewayClientResource>;
export type WgGatewayClientSpec = z.infer<typeof wgGatewayClientSpec>;
export type WgGatewayClientStatus = z.infer<typeof wgGatewayClientStatus>;
export type WgGatewayServerTemplate = ObjectOf<typeof WgGatewayServerTemplateResource>;
export type WgGatewayClientTemplate = ObjectOf<typeof WgGatewayClientTemplateResource>;
export type GatewayTemplateSpec = z.infer<typeof gatewayTemplateSpec>;
