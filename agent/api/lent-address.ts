import { identityMetadata } from "../runtime/metadata.js";
import type { IP } from "./ipam.js";
import { IPResource } from "./kinds.js";
import { Labels } from "./labels.js";

/** Whether peers reach what an IP stands for by its address: it has one, and is not for the address alone (network specification, §4). */
export function isLent({ metadata, status }: IP): boolean {
  return Boolean(status?.ip) && !metadata.deletionTimestamp && metadata.labels?.[Labels.hostUnreachable] !== "true";
}

/** Of an IP what those who carry packets go by, and no more: each of them has every IP of the cluster in memory. */
export function lentPart(object: IP): IP {
  const { metadata, spec, status } = object;
  const unreachable = metadata.labels?.[Labels.hostUnreachable];
  return IPResource.build({
    metadata: {
      ...identityMetadata(object),
      ...(unreachable === undefined ? {} : { labels: { [Labels.hostUnreachable]: unreachable } }),
    },
    spec: { ip: spec.ip, masquerade: spec.masquerade },
    status: { ip: status?.ip },
  });
}
