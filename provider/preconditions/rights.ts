import type { KubeClient, ResourceType } from "../../agent/runtime/index.js";
import { isUnreachable } from "../../agent/runtime/index.js";
import type { CallContext } from "../framework/index.js";
import { RecentAnswers } from "../kube/recent-answers.js";

/** What the credentials for a cluster must be allowed. */
export interface NeededRight {
  type: ResourceType;
  verbs: readonly string[];
  /** Absent = in all namespaces. */
  namespace?: string;
  /** One object, where a role may name it. */
  name?: string;
  subresource?: string;
}

/** The rights needed in one cluster; `where` is the property that names it. */
export interface NeededIn {
  where: string;
  client: KubeClient;
  /** A function where finding them out takes requests: of an administrator's credentials it is not called. */
  rights: readonly NeededRight[] | (() => Promise<readonly NeededRight[]>);
}

interface Attributes {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** How long credentials that are allowed everything are not asked about again, in milliseconds. */
const ADMINISTRATOR_MS = 5_000;

/** Whether a client's credentials are allowed everything: nothing else need be asked of them then. */
const administrators = new RecentAnswers<boolean>(
  ADMINISTRATOR_MS,
  (client) => isAllowed(client, { verb: "*", group: "*", resource: "*" }),
  (isAdministrator) => isAdministrator,
);

/** What server-side apply asks for, of objects that may be there or not. */
export const APPLY = ["get", "create", "patch"] as const;

/**
 * Makes sure that a change can be carried out before anything is changed.
 *
 * @throws Error naming each missing right: verb, resource, namespace, cluster
 */
export async function requireRights(context: CallContext, needed: readonly NeededIn[]): Promise<void> {
  const missing = await missingRights(needed, context.signal);
  if (missing.length === 0) return;
  throw new Error(
    `${missing.join("; ")}: nothing was changed. Grant these rights to the kubeconfig's user, or use another kubeconfig`,
  );
}

/** The same for a preview, in which they may still be granted until `up`. */
export async function foreseeRights(context: CallContext, needed: readonly NeededIn[]): Promise<void> {
  for (const one of await missingRights(needed, context.signal)) {
    context.log("warning", `${one}: up will fail unless that is granted before`);
  }
}

/**
 * What of these rights a change needs of what is there: nothing is created, unless something has been found missing.
 *
 * @param drift what a refresh has found, by the state
 */
export function rightsToChange(needed: readonly NeededIn[], drift: readonly string[] | undefined): NeededIn[] {
  if (drift?.length) return [...needed];
  const changing = (rights: readonly NeededRight[]): NeededRight[] =>
    rights
      .map((right) => ({ ...right, verbs: right.verbs.filter((verb) => verb !== "create") }))
      .filter(({ verbs }) => verbs.length > 0);
  return needed.map(({ rights, ...one }) => ({
    ...one,
    rights: typeof rights === "function" ? async () => changing(await rights()) : changing(rights),
  }));
}

/** Each right that is missing, in words, one line per cluster, resource and namespace. */
export async function missingRights(needed: readonly NeededIn[], signal: AbortSignal): Promise<string[]> {
  const lines = await Promise.all(
    needed.map(async ({ where, client, rights }) => {
      if (await administrators.get(client, signal)) return [];
      const all = typeof rights === "function" ? await rights() : rights;
      return (await Promise.all(all.map((right) => missingOf(where, client, right, signal)))).flat();
    }),
  );
  return lines.flat();
}

async function missingOf(
  where: string,
  client: KubeClient,
  right: NeededRight,
  signal: AbortSignal,
): Promise<string[]> {
  const { type, verbs, namespace, name, subresource } = right;
  const answers = await Promise.all(
    verbs.map(async (verb) => {
      const named = verb === "create" ? undefined : name;
      const attributes = { verb, group: type.group, resource: type.plural, subresource, namespace, name: named };
      return (await isAllowed(client, attributes, signal)) ? [] : [verb];
    }),
  );
  const missing = answers.flat();
  if (missing.length === 0) return [];
  const resource = `${type.plural}${subresource ? `/${subresource}` : ""}${type.group === "" ? "" : `.${type.group}`}`;
  const place = namespace ? ` in namespace ${namespace}` : "";
  return [`${where}: the credentials may not ${missing.join(", ")} ${resource}${place} of cluster ${client.cluster}`];
}

/** A cluster that does not say is not held against its credentials. */
async function isAllowed(client: KubeClient, resourceAttributes: Attributes, signal?: AbortSignal): Promise<boolean> {
  try {
    const review = await client.request<{ status?: { allowed?: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      {
        body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } },
        subject: "what its credentials allow",
        signal,
      },
    );
    return review.status?.allowed ?? false;
  } catch (error) {
    if (isUnreachable(error)) throw error;
    return resourceAttributes.verb !== "*";
  }
}
