import type { Secret } from "kubernetes-types/core/v1";
import type { OwnerReference } from "kubernetes-types/meta/v1";
import { isDeleting, type Informer, type KubeObject, type SharedInformers } from "../../../runtime/index.js";
import { CLIENT, SERVER, WORKLOADS, type Gateway, type Workload } from "./kinds.js";

/** Knows which generated keys belong to gateways that are gone or about to go: the garbage collector removes them with their owner. */
export class LeftKeys {
  private readonly gateways: Informer<Gateway>[];
  private readonly workloads: Informer<Workload>[];

  constructor(informers: SharedInformers) {
    this.gateways = [SERVER.gateway, CLIENT.gateway].map((type) => informers.for<Gateway>(type));
    this.workloads = WORKLOADS.map((type) => informers.for<Workload>(type));
  }

  /** Whether a gateway made these keys that will take them with it. False of keys that nobody owns. */
  has(secret: Secret): boolean {
    const owner = secret.metadata?.ownerReferences?.find(isKeyOwner);
    if (!owner) return false;
    const workload = objectOf(this.workloads, owner, secret.metadata?.namespace);
    return !workload || this.isEnding(workload);
  }

  /** Deleted, or left by a gateway that is: the garbage collector comes to it later. */
  isEnding(workload: Workload): boolean {
    const { ownerReferences = [], namespace } = workload.metadata;
    const isGone = (owner: OwnerReference): boolean => {
      const gateway = objectOf(this.gateways, owner, namespace);
      return !gateway || isDeleting(gateway);
    };
    const ofGateways = ownerReferences.filter(({ kind }) => this.gateways.some(({ type }) => type.kind === kind));
    return isDeleting(workload) || ofGateways.some(isGone);
  }
}

/** Whether the owner is what a gateway is made into, and keys are generated for. */
export function isKeyOwner({ kind }: OwnerReference): boolean {
  return WORKLOADS.some((type) => type.kind === kind);
}

function objectOf<T extends KubeObject>(
  informers: readonly Informer<T>[],
  { kind, name, uid }: OwnerReference,
  namespace = "",
): T | undefined {
  const object = informers.find(({ type }) => type.kind === kind)?.find(namespace, name);
  return object?.metadata?.uid === uid ? object : undefined;
}
