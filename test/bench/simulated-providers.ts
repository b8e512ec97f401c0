import {
  DataKeys,
  IdentityResource,
  Labels,
  Names,
  ResourceSliceResource,
  VirtualNodeResource,
  controlPlaneIdentityName,
  tenantNamespaceName,
  type ResourceSlice,
  type VirtualNode,
} from "../../agent/api/index.js";
import { controlPlaneSubject, makeCertificateRequest } from "../../agent/crypto/index.js";
import {
  ClusterRoleBindingResource,
  Informer,
  NamespaceResource,
  NodeResource,
  SecretResource,
  kubeTime,
} from "../../agent/runtime/index.js";
import { waitFor } from "../support/wait.js";
import type { ApiServer } from "../integration/support/api-server.js";

const MANAGER = { fieldManager: "bench" };
const LIFETIME_SECONDS = 24 * 3600;
/** All providers stand on one API server: each has another namespace there for the consumer. */
const CONSUMER = "consumer";

/** Answers for many providers at once, and makes the Nodes that virtual nodes' processes would make. */
export class SimulatedProviders {
  private readonly slices: Informer<ResourceSlice>;
  private readonly virtualNodes: Informer<VirtualNode>;
  private controlPlaneCertificate?: string;

  constructor(
    private readonly consumer: ApiServer,
    private readonly provider: ApiServer,
  ) {
    this.slices = new Informer(provider.client, ResourceSliceResource).onEvent(({ type, object }) => {
      if (type !== "deleted") void this.grant(object);
    });
    this.virtualNodes = new Informer(consumer.client, VirtualNodeResource).onEvent(({ type, object }) => {
      if (type === "added") void this.makeNode(object);
    });
  }

  async start(): Promise<void> {
    const group = "rbac.authorization.k8s.io";
    await this.provider.client.create(ClusterRoleBindingResource, {
      metadata: { name: CONSUMER },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: group, kind: "User", name: CONSUMER }],
    });
    this.slices.start();
    this.virtualNodes.start();
    await Promise.all([this.slices.waitForSync(), this.virtualNodes.waitForSync()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.slices.stop(), this.virtualNodes.stop()]);
  }

  /** Has the consumer peer with one more provider: an identity, and a slice for a virtual node. */
  async peer(id: string): Promise<void> {
    const namespace = tenantNamespaceName(id);
    const { client } = this.consumer;
    const labels = { [Labels.remoteClusterID]: id };
    const metadata = { name: namespace, labels: { ...labels, [Labels.tenantNamespace]: "true" } };
    await Promise.all([
      client.apply(NamespaceResource, { metadata }, MANAGER),
      this.provider.client.apply(NamespaceResource, { metadata: { name: namespace } }, MANAGER),
    ]);
    const authParams = this.authParams(await this.certificate());
    const identity = { name: controlPlaneIdentityName(id), namespace, labels };
    await client.apply(
      IdentityResource,
      { metadata: identity, spec: { clusterID: id, type: "ControlPlane", authParams, namespace } },
      MANAGER,
    );
    const slice = {
      name: id,
      namespace,
      labels: { ...labels, [Labels.replication]: "true", [Labels.remoteID]: id },
      annotations: { "liqo.io/create-virtual-node": "true" },
    };
    await client.apply(
      ResourceSliceResource,
      { metadata: slice, spec: { class: "default", resources: { cpu: "1" } } },
      MANAGER,
    );
  }

  /** One that its cluster's key goes with, and that every provider takes. */
  private async certificate(): Promise<string> {
    this.controlPlaneCertificate ??= await this.provider.authority.sign(await this.request(), LIFETIME_SECONDS);
    return this.controlPlaneCertificate;
  }

  private async request(): Promise<string> {
    const name = Names.authenticationKeysSecret;
    const keys = await waitFor(
      this.consumer.client,
      SecretResource,
      {
        namespace: Names.namespace,
        fieldSelector: `metadata.name=${name}`,
        timeoutMs: 30_000,
        what: "the cluster's keys",
      },
      ([secret]) => secret?.data?.[DataKeys.privateKey],
    );
    return makeCertificateRequest(controlPlaneSubject(CONSUMER), Buffer.from(keys, "base64").toString());
  }

  private authParams(certificate: string): { apiServer: string; ca: string; signedCRT: string } {
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    return {
      apiServer: this.provider.url,
      ca: base64(this.provider.authority.certificate),
      signedCRT: base64(certificate),
    };
  }

  private async grant(slice: ResourceSlice): Promise<void> {
    if (slice.status?.conditions || !slice.spec.csr) return;
    const request = Buffer.from(slice.spec.csr, "base64").toString();
    const authParams = this.authParams(await this.provider.authority.sign(request, LIFETIME_SECONDS));
    const conditions = (["Authentication", "Resources"] as const).map((type) => ({
      type,
      status: "Accepted" as const,
      reason: `ResourceSlice${type}Accepted`,
      message: "",
      lastTransitionTime: kubeTime(),
    }));
    const resources = { cpu: "1", memory: "1Gi", pods: "10" };
    await this.provider.client.replaceStatus(ResourceSliceResource, {
      ...slice,
      status: { conditions, authParams, resources },
    });
  }

  private async makeNode({ metadata, spec }: VirtualNode): Promise<void> {
    const { name = "" } = metadata;
    const { client } = this.consumer;
    const labels = { [Labels.type]: "virtual-node", [Labels.remoteClusterID]: spec.clusterID ?? "" };
    const node = await client.create(NodeResource, { metadata: { name, labels } });
    const condition = { type: "Ready", status: "True", reason: "Simulated", message: "" };
    await client.replaceStatus(NodeResource, {
      ...node,
      status: { conditions: [{ ...condition, lastHeartbeatTime: kubeTime(), lastTransitionTime: kubeTime() }] },
    });
  }
}
