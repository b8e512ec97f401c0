import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { AgentRole } from "../../../agent/install/rbac/roles.js";
import type { ReasonedRule } from "../../../agent/install/rbac/rule.js";
import { describeUse, lackingRights, readUses, unlistedUses, unusedRules, type Use } from "../../support/role-use.js";

const READ_PODS: ReasonedRule = { why: "To see pods.", apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] };
const ONE_SECRET: ReasonedRule = {
  why: "Its own.",
  apiGroups: [""],
  resources: ["secrets"],
  resourceNames: ["own"],
  verbs: ["patch"],
};

const ALLOWED = {
  "authorization.k8s.io/decision": "allow",
  "authorization.k8s.io/reason": 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "somebody"',
};

/** Rules of roles beside what the API servers of clusters have told of requests. */
describe("the use of roles", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-role-use-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const events = [
    event("list", { resource: "pods", apiVersion: "v1" }),
    event("list", { resource: "pods", apiVersion: "v1" }),
    event("patch", { resource: "secrets", name: "other", namespace: "n" }),
    event("delete", { resource: "nodes", name: "n" }, { "authorization.k8s.io/decision": "forbid" }),
  ];

  async function used(): Promise<Use[]> {
    writeFileSync(path.join(folder, "one.log"), [...events, '{"verb": "ge'].join("\n"));
    return readUses(folder);
  }

  it("is told once for each kind, with what was forbidden", async () => {
    expect((await used()).map(describeUse)).to.deep.equal([
      "one: somebody: list pods /",
      "one: somebody: patch secrets n/other",
      "one: somebody: delete nodes /n",
    ]);
  });

  it("leaves rules over that nobody has used and that do not say when alone they are", async () => {
    const rare: ReasonedRule = { ...ONE_SECRET, onlyWhen: "at night" };
    expect(unusedRules(await used(), [role(READ_PODS, rare)])).to.deep.equal([]);
    expect(unusedRules(await used(), [role(READ_PODS, ONE_SECRET)])).to.deep.equal(["r: patch secrets: Its own."]);
  });

  it("is missed by the agent's own accounts where no rule grants it, not where a role was only not seen yet", async () => {
    const [, , refused] = await used();
    const of = (user: string): Use[] => [{ ...(refused as Use), user }];
    const agent = of("system:serviceaccount:liqo:liqo-fabric");
    expect(lackingRights(agent, [role(READ_PODS)])).to.deep.equal(agent);
    const nodes: ReasonedRule = { why: "x", apiGroups: [""], resources: ["nodes"], verbs: ["delete"] };
    expect(lackingRights(agent, [role(nodes)])).to.deep.equal([]);
    expect(lackingRights(of("a-peer"), [role(READ_PODS)])).to.deep.equal([]);
  });

  it("is nothing that a role's rules do not permit", async () => {
    expect(unlistedUses(await used(), [role(READ_PODS, ONE_SECRET)]).map(describeUse)).to.deep.equal([
      "one: somebody: patch secrets n/other",
    ]);
  });
});

function role(...rules: ReasonedRule[]): AgentRole {
  return { kind: "ClusterRole", name: "r", label: "r", component: "r", heldBy: "somebody", rules };
}

function event(verb: string, objectRef: object, annotations: object = ALLOWED): string {
  return JSON.stringify({ verb, user: { username: "somebody" }, objectRef, annotations });
}
