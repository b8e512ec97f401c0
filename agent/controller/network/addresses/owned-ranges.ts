import { Labels, NetworkType, type Network } from "../../../api/index.js";
import { isDeleting, type Informer } from "../../../runtime/index.js";

/** The ranges that this cluster owns, as its Networks tell them (network specification, §2). */
export interface OwnedRanges {
  pods: string[];
  external: string;
}

/** Undefined until every Network of the kinds needed has its range. */
export function ownedRanges(networks: Informer<Network>, namespace: string): OwnedRanges | undefined {
  const pods = installed(networks, namespace, NetworkType.pod).map(({ status }) => status?.cidr);
  const external = installed(networks, namespace, NetworkType.external)[0]?.status?.cidr;
  const known = pods.filter((cidr) => cidr !== undefined);
  return external === undefined || known.length === 0 || known.length < pods.length
    ? undefined
    : { pods: known, external };
}

/** The installation's Networks of one type, by name. */
export function installed(networks: Informer<Network>, namespace: string, type: string): Network[] {
  return networks
    .inNamespace(namespace)
    .filter((network) => network.metadata.labels?.[Labels.networkType] === type && !isDeleting(network))
    .sort((a, b) => (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""));
}
