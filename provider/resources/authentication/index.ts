import { defineResource, isUnknown, type ChangeContext, type UnknowableProperties } from "../../framework/index.js";
import {
  checkDifferentClusters,
  foreseeRights,
  openDeparting,
  openFound,
  openImported,
  openPair,
  pairId,
  previewPair,
  readPairImport,
  requireRights,
  rightsToChange,
  type NeededIn,
  type Pair,
} from "../../preconditions/index.js";
import { clusterIds, onlyForceChanged, repairDrift } from "../pair-properties.js";
import { checkAccess, checkOwnIdentity } from "./access.js";
import { authenticate, introduce } from "./handshake.js";
import { inspectAuthentication } from "./inspect.js";
import { revoke } from "./revoke.js";
import { authenticationRights } from "./rights.js";
import {
  authenticationInputs,
  authenticationOutputs,
  type AuthenticationInputs,
  type AuthenticationOutputs,
} from "./schema.js";
import { NO_HANDSHAKE } from "./tenant.js";

/** A consumer's identity on a provider. */
export const authentication = defineResource({
  token: "liqo:index:Authentication",
  description:
    "Gives the consumer an identity on the provider: the provider makes a nonce, the consumer signs it, and the provider signs the consumer's certificate. " +
    "The identity may act in the tenant namespace only. Where a provider signs no certificates for clients, as Amazon EKS, its owner hands out a kubeconfig of another kind instead.\n\n" +
    "Import ID: `<consumer cluster ID>/<provider cluster ID>@<consumer context>,<provider context>`.",
  inputs: authenticationInputs,
  outputs: authenticationOutputs,
  async check(context, inputs, failures, oldInputs) {
    checkAccess(inputs, failures);
    checkOwnIdentity(inputs, failures);
    if (!oldInputs) await checkDifferentClusters(context, failures);
  },
  diff(request) {
    const { oldInputs, inputs } = request;
    const isSamePolicy =
      !isUnknown(inputs.authzPolicy) && policyOf(inputs.authzPolicy) === policyOf(oldInputs.authzPolicy);
    return {
      ...repairDrift(request),
      replace: isSamePolicy ? [] : ["authzPolicy"],
      ignore: [
        ...(isSamePolicy ? ["authzPolicy"] : []),
        // Left out, it stays as it is.
        ...(inputs.tenantCondition === undefined ? ["tenantCondition"] : []),
      ],
    };
  },
  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<AuthenticationOutputs>>> {
    if (old && onlyForceChanged(inputs, old.oldInputs)) return { drift: [] };
    const pair = await previewPair(context, inputs);
    const rights = pair ? authenticationRights(pair, inputs, context.signal) : [];
    await foreseeRights(context, old ? changeRights(rights, inputs, old) : rights);
    return { drift: [], ...(pair && !old ? clusterIds(pair) : {}) };
  },
  async create(context, inputs) {
    const pair = await openPair(context, inputs);
    await requireRights(context, authenticationRights(pair, inputs, context.signal));
    return { id: pairId(pair), outputs: await establish(context, pair, inputs) };
  },
  async read(context, { id, inputs }) {
    const imported = inputs ? undefined : readPairImport(id);
    const given = inputs ?? authenticationInputs.parse({ consumer: imported?.consumer, provider: imported?.provider });
    const pair = imported ? await openImported(context, given, imported.id) : await openFound(context, given, id);
    if (!pair) return undefined;
    const found = await inspectAuthentication(pair, given, imported !== undefined, context.signal);
    return found && { id: pairId(pair), ...found };
  },
  async update(context, { id, inputs, oldInputs, outputs }) {
    if (onlyForceChanged(inputs, oldInputs)) return outputs as AuthenticationOutputs;
    const pair = await openPair(context, inputs, id);
    const rights = authenticationRights(pair, inputs, context.signal);
    await requireRights(context, changeRights(rights, inputs, { oldInputs, outputs }));
    return establish(context, pair, inputs);
  },
  async delete(context, { id, inputs }) {
    const isOwn = inputs.authzPolicy === NO_HANDSHAKE.authzPolicy;
    await revoke(context, await openDeparting(context, inputs, id), isOwn);
  },
});

/** What of these rights a change needs. A user who was not bound before is bound by a new object. */
function changeRights(
  rights: NeededIn[],
  inputs: UnknowableProperties<AuthenticationInputs>,
  { oldInputs, outputs }: { oldInputs: AuthenticationInputs; outputs: Partial<AuthenticationOutputs> },
): NeededIn[] {
  const isBoundNow = inputs.userName !== undefined && oldInputs.userName === undefined;
  return isBoundNow ? rights : rightsToChange(rights, outputs.drift);
}

/** The one that is meant where none is given. */
function policyOf(given: AuthenticationInputs["authzPolicy"]): string {
  return given ?? "KeysExchange";
}

async function establish(
  context: ChangeContext<AuthenticationOutputs>,
  pair: Pair,
  inputs: AuthenticationInputs,
): Promise<AuthenticationOutputs> {
  const ids = clusterIds(pair);
  // Before the first write: whatever breaks it off, the state knows of what may be there.
  context.checkpoint(pairId(pair), ids);
  const begun = (tenantNamespaces: AuthenticationOutputs["tenantNamespaces"]): void =>
    context.checkpoint(pairId(pair), { ...ids, tenantNamespaces });
  const { kubeconfig } = inputs;
  const { namespaces, proxyURL, ...identity } =
    kubeconfig === undefined
      ? await authenticate(context, pair, inputs, begun)
      : await introduce(context, pair, { ...inputs, kubeconfig }, begun);
  return {
    ...ids,
    tenantNamespaces: namespaces,
    ...identity,
    ...(proxyURL ? { usedProxyURL: proxyURL } : {}),
    drift: [],
  };
}
