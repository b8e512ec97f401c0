import type { Pair, Peer } from "../../preconditions/index.js";

/** One cluster as one end of a link. */
export interface LinkEnd extends Peer {
  remoteId: string;
  /** The tenant namespace for the remote. */
  namespace: string;
}

export interface LinkEnds {
  consumer: LinkEnd;
  provider: LinkEnd;
}

export function linkEnds(pair: Pair, namespaces: { consumer: string; provider: string }): LinkEnds {
  return {
    consumer: { ...pair.consumer, remoteId: pair.provider.clusterId, namespace: namespaces.consumer },
    provider: { ...pair.provider, remoteId: pair.consumer.clusterId, namespace: namespaces.provider },
  };
}
