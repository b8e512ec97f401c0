import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { AGENT_ROLES, type AgentRole } from "../agent/install/rbac/roles.js";
import type { ReasonedRule } from "../agent/install/rbac/rule.js";

export const SECURITY_PAGE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../docs/security.md");
const HEADING = "\n## Roles\n";

const INTRODUCTION = `
What the agent, peers and peering users may do, rule by rule. The end-to-end tests have the API servers write down who asks for what, and compare: a rule
that nobody has used fails, but for those that say when alone they are. This section is written by \`node scripts/run.mjs scripts/roles.ts\` from
[agent/install/rbac/](../agent/install/rbac).

Each gateway has a Role of its own besides, in its namespace: to read the Secret with its keys, and where it has several replicas, to take part in
choosing the one that serves (its Lease, and the label of its pods).
`;

/** The page with the section on roles as the installation has them; it is the last one. */
export function withRoles(page: string): string {
  const before = page.slice(0, page.indexOf(HEADING));
  const roles: AgentRole[] = Object.values(AGENT_ROLES);
  return [before, HEADING, INTRODUCTION, ...roles.map(section)].join("");
}

function section({ kind, name, heldBy, rules }: AgentRole): string {
  return `\n### ${kind} \`${name}\`\n\nHeld by ${heldBy}.\n\n${rules.map(line).join("\n")}\n`;
}

function line({ why, onlyWhen, verbs, apiGroups = [], resources = [], resourceNames = [] }: ReasonedRule): string {
  const names = resourceNames.length > 0 ? ` named ${resourceNames.map(code).join(", ")}` : "";
  return `- ${verbs.join(", ")}: ${resources.map(code).join(", ")}${groups(apiGroups)}${names}. ${why}${onlyWhen ? ` Only ${onlyWhen}.` : ""}`;
}

function groups(apiGroups: readonly string[]): string {
  if (apiGroups.every((group) => group === "")) return "";
  return ` of ${apiGroups.map((group) => (group ? code(group) : "the core group")).join(" and ")}`;
}

const code = (text: string): string => `\`${text}\``;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(SECURITY_PAGE, withRoles(await readFile(SECURITY_PAGE, "utf8")));
}
