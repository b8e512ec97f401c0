import type { Ingress, IngressSpec } from "kubernetes-types/networking/v1";
import { IngressResource } from "../../runtime/index.js";
import { publishedAddresses, tellAddresses } from "./published-address.js";
import type { ReflectedKind } from "./reflected-kind.js";
import { isReflectable } from "./reflected-metadata.js";

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

/** Ingresses get the class that the provider advertises (offloading specification, §8.4). */
export const ingressKind: ReflectedKind<Ingress, Ingress> = {
  name: "ingress",
  local: IngressResource,
  remote: IngressResource,
  accepts: (ingress, { policy }) => isReflectable(ingress.metadata?.annotations, policy),
  metadata: ({ annotations }) => {
    delete annotations[CLASS_ANNOTATION];
  },
  keepsWhole: true,
  reflected: (ingress, copy, scope) => tellAddresses(IngressResource, ingress, publishedAddresses(copy), scope),
  withdrawn: (ingress, scope) => tellAddresses(IngressResource, ingress, undefined, scope),
  forge: (ingress, { context }) => ({ spec: remoteIngressSpec(ingress, context.state.ingressClass) }),
};

export function remoteIngressSpec({ spec = {} }: Ingress, ingressClassName?: string): IngressSpec {
  const { defaultBackend, rules, tls } = spec;
  return {
    ...(defaultBackend ? { defaultBackend } : {}),
    ...(rules ? { rules } : {}),
    ...(tls ? { tls } : {}),
    ...(ingressClassName ? { ingressClassName } : {}),
  };
}
