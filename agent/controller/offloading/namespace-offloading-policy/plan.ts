import type { Namespace } from "kubernetes-types/core/v1";
import { Labels, Names, type NamespaceOffloading, type NamespaceOffloadingPolicy } from "../../../api/index.js";
import { isDeleting, type Informer } from "../../../runtime/index.js";
import { selects } from "./selection.js";

/** What a policy is judged by. */
export interface Surroundings {
  policies: readonly NamespaceOffloadingPolicy[];
  namespaces: readonly Namespace[];
  offloadings: Pick<Informer<NamespaceOffloading>, "find" | "list">;
  /** The agent's own. */
  agentNamespace: string;
}

/** A namespace that is to be offloaded, with the NamespaceOffloading that this policy has made for it before. */
export interface Wanted {
  namespace: string;
  present?: NamespaceOffloading;
}

/** Why the policy does not offload a namespace that it selects. */
export interface LeftOut {
  namespace: string;
  reason: LeftOutReason;
  message: string;
}
/** The worst first. */
export const LEFT_OUT_REASONS = ["Refused", "OtherPolicy", "Ending", "MadeByHand"] as const;
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number];

/** Each by the namespaces' names in their order. */
export interface Plan {
  selected: number;
  wanted: Wanted[];
  /** NamespaceOffloadings of this policy whose namespaces it selects no more. */
  unwanted: NamespaceOffloading[];
  leftOut: LeftOut[];
}

/**
 * What is to be done for a policy. What others have made takes precedence; of two policies the one that was there first keeps a namespace, and the first by
 * name takes a new one.
 */
export function planFor(policy: NamespaceOffloadingPolicy, surroundings: Surroundings): Plan {
  const { namespaces, offloadings, agentNamespace } = surroundings;
  const sorted = [...namespaces].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const selected = sorted.filter((namespace) => selects(policy, namespace, agentNamespace));
  const wanted: Wanted[] = [];
  const leftOut: LeftOut[] = [];
  for (const one of selected) {
    const namespace = nameOf(one);
    const present = offloadings.find(namespace, Names.namespaceOffloading);
    const obstacle = present ? obstacleOf(policy, present) : rivalOf(policy, one, surroundings);
    if (obstacle) leftOut.push({ namespace, ...obstacle });
    else wanted.push({ namespace, ...(present ? { present } : {}) });
  }
  const names = new Set(selected.map(nameOf));
  // With a namespace that ends its NamespaceOffloading ends, too.
  const staying = new Set(namespaces.filter((namespace) => !isDeleting(namespace)).map(nameOf));
  const unwanted = offloadings.list().filter((offloading) => {
    const namespace = offloading.metadata.namespace ?? "";
    const isOurs = policyOf(offloading) === nameOf(policy) && !isDeleting(offloading);
    return isOurs && staying.has(namespace) && !names.has(namespace);
  });
  return { selected: selected.length, wanted, unwanted, leftOut };
}

/** The name of the policy that made a NamespaceOffloading, if one did. */
export function policyOf({ metadata }: NamespaceOffloading): string | undefined {
  return metadata.labels?.[Labels.offloadingPolicy];
}

type Obstacle = Omit<LeftOut, "namespace">;

function obstacleOf(policy: NamespaceOffloadingPolicy, present: NamespaceOffloading): Obstacle | undefined {
  if (isDeleting(present)) return { reason: "Ending", message: "its NamespaceOffloading is being deleted" };
  const owner = policyOf(present);
  if (owner === nameOf(policy)) return undefined;
  if (owner !== undefined) return { reason: "OtherPolicy", message: `policy ${owner} offloads it` };
  return { reason: "MadeByHand", message: "it has a NamespaceOffloading that no policy made, and which counts" };
}

/** Of the policies that would make a NamespaceOffloading the one that does. */
function rivalOf(
  policy: NamespaceOffloadingPolicy,
  namespace: Namespace,
  { policies, agentNamespace }: Surroundings,
): Obstacle | undefined {
  const [first] = policies
    .filter((other) => !isDeleting(other) && nameOf(other) < nameOf(policy))
    .filter((other) => selects(other, namespace, agentNamespace))
    .map(nameOf)
    .sort();
  return first === undefined
    ? undefined
    : { reason: "OtherPolicy", message: `policy ${first} selects it, too, and comes first by its name` };
}

function nameOf({ metadata }: Namespace | NamespaceOffloadingPolicy): string {
  return metadata?.name ?? "";
}
