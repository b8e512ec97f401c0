import {
  asksForVirtualNode,
  ConfigurationResource,
  ConnectionResource,
  DataKeys,
  gatewayResourceName,
  GatewayClientResource,
  GatewayServerResource,
  IdentityResource,
  Labels,
  Names,
  NetworkResource,
  PublicKeyResource,
  ResourceSliceResource,
  TenantResource,
  tenantNamespaceName,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import { newKeyPair } from "../../../agent/controller/network/gateways/key-secret.js";
import { agentManifests } from "../../../agent/install/index.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import {
  collectionPath,
  DeploymentResource,
  NamespaceResource,
  NodeResource,
  SecretResource,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { generateKeyPairSync } from "node:crypto";
import type { Json, ObjectStore } from "./store.js";

/** What an agent needs to be seen and used. */
const INSTALLED = ["Namespace", "ConfigMap", "Network", "Deployment"];

type Handler = (object: Json) => void;

/** One agent's behaviour, without a connection in between: statuses are written in the same turn as what they answer. */
export class SimulatedAgent {
  private readonly written: Record<string, Handler>;
  private readonly deleted: Record<string, Handler>;

  constructor(
    private readonly id: string,
    private readonly store: ObjectStore,
    private readonly peer: (id: string) => ObjectStore | undefined,
  ) {
    const on = (type: ResourceType, handler: Handler) => ({ [collectionOf(type)]: handler });
    this.written = {
      ...on(SecretResource, (secret) => this.signNonce(secret)),
      ...on(TenantResource, ({ metadata }) => {
        const authParams = { apiServer: "https://provider:6443", signedCRT: base64("crt") };
        this.setStatus(TenantResource, metadata, { tenantNamespace: metadata?.namespace, authParams });
      }),
      ...on(IdentityResource, ({ metadata }) => {
        this.setStatus(IdentityResource, metadata, { kubeconfigSecretRef: { name: `kubeconfig-${metadata?.name}` } });
      }),
      ...on(ConfigurationResource, ({ metadata, spec }) => {
        const { cidr } = (spec as { remote?: { cidr?: object } }).remote ?? {};
        this.setStatus(ConfigurationResource, metadata, { remote: { cidr } });
      }),
      ...on(GatewayServerResource, ({ metadata }) => {
        const endpoint = { addresses: ["192.0.2.10"], port: 51840, protocol: "UDP" };
        this.setStatus(GatewayServerResource, metadata, { endpoint, secretRef: this.runGateway(metadata) });
      }),
      ...on(GatewayClientResource, ({ metadata }) => {
        this.setStatus(GatewayClientResource, metadata, { secretRef: this.runGateway(metadata) });
      }),
      ...on(PublicKeyResource, ({ metadata }) => {
        const { name, namespace, labels } = metadata ?? {};
        const connection = { metadata: { name, namespace, labels }, status: { value: "Connected" } };
        this.store.merge(collectionOf(ConnectionResource), connection);
      }),
      ...on(ResourceSliceResource, (slice) => this.grant(slice)),
    };
    this.deleted = {
      ...on(GatewayServerResource, (gateway) => this.collect(gateway)),
      ...on(GatewayClientResource, (gateway) => this.collect(gateway)),
      ...on(ResourceSliceResource, ({ metadata }) => {
        const provider = this.peer(metadata?.labels?.[Labels.remoteClusterID] ?? "");
        const namespace = tenantNamespaceName(this.id);
        provider?.delete(collectionOf(ResourceSliceResource), metadata?.name ?? "", namespace);
      }),
      ...on(VirtualNodeResource, ({ metadata }) => {
        this.store.delete(collectionOf(NodeResource), metadata?.name ?? "");
      }),
      ...on(NamespaceResource, ({ metadata }) => this.store.empty(metadata?.name ?? "")),
    };
  }

  /** Its objects as an installation leaves them. */
  install(podCIDR: string): void {
    const ranges = { podCIDRs: [podCIDR], serviceCIDR: "10.96.0.0/12", apiServerAddress: "" };
    for (const manifest of agentManifests(installInputs(agentInputs.parse({ clusterId: this.id }), ranges))) {
      if (!INSTALLED.includes(manifest.kind ?? "") && !manifest.kind?.endsWith("Template")) continue;
      this.store.merge(collectionOf(resourceTypeOf(manifest)), structuredClone(manifest) as Json);
    }
    for (const { metadata, spec } of this.store.list(collectionOf(NetworkResource)))
      this.setStatus(NetworkResource, metadata, { cidr: (spec as { cidr: string }).cidr });
    this.store.merge(collectionOf(SecretResource), {
      metadata: { name: Names.authenticationKeysSecret, namespace: Names.namespace },
      data: KEYS,
    });
  }

  onWrite(collection: string, object: Json): void {
    this.written[collection]?.(object);
  }

  onDelete(collection: string, object: Json): void {
    this.deleted[collection]?.(object);
  }

  private signNonce({ metadata, data }: Json): void {
    const present = data as Record<string, string> | undefined;
    const set = (key: string, value: string): void => {
      const { name, namespace } = metadata ?? {};
      this.store.merge(collectionOf(SecretResource), { metadata: { name, namespace }, data: { [key]: value } });
    };
    const { labels = {} } = metadata ?? {};
    if (labels[Labels.nonce] && !present?.[DataKeys.nonce]) set(DataKeys.nonce, base64(base64("nonce")));
    if (labels[Labels.signedNonce] && present?.[DataKeys.nonce] && !present[DataKeys.signedNonce])
      set(DataKeys.signedNonce, base64("signed"));
  }

  /** A Deployment that counts as running, and a key Secret. */
  private runGateway(gateway: Json["metadata"]): { name: string; namespace?: string } {
    const id = { name: gatewayResourceName(gateway?.name ?? ""), namespace: gateway?.namespace };
    if (!this.store.get(collectionOf(SecretResource), id.name, id.namespace))
      this.store.merge(collectionOf(SecretResource), { metadata: id, data: newKeyPair() });
    const status = { observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1 };
    this.store.merge(collectionOf(DeploymentResource), { metadata: id, status });
    return id;
  }

  /** What a gateway owned. */
  private collect({ metadata }: Json): void {
    for (const type of [PublicKeyResource, ConnectionResource] as ResourceType[])
      this.store.delete(collectionOf(type), metadata?.name ?? "", metadata?.namespace);
  }

  private grant({ metadata, spec }: Json): void {
    const providerId = metadata?.labels?.[Labels.remoteClusterID] ?? "";
    const namespace = tenantNamespaceName(this.id);
    const labels = { [Labels.replicated]: "true", [Labels.originID]: this.id, [Labels.remoteClusterID]: this.id };
    this.peer(providerId)?.merge(collectionOf(ResourceSliceResource), {
      metadata: { name: metadata?.name, namespace, labels },
      spec,
    });
    const granted = { cpu: "4", ...(spec as { resources?: Record<string, string> }).resources };
    if (asksForVirtualNode(metadata?.annotations)) this.makeNode(metadata, providerId, granted);
    const conditions = ["Authentication", "Resources"].map((type) => ({
      type,
      status: "Accepted",
      lastTransitionTime: new Date(0).toISOString(),
      reason: "Accepted",
      message: "granted",
    }));
    this.setStatus(ResourceSliceResource, metadata, { conditions, resources: granted });
  }

  private makeNode(slice: Json["metadata"], providerId: string, granted: Record<string, string>): void {
    const { name, namespace } = slice ?? {};
    this.store.merge(collectionOf(VirtualNodeResource), {
      metadata: { name, namespace, labels: { [Labels.remoteClusterID]: providerId } },
      spec: { clusterID: providerId, createNode: true, resourceQuota: { hard: granted } },
    });
    this.store.merge(collectionOf(NodeResource), {
      metadata: { name, labels: { [Labels.type]: "virtual-node" } },
      status: { allocatable: granted, conditions: [{ type: "Ready", status: "True" }] },
    });
  }

  private setStatus(type: ResourceType, metadata: Json["metadata"], status: object): void {
    const { name, namespace } = metadata ?? {};
    this.store.merge(collectionOf(type), { metadata: { name, namespace }, status });
  }
}

function collectionOf(type: ResourceType): string {
  return collectionPath(type).slice(1);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** All agents share one pair of keys: nobody checks them here. */
const KEYS = ((): Record<string, string> => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    [DataKeys.privateKey]: base64(privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
    [DataKeys.publicKey]: publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64"),
  };
})();
