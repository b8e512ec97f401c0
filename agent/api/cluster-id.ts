/** Liqo's pattern of a cluster ID. */
export const CLUSTER_ID_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/** A namespace name has at most 63 characters, and `liqo-tenant-<cluster ID>` is one (API specification, §1). */
export const CLUSTER_ID_MAX_LENGTH = 51;

const pattern = new RegExp(CLUSTER_ID_PATTERN);

export function isClusterID(text: string): boolean {
  return text.length <= CLUSTER_ID_MAX_LENGTH && pattern.test(text);
}
