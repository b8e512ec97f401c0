import {
  Finalizers,
  ForeignClusterResource,
  Labels,
  type ForeignCluster,
  type ForeignClusterCondition,
  type ForeignClusterStatus,
} from "../../api/index.js";
import {
  Controller,
  addFinalizer,
  hasFinalizer,
  isAlreadyExists,
  isDeleting,
  removeFinalizer,
  type EventRecorder,
  type Informer,
  type KubeObject,
  sameJson,
} from "../../runtime/index.js";
import { remoteClusterOf } from "../authentication/lookups.js";
import type { ControllerContext, Startable } from "../context.js";
import { peerSignals } from "../peer-signals.js";
import { tellTransitions } from "../transition-events.js";
import { ApiServerChecks } from "./api-server-checks.js";
import { authenticationFindings, isAuthenticationInUse } from "./authentication-findings.js";
import { dated, moduleStatus } from "./conditions.js";
import { isNetworkingInUse, networkingFindings } from "./networking-findings.js";
import { isOffloadingInUse, offloadingFindings } from "./offloading-findings.js";
import { addressOf, kubeconfigOf, roleOf } from "./peer-address.js";
import { PeerViews, isEmptyView, type PeerView } from "./peer-view.js";

/**
 * Both sides. Watches everything labelled with a peer's cluster ID, gateway Deployments and virtual nodes' pods; owns the ForeignCluster of
 * each peer: made with the first resource, removed with the last; writes its status in complete passes only (control plane specification,
 * §8). Looks at the peer's API server while there is an identity for it.
 */
export class ForeignClusterController implements Startable {
  readonly name = "foreigncluster-controller";
  private readonly views: PeerViews;
  private readonly foreignClusters: Informer<ForeignCluster>;
  private readonly checks: ApiServerChecks;
  private readonly controller: Controller;
  private readonly events: EventRecorder;

  constructor(private readonly context: ControllerContext) {
    const { informers, logger, config } = context;
    this.events = context.recorder(this.name);
    this.views = new PeerViews(context);
    this.foreignClusters = informers.for(ForeignClusterResource);
    this.checks = new ApiServerChecks({
      intervalSeconds: config.pingIntervalSeconds,
      timeoutSeconds: config.pingTimeoutSeconds,
      logger,
      onChange: (clusterID) => this.controller.enqueue(clusterID),
    });
    peerSignals(context).onTrouble((clusterID) => this.checks.lookNow(clusterID));
    this.controller = this.watching(
      new Controller({ name: this.name, logger, reconcile: (clusterID) => this.reconcile(clusterID) }),
    );
  }

  start(): void {
    this.controller.start();
  }

  async stop(): Promise<void> {
    this.checks.stopAll();
    await this.controller.stop();
  }

  private watching(controller: Controller): Controller {
    const { views } = this;
    const peerOf = (object: KubeObject): string[] => {
      const clusterID = remoteClusterOf(object);
      return clusterID ? [clusterID] : [];
    };
    return controller
      .watch(this.foreignClusters)
      .watch(views.configurations, peerOf)
      .watch(views.connections, peerOf)
      .watch(views.gatewayServers, peerOf)
      .watch(views.gatewayClients, peerOf)
      .watch(views.tenants, peerOf)
      .watch(views.identities, peerOf)
      .watch(views.secrets, peerOf)
      .watch(views.tenantNamespaces, peerOf)
      .watch(views.virtualNodes, peerOf)
      .watch(views.nodes, peerOf)
      .watch(views.deployments, (deployment) => views.clustersOfDeployment(deployment))
      .watch(views.pods, (pod) => views.clustersOfPod(pod));
  }

  private async reconcile(clusterID: string): Promise<void> {
    const present = this.foreignClusters.get(clusterID);
    if (present && isDeleting(present)) return this.release(present);
    const view = this.views.of(clusterID);
    if (isEmptyView(view)) return this.retire(clusterID, present, view);
    const foreignCluster = present ?? (await this.create(clusterID));
    if (!foreignCluster) return;
    const held = await this.check(foreignCluster, view);
    await this.writeStatus(held, this.statusFrom(held, view));
  }

  private async create(clusterID: string): Promise<ForeignCluster | undefined> {
    const metadata = { name: clusterID, labels: { [Labels.remoteClusterID]: clusterID } };
    try {
      const created = await this.context.client.create(
        ForeignClusterResource,
        ForeignClusterResource.build({ metadata, spec: { clusterID } }),
      );
      this.foreignClusters.observe(created);
      return created;
    } catch (error) {
      // Its event brings the next pass.
      if (isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  /** Nothing refers to the peer any more. A ForeignCluster that never stood for anything was made by a person, and stays. */
  private async retire(clusterID: string, present: ForeignCluster | undefined, view: PeerView): Promise<void> {
    this.checks.stop(clusterID);
    if (!present) return;
    if (!hasStoodForSomething(present)) return this.writeStatus(present, this.statusFrom(present, view));
    await this.context.client.delete(ForeignClusterResource, { name: clusterID }, { uid: present.metadata.uid });
    if (hasFinalizer(present, Finalizers.apiServerChecker)) {
      const current = await this.context.client.get(ForeignClusterResource, { name: clusterID });
      if (current && isDeleting(current)) await this.release(current);
    }
  }

  private async release(foreignCluster: ForeignCluster): Promise<void> {
    this.checks.stop(foreignCluster.spec.clusterID);
    if (!hasFinalizer(foreignCluster, Finalizers.apiServerChecker)) return;
    const { client } = this.context;
    await removeFinalizer(client, ForeignClusterResource, foreignCluster, Finalizers.apiServerChecker);
  }

  /** Starts or stops looking at the peer's API server; the finalizer says that a look goes on. */
  private async check(foreignCluster: ForeignCluster, view: PeerView): Promise<ForeignCluster> {
    const { client, config } = this.context;
    const { clusterID } = foreignCluster.spec;
    const kubeconfig = config.pingIntervalSeconds > 0 ? kubeconfigOf(view) : undefined;
    if (kubeconfig) this.checks.ensure(clusterID, kubeconfig);
    else this.checks.stop(clusterID);
    const held = hasFinalizer(foreignCluster, Finalizers.apiServerChecker);
    if (held === (kubeconfig !== undefined)) return foreignCluster;
    const change = held ? removeFinalizer : addFinalizer;
    const updated = await change(client, ForeignClusterResource, foreignCluster, Finalizers.apiServerChecker);
    this.foreignClusters.observe(updated);
    return updated;
  }

  private statusFrom({ metadata, status }: ForeignCluster, view: PeerView): ForeignClusterStatus {
    const { networkingEnabled } = this.context.config;
    const modules = status?.modules;
    const conditions = this.apiServerCondition(metadata.name ?? "", view, status?.conditions);
    return {
      observedGeneration: metadata.generation ?? 0,
      role: roleOf(view),
      modules: {
        networking: moduleStatus(
          networkingEnabled && isNetworkingInUse(view),
          networkingFindings(view),
          modules?.networking,
        ),
        authentication: moduleStatus(
          isAuthenticationInUse(view),
          authenticationFindings(view),
          modules?.authentication,
        ),
        offloading: moduleStatus(isOffloadingInUse(view), offloadingFindings(view), modules?.offloading),
      },
      ...addressOf(view),
      ...(conditions.length > 0 ? { conditions } : {}),
    };
  }

  private apiServerCondition(
    clusterID: string,
    view: PeerView,
    old: ForeignClusterCondition[] | undefined,
  ): ForeignClusterCondition[] {
    if (!kubeconfigOf(view)) return [];
    const type = "APIServerStatus";
    const unchecked = this.context.config.pingIntervalSeconds === 0;
    const state = unchecked ? { answers: true, message: "not checked" } : this.checks.state(clusterID);
    // Before the first look the last known condition stands.
    if (!state) return old?.filter((condition) => condition.type === type) ?? [];
    const { message } = state;
    return state.answers
      ? dated([{ type, status: "Established", reason: "APIServerReady", message }], old)
      : dated([{ type, status: "Error", reason: "APIServerNotReady", message }], old);
  }

  private async writeStatus(foreignCluster: ForeignCluster, status: ForeignClusterStatus): Promise<void> {
    if (sameJson(foreignCluster.status, status)) return;
    const { client } = this.context;
    this.foreignClusters.observe(await client.replaceStatus(ForeignClusterResource, { ...foreignCluster, status }));
    tellTransitions(this.events, ForeignClusterResource, foreignCluster, {
      before: conditionsOf(foreignCluster.status),
      after: conditionsOf(status),
      only: TOLD,
    });
  }
}

/** What people are told of by events as well: whether packets pass, and whether the peer's API server answers. */
const TOLD = ["NetworkConnectionStatus", "APIServerStatus"];

function conditionsOf(status: ForeignClusterStatus | undefined): ForeignClusterCondition[] {
  return [...(status?.modules?.networking?.conditions ?? []), ...(status?.conditions ?? [])];
}

function hasStoodForSomething({ status }: ForeignCluster): boolean {
  if (!status) return false;
  const { networking, authentication, offloading } = status.modules;
  return status.role !== "Unknown" || [networking, authentication, offloading].some(({ enabled }) => enabled);
}
