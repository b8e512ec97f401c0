import {
  CertificateSigningRequestResource,
  NamespaceResource,
  RoleBindingResource,
} from "../../../agent/runtime/index.js";
import { peeringUserName } from "../../../agent/api/index.js";
import {
  defineResource,
  known,
  UNKNOWN,
  type CallContext,
  type ChangeContext,
  type UnknowableProperties,
} from "../../framework/index.js";
import {
  foreseeRights,
  openCluster,
  openIfInstalled,
  previewCluster,
  requireRights,
  rightsToChange,
  splitPairId,
  tellsAgentNamespace,
  type NeededIn,
  type Peer,
} from "../../preconditions/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import { repairDrift } from "../pair-properties.js";
import { findTenantNamespace, releaseTenantNamespace } from "../tenant-namespace/index.js";
import { isExpiring, isOwn, serverOf } from "./credential.js";
import { bindUser, generateUser, removeUser } from "./generate.js";
import { bindingManifests, bindingNames } from "./manifests.js";
import { peeringUserRights } from "./rights.js";
import { peeringUserInputs, peeringUserOutputs, type PeeringUserInputs, type PeeringUserOutputs } from "./schema.js";

/** A credential for the consumer's administrator. */
export const peeringUser = defineResource({
  token: "liqo:index:PeeringUser",
  description:
    "A credential with which a consumer's administrator can peer with this provider without being its administrator. It works in the consumer's tenant " +
    "namespace only. Its private key is made here and kept in no cluster: it cannot be imported.",
  inputs: peeringUserInputs,
  outputs: peeringUserOutputs,
  replaceOn: ["consumerClusterId", "tlsCompatibilityMode"],
  diff: (request) => ({
    update: [...repairDrift(request).update, ...(isExpiring(request.outputs) ? ["expirationTimestamp"] : [])],
  }),
  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<PeeringUserOutputs>>> {
    if (old) {
      const isGood = await isStillGood(context, inputs, old.oldInputs, old.outputs);
      await foreseeChange(context, inputs, old.outputs, isGood);
      return isGood
        ? { drift: [] }
        : { drift: [], userName: UNKNOWN, kubeconfig: UNKNOWN, expirationTimestamp: UNKNOWN };
    }
    const consumerClusterId = known(inputs.consumerClusterId);
    if (consumerClusterId === undefined) return {};
    const provider = await previewCluster(context, inputs.cluster);
    if (!provider) return { drift: [] };
    await foreseeRights(context, peeringUserRights(provider, consumerClusterId));
    return { drift: [], providerClusterId: provider.clusterId };
  },
  async create(context, inputs) {
    const provider = await openProvider(context, inputs);
    await requireRights(context, peeringUserRights(provider, inputs.consumerClusterId));
    const id = `${provider.clusterId}/${inputs.consumerClusterId}`;
    return { id, outputs: await establish(context, provider, id, inputs, {}) };
  },
  async read(context, { id, inputs, outputs }) {
    if (!inputs) {
      throw new Error("a PeeringUser cannot be imported, as its private key is kept nowhere else: create a new one");
    }
    const { consumerId: providerClusterId, providerId: consumerClusterId } = splitPairId(id);
    const provider = await openIfInstalled(context, inputs, providerClusterId);
    if (!provider) return undefined;
    const { client, agentNamespace } = provider;
    const names = bindingNames(consumerClusterId);
    const tenant = await findTenantNamespace(client, consumerClusterId, context.signal);
    const namespace = tenant?.metadata?.name;
    const [reader, writer, request] = await Promise.all([
      client.get(RoleBindingResource, { name: names.installation, namespace: agentNamespace }, context.signal),
      namespace ? client.get(RoleBindingResource, { name: names.tenant, namespace }, context.signal) : undefined,
      client.get(CertificateSigningRequestResource, { name: peeringUserName(consumerClusterId) }, context.signal),
    ]);
    // Kubernetes deletes old requests by itself, so a missing one means nothing while the bindings are there.
    if (!reader && !writer && !request) return undefined;
    const isUsers = (binding: typeof reader): boolean =>
      binding?.subjects?.some(({ name }) => name === outputs.userName) ?? false;
    const namespaces = { installation: agentNamespace, tenant: namespace ?? "" };
    const [readers, writers] = bindingManifests(consumerClusterId, outputs.userName ?? "", namespaces);
    const drift = [
      !isOwn(outputs) && "the credential is missing: the making of one broke off",
      !isUsers(reader) && UNBOUND.installation,
      !isUsers(writer) && UNBOUND.tenant,
      !tellsAgentNamespace(tenant, agentNamespace) && "the tenant namespace does not say where the agent is",
      ...(isUsers(reader) ? deviationsOf(reader, addObjectMetadata(readers, inputs)) : []),
      ...(isUsers(writer) ? deviationsOf(writer, addObjectMetadata(writers, inputs)) : []),
    ].filter((line) => typeof line === "string");
    return { inputs, outputs: { ...(outputs as PeeringUserOutputs), drift } };
  },
  async update(context, { id, inputs, oldInputs, outputs }) {
    const provider = await openProvider(context, inputs, splitPairId(id).consumerId);
    const isGood = await isStillGood(context, inputs, oldInputs, outputs);
    await requireRights(context, changeRights(provider, inputs.consumerClusterId, outputs, isGood));
    if (!isGood) return establish(context, provider, id, inputs, outputs);
    const owner = { urn: context.urn, userName: outputs.userName ?? "" };
    await bindUser(context, provider, inputs.consumerClusterId, owner);
    return { ...(outputs as PeeringUserOutputs), drift: [] };
  },
  async delete(context, { id, inputs, outputs }) {
    const { consumerId: providerClusterId, providerId: consumerClusterId } = splitPairId(id);
    const found = await openIfInstalled(context, inputs, providerClusterId);
    if (!found) return;
    const provider: Peer = { ...found, side: "provider" };
    const namespace = (await findTenantNamespace(provider.client, consumerClusterId, context.signal))?.metadata?.name;
    const owner = { urn: context.urn, userName: outputs.userName };
    await removeUser(context, provider, consumerClusterId, namespace, owner);
    await releaseTenantNamespace(context, provider, consumerClusterId);
  },
});

/** Tells in a preview which rights are missing. */
async function foreseeChange(
  context: CallContext,
  inputs: UnknowableProperties<PeeringUserInputs>,
  outputs: Partial<PeeringUserOutputs>,
  isGood: boolean,
): Promise<void> {
  const consumerClusterId = known(inputs.consumerClusterId);
  const provider = await previewCluster(context, inputs.cluster);
  if (!provider || consumerClusterId === undefined) return;
  await foreseeRights(context, changeRights(provider, consumerClusterId, outputs, isGood));
}

/** What a change needs to be allowed: one whose credential is kept is bound only. */
function changeRights(
  provider: Peer,
  consumerClusterId: string,
  { drift }: Partial<PeeringUserOutputs>,
  isGood: boolean,
): NeededIn[] {
  const [all] = peeringUserRights(provider, consumerClusterId);
  const rights = all.rights.filter(
    ({ type, verbs }) =>
      !isGood || type === RoleBindingResource || (type === NamespaceResource && verbs.includes("patch")),
  );
  const needed = [{ ...all, rights }];
  return isGood ? rightsToChange(needed, drift) : needed;
}

/** What a refresh says of rights that are gone. */
const UNBOUND = {
  installation: "the binding in the agent's namespace is missing or another user's",
  tenant: "the binding in the tenant namespace is missing or another user's",
};

/** Whether the credential that was handed out may be kept: whoever has it would lose its access with a new one. */
async function isStillGood(
  context: CallContext,
  inputs: UnknowableProperties<PeeringUserInputs>,
  before: PeeringUserInputs,
  outputs: Partial<PeeringUserOutputs>,
): Promise<boolean> {
  const isBound = !Object.values(UNBOUND).some((line) => outputs.drift?.includes(line));
  const isKept = isBound && isOwn(outputs) && !isExpiring(outputs);
  const wanted = known<PeeringUserInputs>(inputs);
  if (!isKept || !wanted || wanted.expirationSeconds !== before.expirationSeconds) return false;
  const server = wanted.apiServer ?? (await context.client(wanted.cluster)).transport.server;
  return server === serverOf(outputs);
}

async function openProvider(
  context: ChangeContext<PeeringUserOutputs> | Parameters<typeof openCluster>[0],
  inputs: PeeringUserInputs,
  expected?: string,
): Promise<Peer> {
  const provider: Peer = { ...(await openCluster(context, inputs, expected)), side: "provider" };
  if (provider.clusterId !== inputs.consumerClusterId) return provider;
  throw new Error(
    `consumerClusterId: "${inputs.consumerClusterId}" is the ID of the provider itself: name the consumer's`,
  );
}

async function establish(
  context: ChangeContext<PeeringUserOutputs>,
  provider: Peer,
  id: string,
  inputs: PeeringUserInputs,
  { userName }: Partial<PeeringUserOutputs>,
): Promise<PeeringUserOutputs> {
  const owner = { urn: context.urn, userName };
  const outputs = await generateUser(context, provider, inputs, owner, (partial) => context.checkpoint(id, partial));
  return { ...outputs, drift: [] };
}
