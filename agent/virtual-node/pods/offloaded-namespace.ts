import type { Pod, Secret } from "kubernetes-types/core/v1";
import { Labels, ShadowPodResource, type ShadowPod } from "../../api/index.js";
import { Informer, PodResource, identityMetadata } from "../../runtime/index.js";
import type { NamespacePair, VirtualNodeContext } from "../context.js";
import { changeablePart } from "./pod-changes.js";
import type { TokenSecrets } from "../service-accounts/token-secrets.js";

/** What this node has in one namespace of the provider. */
export interface OffloadedNamespace {
  pair: NamespacePair;
  shadowPods: Informer<ShadowPod>;
  pods: Informer<Pod>;
  tokens: Informer<Secret>;
}

/** Watches of this node's objects in a mapped namespace; of specs only what may change while a pod runs is kept. */
export function watchNamespace(
  context: VirtualNodeContext,
  pair: NamespacePair,
  tokens: TokenSecrets,
): OffloadedNamespace {
  const { remote, config, logger } = context;
  const options = {
    namespace: pair.remote,
    labelSelector: `${Labels.offloadingOrigin}=${config.homeClusterId},${Labels.offloadingNodeName}=${config.nodeName}`,
    logger,
  };
  return {
    pair,
    shadowPods: new Informer(remote, ShadowPodResource, {
      ...options,
      trim: (shadow) => ({ ...shadow, spec: { pod: changeablePart(shadow.spec.pod) } }),
    }),
    pods: new Informer(remote, PodResource, { ...options, trim: identityAndStatus }),
    tokens: tokens.informer(pair),
  };
}

/** Of a remote pod: which it is, whose, and how it is. Its labels and annotations are those of its ShadowPod. */
export function identityAndStatus(pod: Pod): Pod {
  const { apiVersion, kind, metadata, status } = pod;
  const { ownerReferences } = metadata ?? {};
  return { apiVersion, kind, metadata: { ...identityMetadata(pod), ownerReferences }, status };
}

/** What can be done with an informer of any kind. */
export interface AnyInformer {
  readonly hasSynced: boolean;
  start(): unknown;
  stop(): Promise<void>;
  onSync(listener: () => void): unknown;
}

export function informersOf({ shadowPods, pods, tokens }: OffloadedNamespace): AnyInformer[] {
  return [shadowPods, pods, tokens];
}
