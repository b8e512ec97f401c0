import { isDeepStrictEqual } from "node:util";
import type { Container, PodSpec } from "kubernetes-types/core/v1";
import { escapeUser, Labels, QuotaResource, ShadowPodResource, type Quota, type ShadowPod } from "../../api/index.js";
import { isDeleting, keyOf, NamespaceResource, RuntimeClassResource } from "../../runtime/index.js";
import { allow, deny, labelPatch, mutate, type AdmissionAnswer, type AdmissionHandler } from "./admission.js";
import type { AdmissionRequest } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { podCost, takesMore } from "./pod-cost.js";
import { QuotaUsage } from "./quota-usage.js";
import { withOverhead } from "./runtime-overhead.js";
import { quotaProblem } from "./shadow-pod-quota.js";
import { whenSynced } from "./when-synced.js";

/**
 * Notes on a ShadowPod who made it, and lets nobody else change it (offloading specification, §5.1). One that was made before resources were enforced
 * bears no name: it is the one's who has a Quota and changes it first, and counts there from then on.
 */
export function shadowPodMutator(context: WebhookContext): AdmissionHandler {
  const quotaOf = quotaFinder(context);
  return async (request) => {
    const { object, oldObject, userInfo } = request as AdmissionRequest<ShadowPod>;
    // An object under deletion only loses finalizers, by whichever component put them there.
    if (!object || !context.config.resourceEnforcement || isDeleting(object)) return allow();
    const user = escapeUser(userInfo.username ?? "");
    if (user === "") return deny("missing creator name");
    const owner = oldObject && (creatorOf(oldObject) ?? ((await quotaOf(user)) ? user : undefined));
    // Neither taken over by administrators, who have no Quota, nor given to others by them.
    if (oldObject && !owner && !creatorOf(object)) return allow();
    if (oldObject && owner !== user) {
      return deny("creator name cannot be modified: only the user who created a ShadowPod may update it");
    }
    return mutate(labelPatch(object, { [Labels.creatorUser]: user }));
  };
}

function creatorOf({ metadata }: ShadowPod): string | undefined {
  return metadata.labels?.[Labels.creatorUser];
}

/** Finds the Quota of a user, also one that this replica has not seen yet. */
function quotaFinder({ client, informers }: WebhookContext): (user: string) => Promise<Quota | undefined> {
  const quotas = informers.for(QuotaResource);
  return async (user) => {
    const isOfUser = ({ spec }: Quota): boolean => escapeUser(spec.user) === user;
    return quotas.list().find(isOfUser) ?? (await client.list(QuotaResource)).items.find(isOfUser);
  };
}

/** Holds ShadowPods to their namespace's consumer and to their user's Quota (offloading specification, §5.2). Deleting is always allowed. */
export function shadowPodValidator(context: WebhookContext): AdmissionHandler {
  const { client, informers, config } = context;
  const namespaces = informers.for(NamespaceResource);
  const quotas = informers.for(QuotaResource);
  const shadowPods = informers.for(ShadowPodResource);
  const runtimeClasses = informers.for(RuntimeClassResource);
  const quotaOf = quotaFinder(context);
  const usage = new QuotaUsage(shadowPods, runtimeClasses);

  async function namespaceOrigin(name: string): Promise<string | undefined> {
    const label = namespaces.get(name)?.metadata?.labels?.[Labels.remoteClusterID];
    if (label) return label;
    return (await client.get(NamespaceResource, { name }))?.metadata?.labels?.[Labels.remoteClusterID];
  }

  async function checkQuota(shadow: ShadowPod, dryRun: boolean): Promise<AdmissionAnswer> {
    const user = creatorOf(shadow);
    if (!user) return deny("missing creator label");
    const quota = await quotaOf(user);
    if (!quota) return deny(`failed getting quota: there is none for user ${user}`);
    const pod = withOverhead(shadow.spec.pod ?? { containers: [] }, runtimeClasses);
    const key = keyOf(shadow);
    // No wait from here to the reservation: two requests at once must not both take the last free amount.
    const problem = quotaProblem(pod, quota.spec, usage.usedBy(user, key));
    if (problem) return deny(problem);
    if (!dryRun) usage.reserve(user, key, podCost(pod));
    return allow();
  }

  /** One that takes no more than before needs no room. */
  function checkUpdate(old: ShadowPod, shadow: ShadowPod, dryRun: boolean): AdmissionAnswer | Promise<AdmissionAnswer> {
    const answer = checkShadowPodUpdate(old, shadow);
    const isLarger = answer.allowed && takesMore(shadow.spec.pod, old.spec.pod);
    return isLarger && config.resourceEnforcement ? checkQuota(shadow, dryRun) : answer;
  }

  return whenSynced([shadowPods, quotas, runtimeClasses], async (request) => {
    const { object, oldObject, operation, namespace = "", dryRun = false } = request as AdmissionRequest<ShadowPod>;
    if (!object) return allow();
    if (operation === "UPDATE") return oldObject ? checkUpdate(oldObject, object, dryRun) : allow();
    const origin = object.metadata.labels?.[Labels.offloadingOrigin];
    if (!origin) return deny(`missing label ${Labels.offloadingOrigin}`);
    if (origin !== (await namespaceOrigin(namespace))) return deny("shadowpod Cluster ID label mismatch");
    return config.resourceEnforcement ? checkQuota(object, dryRun) : allow();
  });
}

/** The origin stays, and of the pod only what Kubernetes lets change; whether it takes a change is the Pod's affair. */
export function checkShadowPodUpdate(old: ShadowPod, shadow: ShadowPod): AdmissionAnswer {
  const label = Labels.offloadingOrigin;
  if (old.metadata.labels?.[label] !== shadow.metadata.labels?.[label]) return deny(`label ${label} is immutable`);
  if (!isDeepStrictEqual(fixedPart(old.spec.pod), fixedPart(shadow.spec.pod))) {
    return deny(
      "of spec.pod only its resources, images and resources of containers and init containers, activeDeadlineSeconds, tolerations and ephemeralContainers may be changed",
    );
  }
  return allow();
}

function fixedPart(pod: PodSpec | undefined): object | undefined {
  if (!pod) return undefined;
  const fixed = (container: Container): Container => ({ ...container, image: undefined, resources: undefined });
  return {
    ...pod,
    ...{ resources: undefined },
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
    ephemeralContainers: undefined,
    containers: pod.containers?.map(fixed),
    initContainers: pod.initContainers?.map(fixed),
  };
}
