import { agentManifests } from "../../../agent/install/index.js";
import {
  Annotations,
  NamespaceOffloadingResource,
  ResourceSliceResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import { NamespaceResource, type KubeObject } from "../../../agent/runtime/index.js";
import type { CallContext } from "../../framework/index.js";
import { detectRanges } from "../../resources/agent/detect.js";
import { undiscoverableAddress } from "../../resources/agent/resolve.js";
import { installInputs } from "../../resources/agent/install-inputs.js";
import { offloadingManifest } from "../../resources/namespace-offloading/offload.js";
import { sliceManifest } from "../../resources/resource-slice/slice.js";
import { tenantNamespaceLabels } from "../../resources/tenant-namespace/index.js";
import { virtualNodeManifest } from "../../resources/virtual-node/virtual-node.js";
import { accessManifests } from "./access.js";
import { knowSide, readGateway, tenantNamespaceOf, type KnownSide } from "./known-side.js";
import { linkManifests, type RenderedEnd, type RenderedEnds } from "./link.js";
import { manifestOf, renderedOf, withChosenMetadata } from "./manifest.js";
import type { RenderInputs, RenderOutputs } from "./schema.js";

/**
 * The manifests that the resources of these inputs would apply, by cluster. What only the clusters can bring about (addresses, keys, certificates) is
 * rendered as far as it is given, or told by a cluster that may be asked; the notes say what is missing.
 *
 * @throws Error naming the input that is missing
 */
export async function renderManifests(context: CallContext, inputs: RenderInputs): Promise<RenderOutputs> {
  const { consumer, provider } = inputs;
  if (!consumer && !provider) throw new Error("consumer, provider: give at least one of them");
  if (!(consumer && provider) && needsBoth(inputs)) {
    const missing = consumer ? "provider" : "consumer";
    throw new Error(
      `${missing}: is needed for ${needsBoth(inputs)}, which concerns both clusters: give at least its clusterId`,
    );
  }
  const [own, other] = await Promise.all([
    consumer && knowSide(context, "consumer", consumer),
    provider && knowSide(context, "provider", provider),
  ]);
  const notes: string[] = [];
  const pair = own && other ? await pairManifests(context, own, other, inputs, notes) : undefined;
  const [ownAgent, otherAgent] = await Promise.all([installation(context, own), installation(context, other)]);
  const offloadings = own ? namespaceManifests(inputs) : [];
  return {
    ...(own ? { consumer: renderedOf(own.clusterId, [...ownAgent, ...(pair?.consumer ?? []), ...offloadings]) } : {}),
    ...(other ? { provider: renderedOf(other.clusterId, [...otherAgent, ...(pair?.provider ?? [])]) } : {}),
    notes,
  };
}

/** The first of the inputs that concern both clusters. */
function needsBoth({ networkLink, authentication, resourceSlices, virtualNodes }: RenderInputs): string | undefined {
  if (networkLink) return "networkLink";
  if (authentication) return "authentication";
  if (resourceSlices.length > 0) return "resourceSlices";
  return virtualNodes.length > 0 ? "virtualNodes" : undefined;
}

async function pairManifests(
  context: CallContext,
  own: KnownSide,
  other: KnownSide,
  inputs: RenderInputs,
  notes: string[],
): Promise<{ consumer: KubeObject[]; provider: KubeObject[] }> {
  if (own.clusterId === other.clusterId) {
    throw new Error(`consumer.clusterId, provider.clusterId: both are "${own.clusterId}": name two different clusters`);
  }
  const [consumer, provider] = await Promise.all([
    endOf(context, own, other.clusterId),
    endOf(context, other, own.clusterId),
  ]);
  const { networkLink, authentication } = inputs;
  const link = {
    consumer: networkLink ? linkManifests(consumer, provider, networkLink, notes) : [],
    provider: networkLink ? linkManifests(provider, consumer, networkLink, notes) : [],
  };
  const access = authentication ? accessManifests({ consumer, provider }, authentication, notes) : undefined;
  return {
    consumer: [
      tenantNamespace(consumer),
      ...link.consumer,
      ...(access?.consumer ?? []),
      ...resources({ consumer, provider }, inputs, notes),
    ],
    provider: [tenantNamespace(provider), ...link.provider, ...(access?.provider ?? [])],
  };
}

async function endOf(context: CallContext, known: KnownSide, remoteId: string): Promise<RenderedEnd> {
  const namespace = await tenantNamespaceOf(known, remoteId, context.signal);
  const gateway = await readGateway(known, namespace, remoteId, context.signal);
  return { ...known, remoteId, namespace, gateway };
}

/** Without the mark by which a NetworkLink or Authentication knows namespaces that it may delete. */
function tenantNamespace({ namespace: name, remoteId }: RenderedEnd): KubeObject {
  return manifestOf(NamespaceResource, { metadata: { name, labels: tenantNamespaceLabels(remoteId) } });
}

/** What a consumer asks for, and its further nodes. */
function resources({ consumer, provider }: RenderedEnds, inputs: RenderInputs, notes: string[]): KubeObject[] {
  const ids = { consumerId: consumer.clusterId, providerId: provider.clusterId, namespace: consumer.namespace };
  const slices = inputs.resourceSlices.flatMap((slice) => {
    const name = slice.name ?? provider.clusterId;
    if (slice.cordoned) {
      notes.push(
        `provider: ResourceSlice ${name} is cordoned on the provider's copy, which has no manifest of its own: ` +
          `kubectl annotate resourceslice -n ${provider.namespace} ${name} ${Annotations.cordon}=true`,
      );
    }
    return withChosenMetadata([manifestOf(ResourceSliceResource, sliceManifest(ids, name, slice))], slice);
  });
  const nodes = inputs.virtualNodes.flatMap((node) => {
    const manifest = virtualNodeManifest(
      { ...node, providerClusterId: provider.clusterId },
      consumer.namespace,
      consumer.agentNamespace,
    );
    return withChosenMetadata([manifestOf(VirtualNodeResource, manifest)], node);
  });
  return [...slices, ...nodes];
}

function namespaceManifests({ namespaceOffloadings }: RenderInputs): KubeObject[] {
  return namespaceOffloadings.flatMap((offloading) => {
    const namespace = manifestOf(NamespaceResource, { metadata: { name: offloading.namespace } });
    const manifest = manifestOf(NamespaceOffloadingResource, offloadingManifest(offloading));
    return withChosenMetadata([...(offloading.createNamespace ? [namespace] : []), manifest], offloading);
  });
}

/** @throws Error naming the range that nobody tells */
async function installation({ signal }: CallContext, known: KnownSide | undefined): Promise<KubeObject[]> {
  const agent = known?.inputs.agent;
  if (!known || !agent) return [];
  const { client } = known;
  const detected = client && !(agent.podCIDRs && agent.serviceCIDR) ? await detectRanges(client, signal) : undefined;
  const podCIDRs = agent.podCIDRs ?? known.inputs.podCIDRs ?? detected?.podCIDRs ?? [];
  const serviceCIDR = agent.serviceCIDR ?? detected?.serviceCIDR ?? "";
  if (agent.networkingEnabled && podCIDRs.length === 0) throw new Error(untold(known, "podCIDRs"));
  if (agent.networkingEnabled && serviceCIDR === "") throw new Error(untold(known, "serviceCIDR"));
  const apiServerAddress = agent.apiServerAddress ?? (client && (await undiscoverableAddress(client, signal))) ?? "";
  const resolved = { podCIDRs, serviceCIDR, apiServerAddress };
  return agentManifests(installInputs({ ...agent, clusterId: known.clusterId, forceDelete: false }, resolved));
}

function untold({ side, client }: KnownSide, property: string): string {
  const reason = client ? `cluster ${client.cluster} does not tell it` : "no cluster is given to read it from";
  return `${side}.agent.${property}: is needed, as ${reason}`;
}
