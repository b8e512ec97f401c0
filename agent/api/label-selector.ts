import { z } from "zod";
import { isLabelKey, isLabelValue } from "./kubernetes-names.js";
import { object } from "./schema.js";
import { withHint, withRules } from "./schema-hints.js";

const labelKey = withHint(z.string().refine(isLabelKey, "must be a label's key"), {
  pattern: "^([-a-z0-9.]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
});
const labelValue = withHint(z.string().refine(isLabelValue, "must be a label's value"), {
  pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$",
});
/** Far more than anybody writes: the API server wants to know how long checking may take. */
const MAX_REQUIREMENTS = 32;

const VALUES_MESSAGE = "values are needed by In and NotIn, and mean nothing to Exists and DoesNotExist";
const requirement = withRules(
  object({
    key: labelKey,
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
    values: z.array(labelValue).max(MAX_REQUIREMENTS).optional(),
  }).refine(({ operator, values = [] }) => ["In", "NotIn"].includes(operator) === values.length > 0, {
    path: ["values"],
    message: VALUES_MESSAGE,
  }),
  {
    rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: VALUES_MESSAGE,
  },
);

/**
 * A metav1.LabelSelector: whatever it says must hold. An empty one selects everything. The API server cannot be told how the keys of matchLabels are written: whoever
 * reads one looks again.
 */
export const labelSelector = withHint(
  object({
    matchLabels: z.record(labelKey, labelValue).optional(),
    matchExpressions: z.array(requirement).max(MAX_REQUIREMENTS).optional(),
  }),
  { "x-kubernetes-map-type": "atomic" },
);

export type LabelSelector = z.infer<typeof labelSelector>;
