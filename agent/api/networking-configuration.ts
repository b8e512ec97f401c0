import { z } from "zod";
import { isCidr } from "./cidr.js";
import { AGE, column, wideColumn } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { ConfigurationResource } from "./kinds.js";
import { normalizeCidrs } from "./normalize-cidrs.js";
import { object, standardCondition } from "./schema.js";
import { describedAs, listMap } from "./schema-hints.js";

/**
 * Untyped in the CRD, so that a single string passes server-side apply too; a webhook stores only lists and checks the
 * format, as the schema cannot (API specification, §13).
 */
const cidrs = describedAs(
  z
    .union([z.string(), z.array(z.string())], 'must be a list of IPv4 ranges such as "10.0.0.0/16"')
    .transform((value) => normalizeCidrs(value))
    .refine((list) => list.every(isCidr), 'must hold IPv4 ranges such as "10.0.0.0/16" only'),
  { "x-kubernetes-preserve-unknown-fields": true },
);

const clusterRanges = object({ pod: cidrs.optional(), external: cidrs.optional() });
const rangesOfCluster = object({ cidr: clusterRanges.optional() });

const configurationSpec = object({
  /** Filled in from this cluster's Networks when absent. */
  local: rangesOfCluster.optional(),
  /** The other cluster's ranges as that cluster knows them. */
  remote: rangesOfCluster.optional(),
});

const configurationStatus = object({
  /** The other cluster's ranges as this cluster knows them, one for each of spec.remote, in the same order; "" for one that waits for room. */
  remote: rangesOfCluster.optional(),
  conditions: listMap(z.array(standardCondition), "type").optional(),
});

export const ConfigurationDefinition = defineResource(ConfigurationResource, {
  shortNames: ["conf"],
  spec: configurationSpec,
  status: configurationStatus,
  columns: [
    column("DESIRED POD CIDR", ".spec.remote.cidr.pod"),
    column("REMAPPED POD CIDR", ".status.remote.cidr.pod"),
    AGE,
    wideColumn("DESIRED EXTERNAL CIDR", ".spec.remote.cidr.external"),
    wideColumn("REMAPPED EXTERNAL CIDR", ".status.remote.cidr.external"),
    wideColumn("CLUSTERID", ".metadata.labels.liqo\\.io/remote-cluster-id"),
  ],
});

export type Configuration = CustomObject<ConfigurationSpec, ConfigurationStatus>;
export type ConfigurationSpec = z.infer<typeof configurationSpec>;
export type ConfigurationStatus = z.infer<typeof configurationStatus>;
export type ClusterRanges = z.infer<typeof clusterRanges>;
