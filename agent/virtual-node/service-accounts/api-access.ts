import { createHash } from "node:crypto";
import type { Pod } from "kubernetes-types/core/v1";
import { Annotations } from "../../api/index.js";

/**
 * How an offloaded pod meets API servers: `token`: with a token of the consumer's cluster; `disabled`: not at all;
 * `remote`: with an account of the provider's cluster (offloading specification, §9).
 */
export type ApiAccess = "token" | "disabled" | "remote";

export function apiAccessOf(pod: Pod, supported: boolean): ApiAccess {
  const wish = pod.metadata?.annotations?.[Annotations.apiServerSupport];
  if (wish === "remote" || wish === "disabled") return wish;
  return supported ? "token" : "disabled";
}

/** Whether a pod is given tokens of the consumer's cluster. */
export function wantsApiServer(pod: Pod, supported: boolean): boolean {
  return apiAccessOf(pod, supported) === "token" && tokenSources(pod).length > 0;
}

/** The Secret with all tokens of a pod. */
export function tokenSecretName(podName: string): string {
  return `${podName}-token`;
}

/** The key of one token in it. */
export function tokenKey(volumeName: string, path: string): string {
  return `${volumeName}-${createHash("sha256").update(path).digest("hex").slice(0, 6)}`;
}

/** A token that a pod asks for by a projected volume. */
export interface TokenSource {
  key: string;
  audience?: string;
  expirationSeconds: number;
}

export function tokenSources(pod: Pod): TokenSource[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, projected }) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken: source }) =>
      source
        ? {
            key: tokenKey(name, source.path),
            audience: source.audience,
            expirationSeconds: source.expirationSeconds ?? 3600,
          }
        : [],
    ),
  );
}
