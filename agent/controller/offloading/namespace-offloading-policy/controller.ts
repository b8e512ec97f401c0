import {
  Names,
  NamespaceOffloadingPolicyResource,
  NamespaceOffloadingResource,
  type NamespaceOffloading,
  type NamespaceOffloadingPolicy,
} from "../../../api/index.js";
import {
  Controller,
  findCondition,
  isDeleting,
  isRefused,
  keyOf,
  messageOf,
  NamespaceResource,
  sameJson,
  type InformerEvent,
  type KubeObject,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { unlessGone } from "../unless-gone.js";
import { isAsDesired, offloadingOf } from "./desired.js";
import { planFor, type LeftOut, type Wanted } from "./plan.js";
import { policyStatus } from "./status.js";
import { createOffloading, updateOffloading } from "./write.js";

/**
 * On the consumer. Watches NamespaceOffloadingPolicies, Namespaces and NamespaceOffloadings. Owns the NamespaceOffloadings that carry a policy's label, one in
 * each namespace that its selector selects, and tells in the policy's status which namespaces have none and why (offloading specification, §12.5). With the
 * policy they go by garbage collection.
 */
export function namespaceOffloadingPolicyController(context: ControllerContext): Controller {
  const { client, informers, config, logger } = context;
  const policies = informers.for(NamespaceOffloadingPolicyResource);
  const offloadings = informers.for(NamespaceOffloadingResource);
  const namespaces = informers.for(NamespaceResource);
  const events = context.recorder("namespaceoffloadingpolicy-controller");

  async function reconcile(key: string): Promise<void> {
    const policy = policies.get(key);
    if (!policy || isDeleting(policy)) return;
    const plan = planFor(policy, {
      policies: policies.list(),
      namespaces: namespaces.list(),
      offloadings,
      agentNamespace: config.namespace,
    });
    const refused: LeftOut[] = [];
    const tryTo = async (work: () => Promise<void>, namespace: string): Promise<void> => {
      const message = await refusalOf(work);
      if (message !== undefined) refused.push({ namespace, reason: "Refused", message });
    };
    for (const wanted of plan.wanted) await tryTo(() => ensure(policy, wanted), wanted.namespace);
    const missing = plan.wanted.filter(({ namespace }) => !offloadings.find(namespace, Names.namespaceOffloading));
    for (const one of plan.unwanted) await tryTo(() => withdraw(one), one.metadata.namespace ?? "");
    const offloaded = plan.wanted.length - missing.length;
    const leftOut = [...refused, ...plan.leftOut];
    await writeStatus(policy, policyStatus(policy, { selected: plan.selected, offloaded, leftOut }));
    const [first] = refused;
    // Nothing tells when whoever refuses would not any more.
    if (first) throw new Error(`namespace ${first.namespace}: ${first.message}`);
  }

  async function ensure(policy: NamespaceOffloadingPolicy, { namespace, present }: Wanted): Promise<void> {
    const desired = offloadingOf(policy, namespace);
    if (present && isAsDesired(present, desired)) return;
    const write = present ? updateOffloading(client, present, desired) : createOffloading(client, desired);
    const written = await unlessGone(write);
    if (written) offloadings.observe(written);
  }

  async function withdraw({ metadata }: NamespaceOffloading): Promise<void> {
    const { name = "", namespace, uid } = metadata;
    await client.delete(NamespaceOffloadingResource, { name, namespace }, { uid });
  }

  async function writeStatus(
    policy: NamespaceOffloadingPolicy,
    status: NonNullable<NamespaceOffloadingPolicy["status"]>,
  ): Promise<void> {
    if (sameJson(status, policy.status)) return;
    const latest = policies.get(keyOf(policy)) ?? policy;
    const updated = await unlessGone(client.replaceStatus(NamespaceOffloadingPolicyResource, { ...latest, status }));
    if (!updated) return;
    policies.observe(updated);
    const [before, after] = [policy.status, status].map((one) => findCondition(one?.conditions, "Applied"));
    const isNews = after?.status === "False" && after.reason !== "Ending" && after.message !== before?.message;
    if (!isNews) return;
    events.warning(NamespaceOffloadingPolicyResource, policy, after.reason, after.message);
  }

  const all = (_object: KubeObject, event: InformerEvent<KubeObject>): string[] =>
    event.type === "updated" && sameJson(relevantOf(event.old), relevantOf(event.object))
      ? []
      : policies.list().map(keyOf);
  // One worker: two policies that want the same namespace see what the other has made of it.
  return new Controller({ name: "namespace-offloading-policy", reconcile, logger, workers: 1 })
    .watch(policies, all)
    .watch(namespaces, all)
    .watch(offloadings, all);
}

/** What others write into a status changes nothing here. */
function relevantOf({ metadata = {} }: KubeObject): object {
  const { uid, generation, deletionTimestamp, labels, annotations, ownerReferences } = metadata;
  return { uid, generation, deletionTimestamp, labels, annotations, ownerReferences };
}

/** Why the API server, or who admits for it, will not have this; undefined when it is done. @throws what else went wrong */
async function refusalOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (isRefused(error)) return messageOf(error);
    throw error;
  }
}
