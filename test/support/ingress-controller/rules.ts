import type { HTTPIngressPath, Ingress, IngressBackend } from "kubernetes-types/networking/v1";

/** Where a request goes. */
export interface Route {
  namespace: string;
  backend: IngressBackend;
}

/** What of the rules fits a request best: a path that is the whole one before its beginnings, longer ones before shorter, and a default backend if nothing fits. */
export function routeOf(ingresses: readonly Ingress[], host: string, path: string): Route | undefined {
  const fitting = ingresses.flatMap(({ metadata, spec }) =>
    (spec?.rules ?? [])
      .filter((rule) => !rule.host || rule.host === host)
      .flatMap(({ http }) => http?.paths ?? [])
      .filter((one) => fits(one, path))
      .map((one) => ({ namespace: metadata?.namespace ?? "", ...one })),
  );
  const [best] = fitting.sort((one, other) => weightOf(other) - weightOf(one));
  return best ?? defaultRoute(ingresses);
}

function defaultRoute(ingresses: readonly Ingress[]): Route | undefined {
  return ingresses.flatMap(({ metadata, spec }) =>
    spec?.defaultBackend ? { namespace: metadata?.namespace ?? "", backend: spec.defaultBackend } : [],
  )[0];
}

/** Prefixes end where an element of the path does. */
function fits({ path: rule = "/", pathType }: HTTPIngressPath, path: string): boolean {
  if (pathType === "Exact") return path === rule;
  const prefix = rule.replace(/\/+$/, "");
  return path === prefix || path.startsWith(`${prefix}/`);
}

function weightOf({ path = "/", pathType }: HTTPIngressPath): number {
  return 2 * path.length + (pathType === "Exact" ? 1 : 0);
}
