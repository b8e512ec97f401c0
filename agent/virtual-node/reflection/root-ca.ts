/** The ConfigMap by which every namespace knows its own cluster's CA. */
export const ROOT_CA = "kube-root-ca.crt";

/** Its name at the provider, which has one of its own by that name (offloading specification, §8.5). */
export function remoteRootCaName(homeClusterId: string): string {
  const suffix = homeClusterId.slice(0, 5);
  return `${ROOT_CA}.${/[a-z0-9]$/.test(suffix) ? suffix : `${suffix}a`}`;
}
