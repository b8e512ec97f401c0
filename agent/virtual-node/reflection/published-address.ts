import type { Ingress } from "kubernetes-types/networking/v1";
import type { Service } from "kubernetes-types/core/v1";
import { Annotations } from "../../api/index.js";
import { isNotFound, type ResourceType } from "../../runtime/index.js";
import type { ReflectionScope } from "./reflected-kind.js";

/** What a load balancer answers at, as Services and Ingresses tell it. */
interface Published {
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } };
}

/** The addresses and names at which a provider's load balancer answers, separated by commas; undefined while there is none. */
export function publishedAddresses({ status }: Published): string | undefined {
  const points = status?.loadBalancer?.ingress?.flatMap(({ ip, hostname }) => ip ?? hostname ?? []) ?? [];
  return points.length > 0 ? points.sort().join(",") : undefined;
}

/** The annotation by which the consumer's object tells where a provider has published it. */
export function publishedAtAnnotation(clusterId: string): string {
  return `${Annotations.publishedAtPrefix}${clusterId}`;
}

/** Brings the addresses to the consumer's object; undefined takes them off. Its status is the consumer's own load balancer's (offloading specification, §8.3). */
export async function tellAddresses<T extends Service | Ingress>(
  type: ResourceType<T>,
  object: T,
  addresses: string | undefined,
  { context }: ReflectionScope,
): Promise<void> {
  const key = publishedAtAnnotation(context.config.foreignClusterId);
  if (object.metadata?.annotations?.[key] === addresses) return;
  const { name = "", namespace } = object.metadata ?? {};
  const annotations = { [key]: addresses ?? null };
  try {
    await context.local.mergePatch(type, { name, namespace }, { metadata: { annotations } });
  } catch (error) {
    // With the object its annotations have gone.
    if (!isNotFound(error)) throw error;
  }
}
