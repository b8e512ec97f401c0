import type { PolicyRule } from "kubernetes-types/rbac/v1";

/** A rule of one of the agent's roles, with the reasons that docs/security.md lists. */
export interface ReasonedRule extends PolicyRule {
  /** What it is for. */
  why: string;
  /** The situation in which alone it is used, where the end-to-end tests do not bring that about: they fail on any other rule that nobody has used. */
  onlyWhen?: string;
}

/** As Kubernetes has them. */
export function policyRules(rules: readonly ReasonedRule[]): PolicyRule[] {
  return rules.map(({ why: _why, onlyWhen: _onlyWhen, ...rule }) => rule);
}
