import { isDeepStrictEqual } from "node:util";
import {
  Finalizers,
  ForeignClusterResource,
  Labels,
  NamespaceMapResource,
  NamespaceOffloadingResource,
  Names,
  VirtualNodeResource,
  VkOptionsTemplateResource,
  type NamespaceMap,
  type NamespaceOffloading,
  type NamespaceOffloadingStatus,
  type VirtualNode,
} from "../../../api/index.js";
import {
  addFinalizer,
  Controller,
  findCondition,
  hasFinalizer,
  isDeleting,
  keyOf,
  NamespaceResource,
  PodResource,
  removeFinalizer,
  type ReconcileResult,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { isEarly } from "../early-pods-controller.js";
import { hasEnded } from "../has-ended.js";
import { offloadedPods, virtualClusterNodes } from "../informers.js";
import { lossOf, mayDeleteRemoteData, remoteDataOf } from "../../../storage/remote-data.js";
import { volumes as volumesOf } from "../storage/informers.js";
import { isDeadPeer } from "../peer-state.js";
import { unlessGone } from "../unless-gone.js";
import { optionsOf, WrongOptionsError } from "../virtual-node/options.js";
import { tellOffloading } from "./offloading-events.js";
import { podsAway } from "./pods-away.js";
import { podsHome } from "./pods-home.js";
import { remoteNamespaceName } from "./remote-name.js";
import { selectedClusters, type FormerSelection } from "./selection.js";
import { clusterConditions, offloadingPhase, type ClusterState, type KeptNamespace } from "./status.js";

/** How soon pods are asked to leave again that a disruption budget keeps. */
const LEAVING_RETRY_MS = 5_000;

/**
 * On the consumer. Watches NamespaceOffloadings, VirtualNodes and their options, virtual Nodes, pods, volumes and the NamespaceMaps towards providers. Owns the namespace's
 * scheduling label and its entry in each NamespaceMap; writes the status from what the providers answer (offloading
 * specification, §4). Where users' data would go with a remote namespace, the namespace stays until they agree (§12.11), and its pods leave first.
 */
export function namespaceOffloadingController(context: ControllerContext): Controller {
  const { client, informers, config, logger } = context;
  const offloadings = informers.for(NamespaceOffloadingResource);
  const virtualNodes = informers.for(VirtualNodeResource);
  const templates = informers.for(VkOptionsTemplateResource);
  const maps = informers.for(NamespaceMapResource);
  const namespaces = informers.for(NamespaceResource);
  const foreignClusters = informers.for(ForeignClusterResource);
  const nodes = virtualClusterNodes(context);
  const volumes = volumesOf(context);
  const pods = offloadedPods(context);
  const leave = podsAway(context);
  const comeHome = podsHome(context);
  /** Namespaces whose pods are leaving a cluster. */
  const leaving = new Set<string>();
  const events = context.recorder("namespaceoffloading-controller");

  async function reconcile(key: string): Promise<ReconcileResult | void> {
    const offloading = offloadings.get(key);
    if (!offloading || offloading.metadata.name !== Names.namespaceOffloading) return;
    if (isDeleting(offloading)) return finish(offloading);
    if (!hasFinalizer(offloading, Finalizers.namespaceOffloading)) {
      const updated = await addFinalizer(
        client,
        NamespaceOffloadingResource,
        offloading,
        Finalizers.namespaceOffloading,
      );
      offloadings.observe(updated);
    }
    const namespace = offloading.metadata.namespace ?? "";
    const remote = remoteNamespaceName(namespace, offloading.spec, config.clusterId);
    const isNew = await labelNamespace(namespace, offloading.spec.podOffloadingStrategy !== "Local");
    if (isNew) await tellOfEarlyPods(offloading);

    const selected = selectedClusters(
      offloading.spec,
      virtualNodes.list(),
      (name) => nodes.get(name),
      (clusterID) => formerSelection(offloading, clusterID),
      (virtualNode) => optionLabels(virtualNode),
    );
    const kept = await keptNamespaces(offloading, (clusterID) => !selected.get(clusterID));
    const current = await mapNamespace(namespace, (clusterID, present) =>
      selected.get(clusterID) ? remote : kept.has(clusterID) ? present : undefined,
    );
    const clusters = new Map<string, ClusterState>();
    for (const [clusterID, isSelected] of selected)
      clusters.set(clusterID, { selected: isSelected, kept: kept.get(clusterID) });
    for (const map of current.filter((one) => !isDeleting(one))) {
      const entry = map.status?.currentMapping?.[namespace];
      const isSelected = selected.get(clusterOf(map)) ?? false;
      if (!isSelected && !entry) continue;
      const isCurrent = !isSelected || entry?.remoteNamespace === remote;
      const phase = isCurrent ? entry?.phase : undefined;
      clusters.set(clusterOf(map), { selected: isSelected, phase, kept: kept.get(clusterOf(map)) });
    }
    await writeStatus(offloading, remote, clusters);
    return leaving.has(namespace) ? { requeueAfterMs: LEAVING_RETRY_MS } : undefined;
  }

  function optionLabels(virtualNode: VirtualNode): Record<string, string> | undefined {
    try {
      return optionsOf(virtualNode, templates, config).nodeExtraLabels ?? {};
    } catch (error) {
      if (error instanceof WrongOptionsError) return undefined;
      throw error;
    }
  }

  /** The maps from this cluster to its providers. In a bidirectional peering a tenant namespace also holds the peer's copy. */
  function sourceMaps(): NamespaceMap[] {
    return maps.list().filter(isSource);
  }

  /** Writes the namespace's entry into every map where it is not as wanted, and returns the maps as they are then. */
  function mapNamespace(
    namespace: string,
    wanted: (clusterID: string, present?: string) => string | undefined,
  ): Promise<NamespaceMap[]> {
    return Promise.all(
      sourceMaps().map(async (map) => {
        const present = map.spec.desiredMapping?.[namespace];
        const remote = wanted(clusterOf(map), present);
        const isEnding = isDeleting(map) && remote !== undefined;
        if (isEnding || present === remote) return map;
        const { name = "", namespace: tenant } = map.metadata;
        const patch = { spec: { desiredMapping: { [namespace]: remote ?? null } } };
        const updated = await unlessGone(client.mergePatch(NamespaceMapResource, { name, namespace: tenant }, patch));
        if (updated) maps.observe(updated);
        return updated ?? map;
      }),
    );
  }

  /**
   * Why the namespace stays in clusters that it is not wanted in any more: its users' data is there, and they have not given it up. Told in events;
   * by cluster.
   */
  function lossesOf(offloading: NamespaceOffloading, isLeft: (clusterID: string) => boolean): Map<string, string> {
    const namespace = offloading.metadata.namespace ?? "";
    const owner = namespaces.get(namespace);
    if (!owner || isDeleting(owner) || mayDeleteRemoteData(offloading)) return new Map();
    const data = remoteDataOf(namespace, volumes.list()).filter(
      ({ clusterID }) => isLeft(clusterID) && !isDeadPeer(foreignClusters.get(clusterID)),
    );
    const losses = new Map(data.map((one) => [one.clusterID, lossOf(one)]));
    for (const loss of losses.values())
      events.warning(NamespaceOffloadingResource, offloading, "VolumesWouldBeLost", loss);
    return losses;
  }

  /** Why the namespace stays in clusters that are given up, by cluster: pods leave only where nothing else keeps it. */
  async function keptNamespaces(
    offloading: NamespaceOffloading,
    isGivenUp: (clusterID: string) => boolean,
  ): Promise<Map<string, KeptNamespace>> {
    const losses = lossesOf(offloading, isGivenUp);
    const left = await bringHome(offloading, (clusterID) => isGivenUp(clusterID) && !losses.has(clusterID));
    return new Map([...because("VolumesWouldBeLost", losses), ...because("PodsLeaving", left)]);
  }

  /** Has pods leave the clusters that are given up; why the namespace stays there meanwhile, by cluster. */
  async function bringHome(
    offloading: NamespaceOffloading,
    isGivenUp: (clusterID: string) => boolean,
  ): Promise<Map<string, string>> {
    const namespace = offloading.metadata.namespace ?? "";
    const owner = namespaces.get(namespace);
    // Its pods go with a namespace.
    const staysItself = owner && !isDeleting(owner);
    const mapped = (staysItself ? sourceMaps() : []).filter(
      (map) => map.spec.desiredMapping?.[namespace] !== undefined && !isDeleting(map) && isGivenUp(clusterOf(map)),
    );
    const results = await Promise.all(
      mapped.map(clusterOf).map(async (clusterID) => {
        const isLost = isDeadPeer(foreignClusters.get(clusterID));
        const why = isLost ? undefined : await leave(offloading, clusterID);
        return why === undefined ? [] : [[clusterID, why] as const];
      }),
    );
    const left = new Map(results.flat());
    if (left.size > 0) leaving.add(namespace);
    else leaving.delete(namespace);
    return left;
  }

  /** True when new pods of the namespace are to be prepared for virtual nodes from now on. */
  async function labelNamespace(name: string, enabled: boolean): Promise<boolean> {
    const namespace = namespaces.get(name);
    if (!namespace || (namespace.metadata?.labels?.[Labels.schedulingEnabled] === "true") === enabled) return false;
    if (!enabled && !isDeleting(namespace)) await comeHome(name);
    const labels = { [Labels.schedulingEnabled]: enabled ? "true" : null };
    const updated = await unlessGone(client.mergePatch(NamespaceResource, { name }, { metadata: { labels } }));
    if (updated) namespaces.observe(updated);
    return enabled;
  }

  /** Pods that have a node stay on it: who wants them elsewhere must make them anew. */
  async function tellOfEarlyPods(offloading: NamespaceOffloading): Promise<void> {
    const { items } = await client.list(PodResource, { namespace: offloading.metadata.namespace });
    const early = items.filter((pod) => pod.spec?.nodeName && !hasEnded(pod) && isEarly(pod));
    if (early.length === 0) return;
    events.normal(
      NamespaceOffloadingResource,
      offloading,
      "PodsPredateOffloading",
      `${early.length} pods are older than the offloading and stay where they are; to let them move, make them anew, for instance by "kubectl rollout restart"`,
    );
  }

  async function finish(offloading: NamespaceOffloading): Promise<ReconcileResult | void> {
    if (!hasFinalizer(offloading, Finalizers.namespaceOffloading)) return;
    const namespace = offloading.metadata.namespace ?? "";
    await labelNamespace(namespace, false);
    const keptIn = await keptNamespaces(offloading, () => true);
    const current = await mapNamespace(namespace, (clusterID, present) =>
      keptIn.has(clusterID) ? present : undefined,
    );
    const remaining = current.filter(
      (map) => map.status?.currentMapping?.[namespace] && !isDeadPeer(foreignClusters.get(clusterOf(map))),
    );
    const clusters = new Map<string, ClusterState>(
      remaining.map((map) => {
        const kept = keptIn.get(clusterOf(map));
        const phase = kept ? map.status?.currentMapping?.[namespace]?.phase : "Terminating";
        return [clusterOf(map), { selected: false, phase, kept }];
      }),
    );
    const { remoteNamespaceName: remote } = offloading.status ?? {};
    await writeStatus(
      offloading,
      remote ?? remoteNamespaceName(namespace, offloading.spec, config.clusterId),
      clusters,
    );
    if (leaving.has(namespace)) return { requeueAfterMs: LEAVING_RETRY_MS };
    // Each change of a map's status brings the next pass.
    if (remaining.length > 0) return;
    const last = offloadings.get(keyOf(offloading)) ?? offloading;
    await unlessGone(removeFinalizer(client, NamespaceOffloadingResource, last, Finalizers.namespaceOffloading));
  }

  async function writeStatus(
    offloading: NamespaceOffloading,
    remote: string,
    clusters: ReadonlyMap<string, ClusterState>,
  ): Promise<void> {
    const conditions = clusterConditions(clusters, offloading.status?.remoteNamespacesConditions);
    const status: NamespaceOffloadingStatus = {
      remoteNamespaceName: remote,
      offloadingPhase: offloadingPhase(conditions, isDeleting(offloading)),
      remoteNamespacesConditions: conditions,
      observedGeneration: offloading.metadata.generation,
    };
    if (isDeepStrictEqual(status, offloading.status)) return;
    const latest = offloadings.get(keyOf(offloading)) ?? offloading;
    const updated = await unlessGone(client.replaceStatus(NamespaceOffloadingResource, { ...latest, status }));
    if (!updated) return;
    offloadings.observe(updated);
    tellOffloading(events, offloading, status);
  }

  const all = (): string[] => offloadings.list().map(keyOf);
  const ofNamespace = (namespace = ""): string[] => {
    const key = `${namespace}/${Names.namespaceOffloading}`;
    return offloadings.get(key) ? [key] : [];
  };
  return new Controller({ name: "namespace-offloading", reconcile, logger, workers: 4 })
    .watch(offloadings)
    .watch(virtualNodes, all)
    .watch(templates, all)
    .watch(nodes, (_node, event) => (event.type === "updated" && hasSameLabels(event.old, event.object) ? [] : all()))
    .watch(namespaces, ({ metadata }) => ofNamespace(metadata?.name))
    .watch(pods, ({ metadata }, { type }) =>
      type === "deleted" && leaving.has(metadata?.namespace ?? "") ? ofNamespace(metadata?.namespace) : [],
    )
    .watch(volumes, ({ spec }) => ofNamespace(spec?.claimRef?.namespace))
    .watch(foreignClusters, (_foreignCluster, event) =>
      event.type === "updated" && isDeadPeer(event.old) === isDeadPeer(event.object) ? [] : all(),
    )
    .watch(maps, (map) => (isSource(map) ? all() : []));
}

/** As the last pass has decided. */
function formerSelection({ metadata, status }: NamespaceOffloading, clusterID: string): FormerSelection {
  const required = findCondition(status?.remoteNamespacesConditions?.[clusterID], "OffloadingRequired");
  if (required?.status !== "True") return undefined;
  return status?.observedGeneration === metadata.generation ? "by this spec" : "by a former spec";
}

function because(reason: KeptNamespace["reason"], messages: ReadonlyMap<string, string>): [string, KeptNamespace][] {
  return [...messages].map(([clusterID, message]) => [clusterID, { reason, message }]);
}

function isSource({ metadata }: NamespaceMap): boolean {
  return metadata.labels?.[Labels.replicated] !== "true" && Boolean(metadata.labels?.[Labels.remoteID]);
}

function clusterOf({ metadata }: NamespaceMap): string {
  return metadata.labels?.[Labels.remoteID] ?? "";
}

function hasSameLabels(a: { metadata?: { labels?: object } }, b: { metadata?: { labels?: object } }): boolean {
  return isDeepStrictEqual(a.metadata?.labels, b.metadata?.labels);
}
