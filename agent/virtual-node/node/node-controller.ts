import type { Node } from "kubernetes-types/core/v1";
import { VirtualNodeResource, type VirtualNode } from "../../api/index.js";
import {
  Controller,
  Informer,
  NodeResource,
  TerminalError,
  isConflict,
  isDeleting,
  isNotFound,
  messageOf,
  type ReconcileResult,
} from "../../runtime/index.js";
import { FIELD_MANAGER, type VirtualNodeContext } from "../context.js";
import { LEASE_RENEW_MS, renewNodeLease } from "./node-lease.js";
import {
  APPLIED_ANNOTATION,
  appliedRecord,
  desiredNodeMetadata,
  isOwnNode,
  nodeMetadataPatch,
} from "./node-metadata.js";
import { desiredNodeStatus, nodeStatusDiffers, nodeStatusPatch } from "./node-status.js";
import { isProviderAlive } from "./ping.js";

const STATUS_HEARTBEAT_MS = 60_000;

/**
 * Keeps the Node object. Watches: the VirtualNode, its ForeignCluster, the Node. Owns: the Node's status, its lease,
 * and those labels, annotations and taints that it has set itself. Never writes `spec.unschedulable`: a cordon lasts.
 * The Node is deleted by the VirtualNode's controller, never here.
 */
export class NodeController {
  readonly name = "node";
  private readonly nodes: Informer<Node>;
  private readonly controller: Controller;
  private kubeletVersion = "";
  private statusWrittenAt = 0;
  private leaseRenewedAt = 0;

  constructor(private readonly context: VirtualNodeContext) {
    const { local, config, state, logger } = context;
    this.nodes = new Informer(local, NodeResource, { fieldSelector: `metadata.name=${config.nodeName}`, logger });
    this.controller = new Controller({ name: this.name, workers: 1, logger, reconcile: () => this.reconcile() });
    const key = (): string[] => [config.nodeName];
    this.controller.watch(this.nodes).watch(state.virtualNodes, key).watch(state.foreignClusters, key);
  }

  async start(): Promise<void> {
    const { local, config } = this.context;
    const { gitVersion } = await local.request<{ gitVersion: string }>("GET", "/version");
    this.kubeletVersion = gitVersion;
    this.nodes.start();
    await this.nodes.waitForSync();
    this.controller.start();
    this.controller.enqueue(config.nodeName);
  }

  async stop(): Promise<void> {
    await this.controller.stop();
    await this.nodes.stop();
  }

  private async reconcile(): Promise<ReconcileResult> {
    const { config, state } = this.context;
    const next = { requeueAfterMs: LEASE_RENEW_MS };
    const virtualNode = state.virtualNode;
    if (!virtualNode || !(virtualNode.spec.createNode ?? config.createNode)) return next;
    const alive = await isProviderAlive(this.context);
    const present = this.nodes.get(config.nodeName);
    const node = present ?? (alive ? await this.told(this.create(virtualNode), virtualNode) : undefined);
    if (!node || isDeleting(node)) return next;
    this.refuseForeign(node, virtualNode);
    const steps = [() => this.updateMetadata(node, virtualNode)];
    // A silent lease, not a status, tells the cluster that the provider is away: pods then leave after their toleration.
    if (alive) {
      steps.push(() => this.updateStatus(this.nodes.get(config.nodeName) ?? node, virtualNode));
      steps.push(() => this.renewLease(node));
    }
    await this.takeAll(steps, virtualNode);
    if (!alive) return next;
    return { requeueAfterMs: Math.max(100, this.leaseRenewedAt + LEASE_RENEW_MS - Date.now()) };
  }

  /** One that fails keeps no other from being taken: all pods would leave a Node whose lease is silent. @throws what the first to fail has thrown */
  private async takeAll(steps: (() => Promise<void>)[], virtualNode: VirtualNode): Promise<void> {
    const failures: unknown[] = [];
    for (const step of steps) await this.told(step(), virtualNode).catch((error: unknown) => failures.push(error));
    if (failures.length === 0) return;
    // The lease would be renewed late by a pass that has failed often.
    this.controller.enqueueAfter(this.context.config.nodeName, LEASE_RENEW_MS);
    throw failures[0];
  }

  /** Labels, taints and quantities are a user's, who looks at the VirtualNode for what is wrong with them. A Node that has changed or gone meanwhile is no such thing. */
  private async told<T>(write: Promise<T>, virtualNode: VirtualNode): Promise<T> {
    try {
      return await write;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) {
        this.context.recorder.warning(VirtualNodeResource, virtualNode, "FailedNodeUpdate", messageOf(error));
      }
      throw error;
    }
  }

  private async create(virtualNode: VirtualNode): Promise<Node | undefined> {
    if (isDeleting(virtualNode)) return undefined;
    const { local, config } = this.context;
    const { labels, annotations, taints } = desiredNodeMetadata(config, virtualNode);
    const record = appliedRecord({ labels, annotations, taints });
    const node = await local.create(
      NodeResource,
      {
        metadata: { name: config.nodeName, labels, annotations: { ...annotations, [APPLIED_ANNOTATION]: record } },
        spec: { taints },
        status: this.desiredStatus(virtualNode),
      },
      { fieldManager: FIELD_MANAGER },
    );
    this.statusWrittenAt = Date.now();
    this.leaseRenewedAt = 0;
    this.nodes.observe(node);
    return node;
  }

  private refuseForeign(node: Node, virtualNode: VirtualNode): void {
    const { config, recorder } = this.context;
    if (isOwnNode(node, config)) return;
    const message = `Node ${config.nodeName} exists and is no virtual node of cluster ${config.foreignClusterId}: remove it or choose another name for the VirtualNode`;
    recorder.warning(VirtualNodeResource, virtualNode, "NodeNameTaken", message);
    throw new TerminalError(message);
  }

  private async updateMetadata(node: Node, virtualNode: VirtualNode): Promise<void> {
    const { local, config } = this.context;
    const patch = nodeMetadataPatch(node, desiredNodeMetadata(config, virtualNode));
    if (!patch) return;
    const options = { fieldManager: FIELD_MANAGER };
    this.nodes.observe(await local.mergePatch(NodeResource, { name: config.nodeName }, patch, options));
  }

  private async updateStatus(node: Node, virtualNode: VirtualNode): Promise<void> {
    const { local, config } = this.context;
    const desired = this.desiredStatus(virtualNode, node);
    const due = Date.now() - this.statusWrittenAt >= STATUS_HEARTBEAT_MS;
    const isHeartbeat = !nodeStatusDiffers(node.status, desired);
    if (!due && isHeartbeat) return;
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, isHeartbeat } as const;
    const patch = nodeStatusPatch(node.status, desired);
    this.nodes.observe(await local.mergePatch(NodeResource, { name: config.nodeName }, patch, options));
    this.statusWrittenAt = Date.now();
  }

  private async renewLease(node: Node): Promise<void> {
    if (Date.now() - this.leaseRenewedAt < LEASE_RENEW_MS - 50) return;
    await renewNodeLease(this.context.local, node);
    this.leaseRenewedAt = Date.now();
  }

  private desiredStatus(virtualNode: VirtualNode, node?: Node): ReturnType<typeof desiredNodeStatus> {
    const { config, state } = this.context;
    return desiredNodeStatus({
      config,
      virtualNode,
      kubeletVersion: this.kubeletVersion,
      checkNetwork:
        virtualNode.spec.disableNetworkCheck === undefined
          ? config.checkNetwork
          : !virtualNode.spec.disableNetworkCheck,
      networkingEnabled: state.networkingEnabled,
      foreignCluster: state.foreignCluster,
      present: node?.status,
    });
  }
}
