import { Labels, type NamespaceMap, type NamespaceMapPhase } from "../../api/index.js";

/** How one local namespace stands with the provider. */
export interface NamespaceMapping {
  remote: string;
  /** Absent: wanted, but not yet taken up by the provider. */
  phase?: NamespaceMapPhase;
}

/**
 * The mappings of one provider. In a bidirectional peering the same namespace also holds the peer's NamespaceMap:
 * only a map that goes to this provider counts (offloading specification, §4.6). The status is the provider's word: it
 * tells how far it is with what was asked for, and cannot add a namespace that nobody offloads to it.
 *
 * @throws Error when there is more than one
 */
export function namespaceMappings(
  maps: NamespaceMap[],
  foreignClusterId: string,
): { map?: NamespaceMap; mappings: Map<string, NamespaceMapping> } {
  const own = maps.filter(
    ({ metadata: { labels } }) =>
      labels?.[Labels.remoteID] === foreignClusterId && labels[Labels.replicated] !== "true",
  );
  if (own.length > 1) {
    const names = own.map(({ metadata }) => metadata.name).join(", ");
    throw new Error(
      `there is more than one NamespaceMap for cluster ${foreignClusterId}: ${names}. Namespaces stay as they are until all but one are deleted: ` +
        `keep ${foreignClusterId}, which this cluster's controller has made`,
    );
  }
  const map = own[0];
  const mappings = new Map<string, NamespaceMapping>();
  for (const [local, remote] of Object.entries(map?.spec.desiredMapping ?? {})) mappings.set(local, { remote });
  for (const [local, { remoteNamespace, phase }] of Object.entries(map?.status?.currentMapping ?? {})) {
    const wanted = mappings.get(local)?.remote;
    const remote = remoteNamespace ?? wanted;
    if (remote) mappings.set(local, { remote, phase: wanted === undefined ? "Terminating" : phase });
  }
  return { map, mappings };
}
