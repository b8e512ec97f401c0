import { z } from "zod";
import { AGE, column, conditionPath } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { NamespaceOffloadingPolicyResource } from "./kinds.js";
import { labelSelector } from "./label-selector.js";
import { namespaceMappingStrategy, namespaceOffloadingSpec } from "./offloading.js";
import { int64, object, standardCondition, stringMap } from "./schema.js";
import { immutable, listMap, withDefault, withRequiredDefault, withRules } from "./schema-hints.js";

/** The longest value of a label: what a policy has made bears its name. */
const LABEL_VALUE_LENGTH = 63;

/** What NamespaceOffloadings are made with. One name at the providers cannot serve many namespaces. */
const offloadingTemplateSpec = withRules(
  object({
    ...namespaceOffloadingSpec.shape,
    namespaceMappingStrategy: immutable(
      withDefault(namespaceMappingStrategy.exclude(["SelectedName"]), "DefaultName"),
      "namespaceMappingStrategy is immutable: delete the policy and create it anew",
    ),
  }),
  {
    rule: "!has(self.remoteNamespaceName)",
    message: "a policy may offload many namespaces, which cannot all have one remoteNamespaceName",
  },
);

const offloadingTemplate = object({
  metadata: object({ labels: stringMap.optional(), annotations: stringMap.optional() }).optional(),
  spec: withRequiredDefault(offloadingTemplateSpec, {}),
});

const namespaceOffloadingPolicySpec = object({
  /** Empty: all namespaces but protected ones. */
  namespaceSelector: labelSelector,
  template: withRequiredDefault(offloadingTemplate, { spec: {} }),
});

const namespaceOffloadingPolicyStatus = object({
  /** How many the selector selects. */
  namespaces: int64.optional(),
  /** How many of them have a NamespaceOffloading of this policy. */
  offloaded: int64.optional(),
  conditions: listMap(z.array(standardCondition), "type").optional(),
  observedGeneration: int64.optional(),
});

export const NamespaceOffloadingPolicyDefinition = defineResource(NamespaceOffloadingPolicyResource, {
  shortNames: ["nsop"],
  specRequired: true,
  rules: [
    {
      rule: `size(self.metadata.name) <= ${LABEL_VALUE_LENGTH}`,
      message: `metadata.name becomes the value of a label, and has at most ${LABEL_VALUE_LENGTH} characters`,
    },
  ],
  spec: namespaceOffloadingPolicySpec,
  status: namespaceOffloadingPolicyStatus,
  columns: [
    column("NAMESPACES", ".status.namespaces", "integer"),
    column("OFFLOADED", ".status.offloaded", "integer"),
    column("APPLIED", conditionPath("Applied")),
    AGE,
  ],
});

export type NamespaceOffloadingPolicy = CustomObject<NamespaceOffloadingPolicySpec, NamespaceOffloadingPolicyStatus>;
export type NamespaceOffloadingPolicySpec = z.infer<typeof namespaceOffloadingPolicySpec>;
export type NamespaceOffloadingPolicyStatus = z.infer<typeof namespaceOffloadingPolicyStatus>;
