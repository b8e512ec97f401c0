import {
  defineResource,
  known,
  UNKNOWN,
  type ChangeContext,
  type UnknowableProperties,
} from "../../framework/index.js";
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
import { checkGateways } from "./check.js";
import { connect } from "./connect.js";
import { disconnect } from "./disconnect.js";
import { foreseeLink, linkChangeRights, linkRights } from "./foresee.js";
import { inspectLink } from "./inspect.js";
import { linkOptions, type LinkSettings } from "./options.js";
import { networkLinkInputs, networkLinkOutputs, type NetworkLinkInputs, type NetworkLinkOutputs } from "./schema.js";

/** The network between two clusters. */
export const networkLink = defineResource({
  token: "liqo:index:NetworkLink",
  description:
    "An encrypted network between the pods of two clusters: it tells each cluster the other's address ranges, which are remapped where they are taken, " +
    "and joins them by a WireGuard tunnel. Both directions between two clusters share one link.\n\n" +
    "Import ID: `<consumer cluster ID>/<provider cluster ID>@<consumer context>,<provider context>`.",
  inputs: networkLinkInputs,
  outputs: networkLinkOutputs,
  replaceOn: ["gatewayServerLocation"],
  async check(context, inputs, failures, oldInputs) {
    checkGateways(inputs, failures);
    if (!oldInputs) await checkDifferentClusters(context, failures);
  },
  diff: repairDrift,
  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<NetworkLinkOutputs>>> {
    const told: Partial<UnknowableProperties<NetworkLinkOutputs>> = {
      drift: [],
      ...(old ? { endpoint: UNKNOWN } : {}),
    };
    if (old && onlyForceChanged(inputs, old.oldInputs)) return told;
    const pair = await previewPair(context, inputs);
    if (!pair) return told;
    const options = known<LinkSettings>({
      mtu: inputs.mtu,
      gatewayServerLocation: inputs.gatewayServerLocation,
      gatewayServer: inputs.gatewayServer,
      gatewayClient: inputs.gatewayClient,
    });
    if (old) {
      if (options)
        await foreseeRights(context, linkChangeRights(context, pair, linkOptions(options), old.outputs.drift));
      return told;
    }
    if (options) await foreseeLink(context, pair, linkOptions(options));
    return { drift: [], ...clusterIds(pair) };
  },
  async create(context, inputs) {
    const pair = await openPair(context, inputs);
    const serverSide = inputs.gatewayServerLocation === "Consumer" ? "consumer" : "provider";
    await requireRights(context, linkRights(pair, serverSide, context.signal));
    return { id: pairId(pair), outputs: await establish(context, pair, inputs, false) };
  },
  async read(context, { id, inputs }) {
    const imported = inputs ? undefined : readPairImport(id);
    const given = inputs ?? networkLinkInputs.parse({ consumer: imported?.consumer, provider: imported?.provider });
    const pair = imported ? await openImported(context, given, imported.id) : await openFound(context, given, id);
    if (!pair) return undefined;
    const found = await inspectLink(pair, given, imported !== undefined, context.signal);
    return found && { id: pairId(pair), ...found };
  },
  async update(context, { id, inputs, oldInputs, outputs }) {
    if (onlyForceChanged(inputs, oldInputs)) return outputs as NetworkLinkOutputs;
    const rotate = inputs.keyRotationTrigger !== oldInputs.keyRotationTrigger;
    const pair = await openPair(context, inputs, id);
    await requireRights(context, linkChangeRights(context, pair, linkOptions(inputs), outputs.drift));
    return establish(context, pair, inputs, rotate);
  },
  async delete(context, { id, inputs }) {
    await disconnect(context, await openDeparting(context, inputs, id));
  },
});

async function establish(
  context: ChangeContext<NetworkLinkOutputs>,
  pair: Pair,
  inputs: NetworkLinkInputs,
  rotate: boolean,
): Promise<NetworkLinkOutputs> {
  const options = { ...linkOptions(inputs), shareKeys: !inputs.disableSharingKeys, rotate };
  const ids = clusterIds(pair);
  // Before the first write: whatever breaks it off, the state knows of what may be there.
  context.checkpoint(pairId(pair), ids);
  const link = await connect(context, pair, options, ({ namespaces, remapped }) =>
    context.checkpoint(pairId(pair), {
      ...ids,
      ...(namespaces ? { tenantNamespaces: namespaces } : {}),
      ...(remapped ? { remappedCIDRs: remapped } : {}),
    }),
  );
  return {
    ...ids,
    tenantNamespaces: link.namespaces,
    remappedCIDRs: link.remapped,
    endpoint: link.endpoint,
    connections: link.connections,
    drift: [],
  };
}
