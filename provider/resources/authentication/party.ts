import type { Pair, Peer } from "../../preconditions/index.js";

/** A cluster in a handshake, with its tenant namespace for the other. */
export interface Party extends Peer {
  remoteId: string;
  namespace: string;
}

export interface Parties {
  consumer: Party;
  provider: Party;
}

export function partiesOf(pair: Pair, namespaces: { consumer: string; provider: string }): Parties {
  return {
    consumer: { ...pair.consumer, remoteId: pair.provider.clusterId, namespace: namespaces.consumer },
    provider: { ...pair.provider, remoteId: pair.consumer.clusterId, namespace: namespaces.provider },
  };
}
