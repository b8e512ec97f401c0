import {
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  GeneveTunnelResource,
  InternalFabricResource,
  IPResource,
  Labels,
  LabelValues,
  NetworkResource,
  PublicKeyResource,
  WgGatewayClientResource,
  WgGatewayServerResource,
} from "../../../agent/api/index.js";
import {
  isDeleting,
  NamespaceResource,
  PodResource,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import type { DepartingPair, Peer } from "../../preconditions/index.js";
import {
  concurrently,
  ifVisible,
  waitUntilNone,
  WaitTimeout,
  withLimit,
  type Progress,
  type Selection,
} from "../../waits/index.js";
import { findTenantNamespace, releaseTenantNamespace } from "../tenant-namespace/index.js";
import { listConfigurations } from "./configuration-scope.js";
import type { LinkEnd } from "./ends.js";
import { explainAgent } from "./explain.js";
import { hasReverseUses, reverseUses, waitForDepartingNodes } from "./in-use.js";
import { directionManager, isLeftByReverse, isUsedByReverse, LEFT, linkAnnotation } from "./users.js";

/** What makes the link; the rest is owned by it. */
const ROOTS: readonly ResourceType[] = [GatewayClientResource, GatewayServerResource, ConfigurationResource];

/** What follows, and must be gone before the tenant namespace goes. */
const FOLLOWERS: readonly ResourceType[] = [
  WgGatewayClientResource,
  WgGatewayServerResource,
  InternalFabricResource,
  GeneveTunnelResource,
  NetworkResource,
  IPResource,
];

/** How long the other direction's Tenant and slices may take to follow its NetworkLink: one `pulumi destroy` takes them in turn. */
const LEAVING_MS = 15_000;

/** Takes a link apart, unless the other direction uses it (network specification, §13; control plane specification, §14). */
export async function disconnect(progress: Progress, pair: DepartingPair): Promise<void> {
  const ends = await departingEnds(progress, pair);
  await Promise.all(ends.map((end) => waitForDepartingNodes(progress, end)));
  if ((await isShared(ends, progress.signal)) && !(await leaveLast(progress, ends))) {
    progress.status("the link stays, as the other direction uses it");
    return;
  }
  await concurrently(progress, async (scope) => {
    const removals = ends.map((end) => ({ end, work: scope.start((inner) => removeEnd(inner, end)) }));
    for (const { end, work } of removals) {
      await work;
      progress.status(`${end.side}: gateway and network configuration deleted`);
    }
    await Promise.all(
      peersOf(pair).map(({ peer, remoteId }) => scope.start((inner) => releaseTenantNamespace(inner, peer, remoteId))),
    );
    await Promise.all(ends.map((end) => scope.start((inner) => waitForGateways(inner, end))));
  });
}

/** The sides that are there, each with the other's ID. */
export function peersOf({
  consumer,
  provider,
  consumerId,
  providerId,
}: DepartingPair): { peer: Peer; remoteId: string }[] {
  return [
    ...(consumer ? [{ peer: consumer, remoteId: providerId }] : []),
    ...(provider ? [{ peer: provider, remoteId: consumerId }] : []),
  ];
}

/** The ends that still have a tenant namespace. */
export async function departingEnds(progress: Progress, pair: DepartingPair): Promise<LinkEnd[]> {
  const ends = await Promise.all(
    peersOf(pair).map(async ({ peer, remoteId }) => {
      const namespace = (await findTenantNamespace(peer.client, remoteId, progress.signal))?.metadata?.name;
      return namespace ? [{ ...peer, remoteId, namespace }] : [];
    }),
  );
  return ends.flat();
}

/** Whether the reverse direction needs the link: another NetworkLink's mark, or its Tenant or slices, by whatever tool they were made. */
async function isShared(ends: readonly LinkEnd[], signal: AbortSignal): Promise<boolean> {
  const uses = await Promise.all(
    ends.map(async (end) => {
      const configurations = await listOrNone(end, ConfigurationResource, signal);
      if (configurations.some(({ metadata }) => isUsedByReverse(end, metadata?.annotations))) return true;
      return hasReverseUses(end, signal);
    }),
  );
  return uses.includes(true);
}

/**
 * Leaves the link to the other direction; true when that is leaving as well and has nothing on it any more, so that it is to be taken apart after all.
 * Both write before they look: of two that leave at the same moment at least one sees the other's mark.
 */
async function leaveLast(progress: Progress, ends: readonly LinkEnd[]): Promise<boolean> {
  await Promise.all(ends.map((end) => leave(progress, end)));
  const marks = await Promise.all(
    ends.map(async (end) => {
      const configurations = await listOrNone(end, ConfigurationResource, progress.signal);
      return configurations.map(({ metadata }) => ({
        isUsed: isUsedByReverse(end, metadata?.annotations),
        isLeft: isLeftByReverse(end, metadata?.annotations),
      }));
    }),
  );
  if (marks.flat().some(({ isUsed }) => isUsed) || !marks.flat().some(({ isLeft }) => isLeft)) return false;
  return waitForReverse(progress, ends);
}

/** Whether what the other direction has on the link goes, now that its NetworkLink has gone. */
async function waitForReverse(progress: Progress, ends: readonly LinkEnd[]): Promise<boolean> {
  const limited = withLimit(progress, LEAVING_MS);
  const filter = (object: KubeObject): boolean => !isDeleting(object);
  try {
    for (const end of ends) {
      const { client, namespace } = end;
      const { type, labelSelector } = reverseUses(end);
      await ifVisible(waitUntilNone(limited, client, type, { namespace, labelSelector, filter }));
    }
    return true;
  } catch (error) {
    if (!(error instanceof WaitTimeout)) throw error;
    const places = ends.map(({ client, namespace }) => `namespace ${namespace} of cluster ${client.cluster}`);
    progress.log(
      "warning",
      `${error.message}. The network stays for the other direction, though no NetworkLink of it is left to take it away: once it is not needed, ` +
        `"kubectl delete configurations,gatewayservers,gatewayclients --all -n NAMESPACE" does, in ${places.join(" and ")}`,
    );
    return false;
  }
}

/** Takes the own mark off a link that stays. */
async function leave(progress: Progress, end: LinkEnd): Promise<void> {
  for (const { metadata } of await listOrNone(end, ConfigurationResource, progress.signal)) {
    const patch = { metadata: { annotations: { [linkAnnotation(end)]: LEFT } } };
    await end.client.mergePatch(
      ConfigurationResource,
      { name: metadata?.name ?? "", namespace: metadata?.namespace },
      patch,
      { fieldManager: directionManager(end), signal: progress.signal },
    );
  }
}

async function removeEnd(progress: Progress, end: LinkEnd): Promise<void> {
  const { client, namespace } = end;
  await Promise.all(ROOTS.map((type) => deleteAll(progress, end, type)));
  const labelSelector = { [Labels.remoteClusterID]: end.remoteId };
  const gone = (type: ResourceType, selection: Selection): Promise<void> =>
    ifVisible(waitUntilNone(progress, client, type, { namespace, ...selection }, explanationFor(end)));
  await Promise.all([
    ...ROOTS.map((type) => gone(type, { labelSelector })),
    ...FOLLOWERS.map((type) => gone(type, { filter: isOwned })),
  ]);
}

/** Takes the gateways of both ends away, and what they own; the ranges stay. */
export async function removeGateways(progress: Progress, ends: readonly LinkEnd[]): Promise<void> {
  const gateways = [GatewayClientResource, GatewayServerResource] as readonly ResourceType[];
  await Promise.all(
    ends.map(async (end) => {
      await Promise.all(gateways.map((type) => deleteAll(progress, end, type)));
      const { client, namespace } = end;
      const selection = { namespace, labelSelector: { [Labels.remoteClusterID]: end.remoteId } };
      for (const type of gateways) await waitUntilNone(progress, client, type, selection, explanationFor(end));
      await waitUntilNone(progress, client, PublicKeyResource, { ...selection, filter: isOwned }, explanationFor(end));
      await waitForGateways(progress, end);
    }),
  );
}

/** The ends of the tunnel itself. In a namespace that is going they end with it. */
async function waitForGateways(progress: Progress, end: LinkEnd): Promise<void> {
  const { client, namespace } = end;
  const found = await ifVisible(client.get(NamespaceResource, { name: namespace }, progress.signal));
  if (found && isDeleting(found)) return;
  const labelSelector = { [Labels.networkingComponent]: LabelValues.gatewayComponent };
  await ifVisible(waitUntilNone(progress, client, PodResource, { namespace, labelSelector }, explanationFor(end)));
}

const explanationFor = (end: LinkEnd) => (signal: AbortSignal) => explainAgent(end, signal);

/** What a user put beside the link's own objects stays. */
function isOwned({ metadata }: KubeObject): boolean {
  return (metadata?.ownerReferences ?? []).length > 0;
}

async function deleteAll(progress: Progress, end: LinkEnd, type: ResourceType): Promise<void> {
  const objects = await listOrNone(end, type, progress.signal);
  await Promise.all(
    objects.map(({ metadata }) =>
      end.client.delete(
        type,
        { name: metadata?.name ?? "", namespace: metadata?.namespace },
        { signal: progress.signal },
      ),
    ),
  );
}

async function listOrNone(end: LinkEnd, type: ResourceType, signal: AbortSignal): Promise<KubeObject[]> {
  if (type === ConfigurationResource) return (await ifVisible(listConfigurations(end, signal))) ?? [];
  const labelSelector = { [Labels.remoteClusterID]: end.remoteId };
  const list = await ifVisible(end.client.list(type, { namespace: end.namespace, labelSelector, signal }));
  return list?.items ?? [];
}
