import { createReadStream, readdirSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { AGENT_ROLES, type AgentRole } from "../../agent/install/rbac/roles.js";
import type { ReasonedRule } from "../../agent/install/rbac/rule.js";

/** What the API server writes of a request: https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/ */
interface AuditEvent {
  verb: string;
  user: { username: string };
  objectRef?: { resource: string; subresource?: string; apiGroup?: string; namespace?: string; name?: string };
  annotations?: Record<string, string>;
}

/** One thing that a role was used for, or that nobody had a right to. */
export interface Use {
  cluster: string;
  user: string;
  /** `ClusterRole NAME` or `Role NAME`; absent for what was forbidden. */
  role?: string;
  verb: string;
  group: string;
  /** With its subresource. */
  resource: string;
  namespace?: string;
  name?: string;
}

const AGENT_ACCOUNT = /^system:serviceaccount:liqo:/;
const REASON = "authorization.k8s.io/reason";
const DECISION = "authorization.k8s.io/decision";

/** The different uses that API servers have written into the `.log` files of a folder; those of Kubernetes' own roles are among them. */
export async function readUses(folder: string): Promise<Use[]> {
  const uses = new Map<string, Use>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".log"))) {
    const cluster = path.basename(file, ".log");
    for await (const line of createInterface({ input: createReadStream(path.join(folder, file)) })) {
      const use = useOf(cluster, line);
      if (use) uses.set([use.user, use.role, use.verb, use.group, use.resource, use.name].join(" "), use);
    }
  }
  return [...uses.values()];
}

function useOf(cluster: string, line: string): Use | undefined {
  const { verb, user, objectRef, annotations = {} } = parse(line) ?? {};
  if (!verb || !user || !objectRef) return undefined;
  const { resource, subresource, apiGroup = "", namespace, name } = objectRef;
  // "RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to User "u"": what was forbidden has no such reason.
  const [, kind, roleName] = / of (ClusterRole|Role) "([^"]+)" to /.exec(annotations[REASON] ?? "") ?? [];
  if (!roleName && annotations[DECISION] !== "forbid") return undefined;
  return {
    cluster,
    user: user.username,
    ...(roleName ? { role: `${kind} ${roleName}` } : {}),
    verb,
    group: apiGroup,
    resource: subresource ? `${resource}/${subresource}` : resource,
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
  };
}

/** The last line of a server that was killed may be half. */
function parse(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

export const roleKey = ({ kind, name }: AgentRole): string => `${kind} ${name}`;

/** Whether a rule permits this. */
export function permits(
  { verbs, apiGroups = [], resources = [], resourceNames = [] }: ReasonedRule,
  use: Use,
): boolean {
  return (
    verbs.includes(use.verb) &&
    apiGroups.includes(use.group) &&
    resources.includes(use.resource) &&
    (resourceNames.length === 0 || resourceNames.includes(use.name ?? ""))
  );
}

/** Rules that nothing has used, and which do not say when alone they are: "ROLE: VERBS RESOURCES: WHY". */
export function unusedRules(uses: readonly Use[], roles: readonly AgentRole[] = Object.values(AGENT_ROLES)): string[] {
  return roles.flatMap((role) => {
    const ofRole = uses.filter((use) => use.role === roleKey(role));
    return role.rules
      .filter((rule) => rule.onlyWhen === undefined && !isUsed(rule, ofRole))
      .map(({ verbs, resources = [], why }) => `${role.name}: ${verbs.join(", ")} ${resources.join(", ")}: ${why}`);
  });
}

function isUsed(rule: ReasonedRule, uses: readonly Use[]): boolean {
  return uses.some((use) => permits(rule, use)) || isImplied(rule, uses);
}

/**
 * What the agent's own accounts were refused and have no rule for. What they do have one for was refused in the moments in which the API server had not
 * seen their roles yet.
 */
export function lackingRights(uses: readonly Use[], roles: readonly AgentRole[] = Object.values(AGENT_ROLES)): Use[] {
  return uses.filter(
    (use) =>
      use.role === undefined &&
      AGENT_ACCOUNT.test(use.user) &&
      !roles.some(({ rules }) => rules.some((rule) => permits(rule, use))),
  );
}

/** What a role was used for that none of its rules permits: it is not the role that is listed. */
export function unlistedUses(uses: readonly Use[], roles: readonly AgentRole[] = Object.values(AGENT_ROLES)): Use[] {
  return uses.filter((use) => {
    const role = roles.find((one) => roleKey(one) === use.role);
    return role && !role.rules.some((rule) => permits(rule, use));
  });
}

/** Rights that the API server looks at within another request, which it does not tell. */
function isImplied({ verbs, resources = [] }: ReasonedRule, uses: readonly Use[]): boolean {
  const has = (verb: string, kinds: readonly string[]): boolean =>
    uses.some((use) => use.verb === verb && kinds.includes(use.resource));
  if (verbs.includes("approve")) return has("update", ["certificatesigningrequests/approval"]);
  if (verbs.includes("bind")) return has("create", ["rolebindings", "clusterrolebindings"]);
  // Server-side apply makes what is not there.
  return verbs.includes("create") && has("patch", resources);
}

export function describeUse({ cluster, user, verb, group, resource, namespace = "", name = "" }: Use): string {
  return `${cluster}: ${user}: ${verb} ${group ? `${resource}.${group}` : resource} ${namespace}/${name}`;
}
