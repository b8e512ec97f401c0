import type { Deployment } from "kubernetes-types/apps/v1";
import type { Secret, Service, ServiceAccount } from "kubernetes-types/core/v1";
import type { ObjectMeta } from "kubernetes-types/meta/v1";
import type { ClusterRoleBinding, PolicyRule, Role, RoleBinding } from "kubernetes-types/rbac/v1";
import {
  LabelValues,
  Labels,
  NETWORKING,
  Names,
  gatewayClusterRoleBindingName,
  gatewayResourceName,
} from "../../../api/index.js";
import { nonBlockingOwnerReference } from "../../../runtime/index.js";
import { leaseName } from "../../../gateway/leadership/lease-name.js";
import { keySecretLabels, newKeyPair } from "./key-secret.js";
import { remoteClusterOf, type GatewayKinds, type Gateway, type Workload } from "./kinds.js";

/** Everything that a gateway runs by (network specification, §5.2); all but the ClusterRoleBinding is owned by it. */
export class WorkloadManifests<G extends Gateway, W extends Workload> {
  private readonly name: string;
  private readonly namespace: string;
  private readonly owned: ObjectMeta;

  constructor(
    kinds: GatewayKinds<G, W>,
    private readonly workload: W,
  ) {
    this.name = workload.metadata.name ?? "";
    this.namespace = workload.metadata.namespace ?? "";
    const ownerReferences = [nonBlockingOwnerReference(kinds.workload, workload)];
    this.owned = { namespace: this.namespace, labels: this.labels(), ownerReferences };
  }

  serviceAccount(): ServiceAccount {
    return { metadata: { ...this.owned, name: this.name } };
  }

  clusterRoleBinding(): ClusterRoleBinding {
    return {
      metadata: {
        name: gatewayClusterRoleBindingName(this.namespace, this.name),
        labels: { [Labels.gatewayName]: this.name, [Labels.gatewayNamespace]: this.namespace },
      },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: Names.gatewayRole },
      subjects: [{ kind: "ServiceAccount", name: this.name, namespace: this.namespace }],
    };
  }

  /** What this gateway alone may do in its namespace: see its own keys; tell, or note, where the server is; and where it has several replicas, choose the one that serves. */
  role(secretName: string): Role {
    return {
      metadata: { ...this.owned, name: gatewayResourceName(this.name) },
      rules: [
        { apiGroups: [""], resources: ["secrets"], resourceNames: [secretName], verbs: ["get", "list", "watch"] },
        this.endpointRule(),
        ...((this.deployment().spec?.replicas ?? 1) > 1 ? this.leadershipRules() : []),
      ],
    };
  }

  roleBinding(): RoleBinding {
    const name = gatewayResourceName(this.name);
    return {
      metadata: { ...this.owned, name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name: this.name, namespace: this.namespace }],
    };
  }

  /** Servers tell their client where they are reached, and clients note it on their Connection. */
  private endpointRule(): PolicyRule {
    const group = { apiGroups: [NETWORKING.group] };
    return this.mode === "server"
      ? { ...group, resources: ["gatewayservers"], resourceNames: [this.name], verbs: ["get", "list", "watch"] }
      : {
          ...group,
          resources: ["connections"],
          resourceNames: [gatewayResourceName(this.name)],
          verbs: ["patch"],
        };
  }

  private get mode(): "server" | "client" {
    return "service" in this.workload.spec ? "server" : "client";
  }

  private leadershipRules(): PolicyRule[] {
    const { mode } = this;
    const lease = leaseName({ name: this.name, namespace: this.namespace, mode });
    const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
    return [
      { ...leases, resourceNames: [lease], verbs: ["get", "update"] },
      { ...leases, verbs: ["create"] },
      // The label of the replica that serves.
      { apiGroups: [""], resources: ["pods"], verbs: ["patch"] },
    ];
  }

  /** A new key pair, under the name of generated ones. */
  keySecret(): Secret {
    return { metadata: this.keySecretMetadata(), type: "Opaque", data: newKeyPair() };
  }

  /** Of generated keys: whose they are. */
  keySecretMetadata(): ObjectMeta {
    const labels = { ...this.labels(), ...keySecretLabels(remoteClusterOf(this.workload) ?? "") };
    return { ...this.owned, name: gatewayResourceName(this.name), labels };
  }

  deployment(): Deployment {
    const { metadata, spec } = this.workload.spec.deployment;
    return { metadata: this.merged(metadata), spec };
  }

  /** Servers only. */
  service(): Service | undefined {
    if (!("service" in this.workload.spec)) return undefined;
    const { metadata, spec } = this.workload.spec.service;
    return { metadata: this.merged(metadata), spec };
  }

  private merged(metadata: ObjectMeta | undefined): ObjectMeta {
    return {
      ...this.owned,
      name: metadata?.name ?? gatewayResourceName(this.name),
      labels: { ...metadata?.labels, ...this.labels() },
      annotations: metadata?.annotations,
    };
  }

  /** By these, gateways are found whatever the template says. */
  private labels(): Record<string, string> {
    const remoteClusterID = remoteClusterOf(this.workload);
    return {
      [Labels.networkingComponent]: LabelValues.gatewayComponent,
      [Labels.gatewayName]: this.name,
      [Labels.gatewayNamespace]: this.namespace,
      ...(remoteClusterID ? { [Labels.remoteClusterID]: remoteClusterID } : {}),
    };
  }
}
