import { z } from "zod";
import { AGE, column, wideColumn } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { ForeignClusterResource } from "./kinds.js";
import { clusterID, dateTime, int64, object } from "./schema.js";
import { immutable, withDefault, withRequiredDefault } from "./schema-hints.js";

const role = z.enum(["Consumer", "Provider", "ConsumerAndProvider", "Unknown"]);

const conditionType = z.enum([
  "APIServerStatus",
  "NetworkConnectionStatus",
  "NetworkGatewayServerStatus",
  "NetworkGatewayClientStatus",
  "NetworkGatewayPresence",
  "NetworkConfigurationStatus",
  "AuthIdentityControlPlaneStatus",
  "AuthTenantStatus",
  "OffloadingVirtualNodeStatus",
  "OffloadingNodeStatus",
]);

const conditionStatus = z.enum(["None", "Pending", "Established", "Error", "Ready", "NotReady", "SomeNotReady"]);

const condition = object({
  type: conditionType,
  status: withRequiredDefault(conditionStatus, "None"),
  lastTransitionTime: dateTime.optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const moduleStatus = object({ enabled: z.boolean(), conditions: z.array(condition).optional() });

const foreignClusterSpec = object({ clusterID: immutable(clusterID, "ClusterID field is immutable") });

const foreignClusterStatus = object({
  /** 0: never reconciled. */
  observedGeneration: withDefault(int64, 0),
  /** The role of the remote cluster, as seen from this one. */
  role: withRequiredDefault(role, "Unknown"),
  modules: object({ networking: moduleStatus, authentication: moduleStatus, offloading: moduleStatus }),
  apiServerUrl: z.string().optional(),
  foreignProxyUrl: z.string().optional(),
  tenantNamespace: object({ local: z.string().optional(), remote: z.string().optional() }).optional(),
  conditions: z.array(condition).optional(),
});

export const ForeignClusterDefinition = defineResource(ForeignClusterResource, {
  shortNames: ["fc"],
  specRequired: true,
  spec: foreignClusterSpec,
  status: foreignClusterStatus,
  columns: [column("ROLE", ".status.role"), wideColumn("CLUSTERID", ".spec.clusterID"), AGE],
});

export type ForeignCluster = CustomObject<ForeignClusterSpec, ForeignClusterStatus>;
export type ForeignClusterSpec = z.infer<typeof foreignClusterSpec>;
export type ForeignClusterStatus = z.infer<typeof foreignClusterStatus>;
export type ForeignClusterRole = z.infer<typeof role>;
export type ForeignClusterModule = z.infer<typeof moduleStatus>;
export type ForeignClusterCondition = z.infer<typeof condition>;
export type ForeignClusterConditionType = z.infer<typeof conditionType>;
export type ForeignClusterConditionStatus = z.infer<typeof conditionStatus>;
