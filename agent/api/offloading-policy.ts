import { z } from "zod";
import { AGE, column, conditionPath } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { NamespaceOffloadingPolicyResource } from "./kinds.js";
import { namespaceMappingStrategy, namespaceOffloadingSpec } from "./offloading.js";
import { int64, object, standardCondition, stringMap } from "./schema.js";
import { immutable, listMap, withDefault, withHint, withRequiredDefault, withRules } from "./schema-hints.js";

/** The longest value of a label: what a policy has made bears its name. */
const LABEL_VALUE_LENGTH = 63;
/** Bounds what the API server may have to spend on a selector's rules. */
const [MAX_REQUIREMENTS, MAX_VALUES] = [64, 1024];

const labelSelectorOperator = z.enum(["In", "NotIn", "Exists", "DoesNotExist"]);

const labelSelectorRequirement = withRules(
  object({
    key: z.string().min(1).max(317),
    operator: labelSelectorOperator,
    values: z.array(z.string().max(LABEL_VALUE_LENGTH)).max(MAX_VALUES).optional(),
  }),
  {
    rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
    message: "In and NotIn need values, Exists and DoesNotExist take none",
  },
);

/** metav1.LabelSelector. */
const labelSelector = withHint(
  object({
    matchLabels: stringMap.optional(),
    matchExpressions: z.array(labelSelectorRequirement).max(MAX_REQUIREMENTS).optional(),
  }),
  { "x-kubernetes-map-type": "atomic" },
);

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

export type LabelSelector = z.infer<typeof labelSelector>;
export type NamespaceOffloadingPolicy = CustomObject<NamespaceOffloadingPolicySpec, NamespaceOffloadingPolicyStatus>;
export type NamespaceOffloadingPolicySpec = z.infer<typeof namespaceOffloadingPolicySpec>;
export type NamespaceOffloadingPolicyStatus = z.infer<typeof namespaceOffloadingPolicyStatus>;
