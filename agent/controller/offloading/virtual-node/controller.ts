import { isDeepStrictEqual } from "node:util";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Node } from "kubernetes-types/core/v1";
import {
  Finalizers,
  Labels,
  LabelValues,
  NamespaceMapResource,
  Names,
  NetworkResource,
  NetworkType,
  virtualKubeletDeploymentName,
  virtualNodeClusterRoleBindingName,
  virtualNodeCustomRoleBindingName,
  VirtualNodeResource,
  VkOptionsTemplateResource,
  type VirtualNode,
  type VirtualNodeCondition,
} from "../../../api/index.js";
import {
  addFinalizer,
  ClusterRoleBindingResource,
  Controller,
  DeploymentResource,
  hasFinalizer,
  isAlreadyExists,
  isDeleting,
  isRefused,
  keyOf,
  messageOf,
  NodeResource,
  PodResource,
  removeFinalizer,
  ServiceAccountResource,
  TerminalError,
  withCondition,
  type ReconcileResult,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { lossesWithout, lossInformers } from "../cluster-losses.js";
import { customRoles } from "../custom-roles.js";
import { FIELD_MANAGER } from "../field-manager.js";
import { isNodeReady, offloadedPods, virtualClusterNodes, virtualKubeletPods } from "../informers.js";
import { isDeadPeer } from "../peer-state.js";
import { unlessGone } from "../unless-gone.js";
import {
  accountNameOf,
  clusterRoleBindingOf,
  customRoleBindingOf,
  namespaceMapOf,
  serviceAccountOf,
} from "./access.js";
import { createsNode, deploymentOf, selectorLabels } from "./deployment.js";
import { cordon, removePods } from "./drain.js";
import { drainCondition, drainDeadline } from "./drain-condition.js";
import { tellNodeState } from "./node-events.js";
import { optionsOf, WrongOptionsError } from "./options.js";

/** A look at a drain when no pod has told of its end: a budget may have something to spare again. */
const DRAIN_LOOK_MS = 2_000;

/**
 * On the consumer. Watches VirtualNodes and what is made from them. Owns the Deployment, account and binding of each virtual node's process and the
 * NamespaceMap towards its cluster; writes status.conditions. At the end: drains the Node, ends the process, deletes the Node, in this
 * order (offloading specification, §2.3 to §2.6). The end of a cluster's last one waits while users' data would go with it.
 */
export function virtualNodeController(context: ControllerContext): Controller {
  const { client, informers, config, logger } = context;
  const known = lossInformers(informers);
  const { virtualNodes, maps, foreignClusters } = known;
  const templates = informers.for(VkOptionsTemplateResource);
  const networks = informers.for(NetworkResource);
  const deployments = informers.for(DeploymentResource, {
    labelSelector: `${Labels.offloadingComponent}=${LabelValues.virtualKubeletComponent}`,
  });
  const customRole = customRoles(context, Names.virtualKubeletLocalCustomRole);
  const bindings = informers.for(ClusterRoleBindingResource, { labelSelector: Labels.remoteClusterID });
  const processes = virtualKubeletPods(context);
  const nodes = virtualClusterNodes(context);
  const pods = offloadedPods(context);
  const events = context.recorder("virtualnode-controller");
  /** UIDs of those that need their NamespaceMap no more. Of several that end at once one must find that it is the last. */
  const finished = new Set<string | undefined>();

  async function reconcile(key: string): Promise<ReconcileResult | void> {
    const virtualNode = virtualNodes.get(key);
    if (!virtualNode) return;
    if (isDeleting(virtualNode)) return finish(virtualNode);
    if (!hasFinalizer(virtualNode, Finalizers.virtualNode)) {
      virtualNodes.observe(await addFinalizer(client, VirtualNodeResource, virtualNode, Finalizers.virtualNode));
    }
    if (!virtualNode.spec.clusterID || !virtualNode.spec.kubeconfigSecretRef?.name) {
      const message = "spec.clusterID and spec.kubeconfigSecretRef.name are needed";
      return setConditions(virtualNode, [
        { type: "VirtualKubelet", status: "None", reason: "Incomplete", message },
        { type: "Node", status: "None", reason: "Incomplete", message },
      ]);
    }
    const options = await ensured(virtualNode);
    const hasNode = createsNode(virtualNode, options);
    const node = ownNode(virtualNode);
    // Node turned off later: its pods leave first, while the process goes on.
    if (!hasNode && node && !(await drain(virtualNode, node))) return { requeueAfterMs: DRAIN_LOOK_MS };
    if (!hasNode && node) await deleteNode(node);
    return setConditions(virtualNode, [
      processCondition(virtualNode),
      nodeCondition(hasNode ? node : undefined, hasNode),
    ]);
  }

  /** What cannot be made as the VirtualNode asks is told there; a process that runs already goes on as it is. */
  async function ensured(virtualNode: VirtualNode): Promise<ReturnType<typeof optionsOf>> {
    try {
      const options = optionsOf(virtualNode, templates, config);
      await ensureProcess(virtualNode, options);
      return options;
    } catch (error) {
      if (!(error instanceof WrongOptionsError) && !isRefused(error)) throw error;
      const condition = { ...processCondition(virtualNode), reason: "Refused", message: messageOf(error) };
      await setConditions(virtualNode, [condition]);
      events.warning(VirtualNodeResource, virtualNode, "Refused", messageOf(error));
      throw new TerminalError(messageOf(error));
    }
  }

  async function ensureProcess(virtualNode: VirtualNode, options: ReturnType<typeof optionsOf>): Promise<void> {
    const localPodCIDRs = networks
      .list()
      .filter(({ metadata }) => metadata.labels?.[Labels.networkType] === NetworkType.pod)
      .map(({ spec }) => spec.cidr);
    const by = { fieldManager: FIELD_MANAGER };
    await Promise.all([
      client.apply(ServiceAccountResource, serviceAccountOf(virtualNode), by),
      client.apply(ClusterRoleBindingResource, clusterRoleBindingOf(virtualNode), by),
      ensureDeployment(deploymentOf({ virtualNode, options, config, localPodCIDRs })),
      ensureNamespaceMap(virtualNode),
      ensureCustomRights(virtualNode, options),
    ]);
  }

  async function ensureDeployment(wanted: Deployment): Promise<void> {
    const { name = "", namespace = "" } = wanted.metadata ?? {};
    const isRecreate = wanted.spec?.strategy?.type === "Recreate";
    // Nobody but the API server has set it, so that an apply does not take it away, and with the other strategy it is refused.
    if (isRecreate && deployments.find(namespace, name)?.spec?.strategy?.rollingUpdate) {
      const strategy = { type: "Recreate", rollingUpdate: null };
      await client.mergePatch(DeploymentResource, { name, namespace }, { spec: { strategy } });
    }
    await client.apply(DeploymentResource, wanted, { fieldManager: FIELD_MANAGER });
  }

  /** Only where the administrator has made the role, and for a virtual node that reflects something of it. */
  async function ensureCustomRights(virtualNode: VirtualNode, options: ReturnType<typeof optionsOf>): Promise<void> {
    if (!customRole.get(Names.virtualKubeletLocalCustomRole)) return;
    const binding = customRoleBindingOf(virtualNode);
    if (options.customResources?.length) {
      bindings.observe(await client.apply(ClusterRoleBindingResource, binding, { fieldManager: FIELD_MANAGER }));
      return;
    }
    const { name = "" } = binding.metadata ?? {};
    if (bindings.get(name)) await client.delete(ClusterRoleBindingResource, { name });
  }

  async function ensureNamespaceMap(virtualNode: VirtualNode): Promise<void> {
    const desired = namespaceMapOf(virtualNode);
    const present = maps.get(keyOf(desired));
    const hasLabels = Object.entries(desired.metadata.labels ?? {}).every(
      ([label, value]) => present?.metadata.labels?.[label] === value,
    );
    // One of a former peering that is still being deleted: its end brings the next pass.
    if (present && (hasLabels || isDeleting(present))) return;
    if (present?.metadata.labels?.[Labels.replicated] === "true") {
      throw new Error(
        `NamespaceMap ${keyOf(present)} is the peer's copy: it must not take the place of this cluster's own`,
      );
    }
    if (present) {
      await client.mergePatch(NamespaceMapResource, nameOf(present), { metadata: { labels: desired.metadata.labels } });
      return;
    }
    try {
      maps.observe(await client.create(NamespaceMapResource, NamespaceMapResource.build(desired)));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async function finish(virtualNode: VirtualNode): Promise<ReconcileResult | void> {
    if (!hasFinalizer(virtualNode, Finalizers.virtualNode)) return;
    const losses = lossesWithout([virtualNode], known);
    // What is given up, or moved, meanwhile brings the next pass.
    if (losses.length > 0) return keep(virtualNode, losses.join("; "));
    const { node, isTaken } = await lastNode(virtualNode);
    // Pods stay bound to a Node that somebody has deleted, and the process must live to end them at the provider.
    if (!isTaken && !(await drain(virtualNode, node))) return { requeueAfterMs: DRAIN_LOOK_MS };
    if (!(await endProcess(virtualNode))) return { requeueAfterMs: DRAIN_LOOK_MS };
    if (node) await deleteNode(node);
    const name = virtualNode.metadata.name ?? "";
    await Promise.all([
      client.delete(ClusterRoleBindingResource, { name: virtualNodeClusterRoleBindingName(name) }),
      client.delete(ClusterRoleBindingResource, { name: virtualNodeCustomRoleBindingName(name) }),
      client.delete(ServiceAccountResource, accountNameOf(virtualNode)),
      deleteNamespaceMap(virtualNode),
    ]);
    const last = virtualNodes.get(keyOf(virtualNode)) ?? virtualNode;
    await unlessGone(removeFinalizer(client, VirtualNodeResource, last, Finalizers.virtualNode));
  }

  /** Its pods stay as well: who wants to copy data out needs them. Admission refuses such an end; this is for what passes it by. */
  async function keep(virtualNode: VirtualNode, message: string): Promise<void> {
    events.warning(VirtualNodeResource, virtualNode, "VolumesWouldBeLost", message);
    await setConditions(virtualNode, [{ type: "Node", status: "Deleting", reason: "VolumesWouldBeLost", message }]);
  }

  /** True once no pod is left on the Node. */
  async function drain(virtualNode: VirtualNode, node: Node | undefined): Promise<boolean> {
    if (node) await unlessGone(cordon(client, node));
    const deadline = drainDeadline(virtualNode);
    const isOverdue = Date.now() >= deadline.getTime();
    // A drain does not wait for a cluster that nothing is known of any more.
    const foreignCluster = foreignClusters.get(virtualNode.spec.clusterID ?? "");
    const isDead = !foreignCluster || isDeadPeer(foreignCluster);
    const mode = isDead ? "abandon" : isOverdue ? "delete" : "evict";
    const progress = await removePods(client, virtualNode.metadata.name ?? "", mode);
    if (!node && progress.remaining.length === 0) return true;
    if (isOverdue && progress.remaining.length > 0) {
      events.warning(
        VirtualNodeResource,
        virtualNode,
        "DrainDeadline",
        `deleted after the deadline: ${progress.remaining.join(", ")}`,
      );
    }
    await setConditions(virtualNode, [drainCondition(progress, deadline)]);
    return progress.remaining.length === 0;
  }

  /** True once the process is gone: while it runs it would make the Node again. */
  async function endProcess(virtualNode: VirtualNode): Promise<boolean> {
    const { namespace, name = "" } = virtualNode.metadata;
    const deployment = { name: virtualKubeletDeploymentName(name), namespace };
    const wasThere = await client.delete(DeploymentResource, deployment);
    const running = await client.list(PodResource, { namespace, labelSelector: selectorLabels(virtualNode) });
    if (running.items.length === 0) return true;
    if (wasThere) {
      const message = "waiting for the virtual node's process to end";
      await setConditions(virtualNode, [{ type: "VirtualKubelet", status: "Deleting", reason: "Deleting", message }]);
    }
    return false;
  }

  async function deleteNode({ metadata }: Node): Promise<void> {
    await client.delete(NodeResource, { name: metadata?.name ?? "" }, { uid: metadata?.uid });
  }

  /** The map serves all virtual nodes of its cluster: the last one takes it along. */
  async function deleteNamespaceMap(virtualNode: VirtualNode): Promise<void> {
    const { clusterID = "" } = virtualNode.spec;
    finished.add(virtualNode.metadata.uid);
    const others = virtualNodes
      .list()
      .some((other) => other.spec.clusterID === clusterID && !finished.has(other.metadata.uid));
    const map = maps.find(virtualNode.metadata.namespace ?? "", clusterID);
    if (others || !map || map.metadata.labels?.[Labels.remoteID] !== clusterID) return;
    await client.delete(NamespaceMapResource, nameOf(map), { uid: map.metadata.uid });
  }

  /** The virtual node's Node; never another one of the same name. */
  function ownNode(virtualNode: VirtualNode): Node | undefined {
    const node = nodes.get(virtualNode.metadata.name ?? "");
    return node && isNodeOf(node, virtualNode) ? node : undefined;
  }

  /** As `ownNode`, when it is too late for the cache to be behind. `isTaken`: there is another one of that name, whose pods are none of ours. */
  async function lastNode(virtualNode: VirtualNode): Promise<{ node?: Node; isTaken: boolean }> {
    const name = virtualNode.metadata.name ?? "";
    const found = ownNode(virtualNode) ?? (await client.get(NodeResource, { name }));
    const isTaken = found !== undefined && !isNodeOf(found, virtualNode);
    return { node: isTaken ? undefined : found, isTaken };
  }

  function processCondition(virtualNode: VirtualNode): VirtualNodeCondition {
    const { namespace = "", name = "" } = virtualNode.metadata;
    const ready = deployments.find(namespace, virtualKubeletDeploymentName(name))?.status?.readyReplicas ?? 0;
    return ready > 0
      ? { type: "VirtualKubelet", status: "Running", reason: "Running", message: "the virtual node's process is ready" }
      : {
          type: "VirtualKubelet",
          status: "Creating",
          reason: "NotReady",
          message: "no pod of the virtual node's process is ready",
        };
  }

  async function setConditions(virtualNode: VirtualNode, changed: VirtualNodeCondition[]): Promise<void> {
    const latest = virtualNodes.get(keyOf(virtualNode)) ?? virtualNode;
    const before = latest.status?.conditions;
    const conditions = changed.reduce<VirtualNodeCondition[]>(withCondition, before ?? []);
    if (isDeepStrictEqual(before, conditions)) return;
    const patch = { status: { conditions } };
    const updated = await unlessGone(
      client.mergePatch(VirtualNodeResource, nameOf(latest), patch, { subresource: "status" }),
    );
    if (!updated) return;
    virtualNodes.observe(updated);
    tellNodeState(events, updated, before, conditions);
  }

  const byName = (name: string | undefined): string[] =>
    virtualNodes
      .list()
      .filter(({ metadata }) => metadata.name === name)
      .map(keyOf);
  const all = (): string[] => virtualNodes.list().map(keyOf);
  /** Only a drain, which cordons first, waits for the end of pods. */
  const isCordoned = (nodeName = ""): boolean => nodes.get(nodeName)?.spec?.unschedulable === true;
  /** Those whose end may wait for data to be given up. */
  const ending = (): string[] => virtualNodes.list().filter(isDeleting).map(keyOf);
  const ofCluster = (clusterID: string | undefined): string[] =>
    virtualNodes
      .list()
      .filter(({ spec }) => spec.clusterID === clusterID)
      .map(keyOf);
  return new Controller({ name: "virtual-node", reconcile, logger, workers: 4 })
    .watch(virtualNodes, (virtualNode, { type }) => {
      if (type === "deleted") finished.delete(virtualNode.metadata.uid);
      return [keyOf(virtualNode), ...ending()];
    })
    .watch(deployments, ({ metadata }) => byName(metadata?.labels?.[Labels.virtualNode]))
    .watch(processes, ({ metadata }, { type }) =>
      type === "deleted" ? byName(metadata?.labels?.[Labels.virtualNode]) : [],
    )
    .watch(nodes, ({ metadata }, event) =>
      event.type === "updated" && isNodeReady(event.old) === isNodeReady(event.object) ? [] : byName(metadata?.name),
    )
    .watch(pods, ({ spec }, { type }) =>
      type === "deleted" && isCordoned(spec?.nodeName) ? byName(spec?.nodeName) : [],
    )
    .watch(maps, ({ metadata }, { type }) => (type === "deleted" ? ofCluster(metadata.name) : ending()))
    .watch(known.volumes, ending)
    .watch(known.offloadings, ending)
    .watch(known.namespaces, (_namespace, { type }) => (type === "added" ? [] : ending()))
    .watch(foreignClusters, ({ metadata }, event) =>
      event.type === "updated" && isDeadPeer(event.old) === isDeadPeer(event.object) ? [] : ofCluster(metadata.name),
    )
    .watch(templates, all)
    .watch(customRole, all)
    .watch(networks, ({ metadata }) => (metadata.labels?.[Labels.networkType] === NetworkType.pod ? all() : []));
}

function isNodeOf({ metadata }: Node, { spec }: VirtualNode): boolean {
  const { [Labels.type]: type, [Labels.remoteClusterID]: clusterID } = metadata?.labels ?? {};
  return type === LabelValues.virtualNodeType && clusterID === spec.clusterID;
}

function nodeCondition(node: Node | undefined, wanted: boolean): VirtualNodeCondition {
  if (!wanted) return { type: "Node", status: "None", reason: "NoNode", message: "createNode is false" };
  if (!node)
    return { type: "Node", status: "Creating", reason: "Creating", message: "the node has not been created yet" };
  return isNodeReady(node)
    ? { type: "Node", status: "Running", reason: "NodeReady", message: "the node is ready" }
    : { type: "Node", status: "Running", reason: "NodeNotReady", message: "the node is not ready" };
}

function nameOf({ metadata }: { metadata: { name?: string; namespace?: string } }): {
  name: string;
  namespace?: string;
} {
  return { name: metadata.name ?? "", namespace: metadata.namespace };
}
