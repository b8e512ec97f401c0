import { createHash } from "node:crypto";
import {
  FirewallConfigurationResource,
  RouteConfigurationResource,
  type FirewallConfiguration,
  type RouteConfiguration,
} from "../../api/index.js";
import { firewallProblems, routeProblems } from "../../host-rules/index.js";
import { isDeleting, type KubeObject, type ResourceType } from "../../runtime/index.js";
import { allow, deny, mutate, type AdmissionHandler, type AdmissionRequest, type PatchOperation } from "./admission.js";
import type { WebhookContext } from "./context.js";

const LISTS = ["natRules", "filterRules", "routeRules"] as const;

/** Rules are known by their names: one that has none gets one (API specification, §12). */
export const mutateFirewallConfiguration: AdmissionHandler = (request) => {
  const { object } = request as AdmissionRequest<FirewallConfiguration>;
  return object && !isDeleting(object) ? mutate(namePatch(object)) : allow();
};

export function namePatch({ spec }: FirewallConfiguration): PatchOperation[] {
  return (spec.table.chains ?? []).flatMap(({ rules }, chain) =>
    LISTS.flatMap((list) =>
      (rules[list] ?? []).flatMap((rule, index): PatchOperation[] => {
        const path = `/chains/${chain}/rules/${list}/${index}`;
        return rule.name ? [] : [{ op: "add", path: `/spec/table${path}/name`, value: stableUUID(path, rule) }];
      }),
    ),
  );
}

/** The same for the same rule at the same place: a manifest that is applied again changes nothing. */
function stableUUID(path: string, rule: object): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([path, rule]))
    .digest("hex");
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join("-");
}

/** What hosts could not carry out is refused, by field; two configurations for the same hosts must not share a table. */
export function firewallConfigurationValidator({ client }: WebhookContext): AdmissionHandler {
  return validator<FirewallConfiguration>({
    type: FirewallConfigurationResource,
    tableOf: ({ spec }) => spec.table,
    problemsOf: ({ spec }) => firewallProblems(spec.table),
    present: async () => (await client.list(FirewallConfigurationResource)).items,
  });
}

export function routeConfigurationValidator({ client }: WebhookContext): AdmissionHandler {
  return validator<RouteConfiguration>({
    type: RouteConfigurationResource,
    tableOf: ({ spec }) => spec.table,
    problemsOf: ({ spec }) => (spec.table ? routeProblems(spec.table) : []),
    present: async () => (await client.list(RouteConfigurationResource)).items,
  });
}

interface RulesKind<T extends KubeObject> {
  type: ResourceType<T>;
  tableOf: (object: T) => { name: string; family?: string } | undefined;
  problemsOf: (object: T) => string[];
  present: () => Promise<T[]>;
}

function validator<T extends KubeObject>({ type, tableOf, problemsOf, present }: RulesKind<T>): AdmissionHandler {
  return async (request) => {
    const { object, oldObject } = request as unknown as AdmissionRequest<T>;
    if (!object || isDeleting(object) || isUnchanged(object, oldObject)) return allow();
    const problems = problemsOf(object);
    const table = tableOf(object);
    const former = oldObject && tableOf(oldObject);
    if (former && former.name !== table?.name)
      problems.push(`spec.table.name: cannot be changed (from "${former.name}"); make another ${type.kind} instead`);
    if (problems.length > 0) return deny(problems.join("; "), 422);
    const isSame = (other: T): boolean =>
      other.metadata?.uid !== object.metadata?.uid &&
      sorted(other.metadata?.labels) === sorted(object.metadata?.labels) &&
      tableOf(other)?.name === table?.name &&
      tableOf(other)?.family === table?.family;
    const twin = table && (await present()).find(isSame);
    if (!twin) return allow();
    const { namespace, name } = twin.metadata ?? {};
    return deny(
      `spec.table.name: "${table.name}" is that of ${type.kind} ${namespace}/${name} with the same labels`,
      422,
    );
  };
}

/** What is not judged may always be written, such as finalizers. */
function isUnchanged(object: KubeObject, old: KubeObject | null | undefined): boolean {
  const judged = (one: KubeObject): string =>
    JSON.stringify([(one as { spec?: unknown }).spec, sorted(one.metadata?.labels)]);
  return old !== undefined && old !== null && judged(object) === judged(old);
}

function sorted(labels: Record<string, string> = {}): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => a.localeCompare(b)));
}
