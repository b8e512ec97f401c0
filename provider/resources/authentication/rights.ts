import { IdentityResource, Names, TenantResource } from "../../../agent/api/index.js";
import { SecretResource } from "../../../agent/runtime/index.js";
import { APPLY, type NeededIn, type Pair } from "../../preconditions/index.js";
import { rightsInPair } from "../tenant-namespace/index.js";

/** What the handshake needs to be allowed on each side. */
export function authenticationRights(pair: Pair, signal: AbortSignal): NeededIn[] {
  const keys = { name: Names.authenticationKeysSecret, namespace: pair.consumer.agentNamespace };
  return rightsInPair(pair, signal, (side, namespace) =>
    side === "consumer"
      ? [
          { type: SecretResource, verbs: ["get"], ...keys },
          { type: SecretResource, verbs: APPLY, namespace, name: Names.signedNonceSecret },
          { type: IdentityResource, verbs: ["list", ...APPLY], namespace },
        ]
      : [
          { type: SecretResource, verbs: APPLY, namespace, name: Names.nonceSecret },
          { type: TenantResource, verbs: ["list", ...APPLY], namespace },
        ],
  );
}
