import { IdentityResource, Names, TenantResource } from "../../../agent/api/index.js";
import { RoleBindingResource, SecretResource } from "../../../agent/runtime/index.js";
import type { UnknowableProperties } from "../../framework/index.js";
import { APPLY, type NeededIn, type NeededRight, type Pair, type Side } from "../../preconditions/index.js";
import { rightsInPair } from "../tenant-namespace/index.js";
import type { AuthenticationInputs } from "./schema.js";
import { NO_HANDSHAKE } from "./tenant.js";

type Inputs = UnknowableProperties<Pick<AuthenticationInputs, "authzPolicy" | "userName">>;

/** What the handshake, or bringing an identity along, needs to be allowed on each side. */
export function authenticationRights(pair: Pair, inputs: Inputs, signal: AbortSignal): NeededIn[] {
  const isOwn = inputs.authzPolicy === NO_HANDSHAKE.authzPolicy;
  return rightsInPair(pair, signal, isOwn ? ownIdentityRights(inputs) : handshakeRights(pair));
}

function handshakeRights(pair: Pair) {
  const keys = { name: Names.authenticationKeysSecret, namespace: pair.consumer.agentNamespace };
  return (side: Side, namespace: string): NeededRight[] =>
    side === "consumer"
      ? [
          { type: SecretResource, verbs: ["get"], ...keys },
          { type: SecretResource, verbs: APPLY, namespace, name: Names.signedNonceSecret },
          { type: IdentityResource, verbs: ["list", ...APPLY], namespace },
        ]
      : [
          { type: SecretResource, verbs: APPLY, namespace, name: Names.nonceSecret },
          { type: TenantResource, verbs: ["list", ...APPLY], namespace },
        ];
}

function ownIdentityRights({ userName }: Inputs) {
  const name = Names.remoteControlPlaneBinding;
  return (side: Side, namespace: string): NeededRight[] =>
    side === "consumer"
      ? [{ type: SecretResource, verbs: ["list", ...APPLY], namespace }]
      : [
          { type: TenantResource, verbs: ["list", ...APPLY], namespace },
          ...(userName === undefined ? [] : [{ type: RoleBindingResource, verbs: APPLY, namespace, name }]),
        ];
}
