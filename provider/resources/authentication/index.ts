import { defineResource, type ChangeContext, type UnknowableProperties } from "../../framework/index.js";
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
  type Pair,
} from "../../preconditions/index.js";
import { clusterIds, onlyForceChanged, repairDrift } from "../pair-properties.js";
import { checkAccess } from "./access.js";
import { authenticate } from "./handshake.js";
import { inspectAuthentication } from "./inspect.js";
import { revoke } from "./revoke.js";
import { authenticationRights } from "./rights.js";
import {
  authenticationInputs,
  authenticationOutputs,
  type AuthenticationInputs,
  type AuthenticationOutputs,
} from "./schema.js";

/** A consumer's identity on a provider. */
export const authentication = defineResource({
  token: "liqo:index:Authentication",
  description:
    "Gives the consumer an identity on the provider: the provider makes a nonce, the consumer signs it, and the provider signs the consumer's certificate. " +
    "The identity may act in the tenant namespace only.\n\n" +
    "Import ID: `<consumer cluster ID>/<provider cluster ID>@<consumer context>,<provider context>`.",
  inputs: authenticationInputs,
  outputs: authenticationOutputs,
  async check(context, inputs, failures, oldInputs) {
    checkAccess(inputs, failures);
    if (!oldInputs) await checkDifferentClusters(context, failures);
  },
  diff: repairDrift,
  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<AuthenticationOutputs>>> {
    if (old) return { drift: [] };
    const pair = await previewPair(context, inputs);
    if (pair) await foreseeRights(context, authenticationRights(pair, context.signal));
    return { drift: [], ...(pair ? clusterIds(pair) : {}) };
  },
  async create(context, inputs) {
    const pair = await openPair(context, inputs);
    await requireRights(context, authenticationRights(pair, context.signal));
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
    return establish(context, await openPair(context, inputs, id), inputs);
  },
  async delete(context, { id, inputs }) {
    await revoke(context, await openDeparting(context, inputs, id));
  },
});

async function establish(
  context: ChangeContext<AuthenticationOutputs>,
  pair: Pair,
  inputs: AuthenticationInputs,
): Promise<AuthenticationOutputs> {
  const ids = clusterIds(pair);
  // Before the first write: whatever breaks it off, the state knows of what may be there.
  context.checkpoint(pairId(pair), ids);
  const { namespaces, proxyURL, ...identity } = await authenticate(context, pair, inputs, (tenantNamespaces) =>
    context.checkpoint(pairId(pair), { ...ids, tenantNamespaces }),
  );
  return {
    ...ids,
    tenantNamespaces: namespaces,
    ...identity,
    ...(proxyURL ? { usedProxyURL: proxyURL } : {}),
    drift: [],
  };
}
