import { isDeepStrictEqual } from "node:util";
import {
  Annotations,
  Labels,
  ResourceSliceResource,
  VirtualNodeResource,
  type ResourceSlice,
  type VirtualNode,
} from "../../../agent/api/index.js";
import { NodeResource } from "../../../agent/runtime/index.js";
import { applyExactly } from "../../kube/apply-exactly.js";
import type { Pair } from "../../preconditions/index.js";
import {
  ifVisible,
  latestWarning,
  podProblems,
  waitFor,
  WaitTimeout,
  withLimit,
  type Progress,
} from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { findTenantNamespaces, MANAGER, namesOf } from "../tenant-namespace/index.js";
import type { ResourceSliceInputs } from "./schema.js";
import { judgeCondition, judgeGrant, judgeNode, judgeVirtualNode, sliceManifest } from "./slice.js";

/** What of a slice is the program's alone, whoever has made the slice. */
const SLICE_DECIDED = [
  ["spec", "resources"],
  ["metadata", "annotations", Annotations.createVirtualNode],
];

/** How long a node may take before the grant is looked at again. */
const RECONSIDER_MS = 4_000;

export interface Negotiated {
  namespaces: { consumer: string; provider: string };
  acceptedResources: Record<string, string>;
  virtualNodeName?: string;
}

/** Both tenant namespaces. @throws Error when one is missing: an Authentication makes them */
async function tenantNamespacesOf(pair: Pair, signal: AbortSignal): Promise<Negotiated["namespaces"]> {
  const namespaces = namesOf(await findTenantNamespaces(pair, signal));
  if (namespaces.consumer && namespaces.provider) return namespaces;
  const [side, remote] = namespaces.consumer
    ? (["provider", pair.consumer] as const)
    : (["consumer", pair.provider] as const);
  throw new Error(
    `${side}: there is no tenant namespace for cluster ${remote.clusterId}: authenticate first, by an Authentication that this ResourceSlice depends on`,
  );
}

/**
 * Asks the provider for resources and waits until it has granted them and the virtual node offers them (control plane specification, §6, §11).
 * Asking again with other amounts negotiates anew, in place.
 *
 * @param begun told before the slice is made
 */
export async function negotiate(
  progress: Progress,
  pair: Pair,
  name: string,
  inputs: ResourceSliceInputs,
  begun: (namespaces: Negotiated["namespaces"]) => void,
): Promise<Negotiated> {
  const namespaces = await tenantNamespacesOf(pair, progress.signal);
  const { client } = pair.consumer;
  const present = await findUnlessClash(pair, namespaces, name, progress.signal);
  const ids = {
    consumerId: pair.consumer.clusterId,
    providerId: pair.provider.clusterId,
    namespace: namespaces.consumer,
  };
  const options = { fieldManager: MANAGER, signal: progress.signal };
  begun(namespaces);
  const manifest = sliceManifest(ids, name, inputs);
  const applied = await applyExactly(client, ResourceSliceResource, manifest, options, SLICE_DECIDED);
  progress.status(`consumer: ResourceSlice ${name} ${present.own ? "up to date" : "created"}`);
  const slice = { client, type: ResourceSliceResource, namespace: namespaces.consumer, name };
  const explain = (signal: AbortSignal) => explainSlice(pair, namespaces, name, signal);
  const authenticated = await waitFor<ResourceSlice, ResourceSlice | undefined>(progress, {
    ...slice,
    // One that was there tells what it was answered before.
    written: present.own ? undefined : applied,
    what: `the provider's authentication of ResourceSlice ${name}`,
    judge: ([current]) => {
      const verdict = judgeCondition(current, "Authentication");
      return "done" in verdict ? { done: current } : verdict;
    },
    explain,
  });
  progress.status("consumer: ResourceSlice authenticated");
  const grantOf = (inner: Progress) =>
    waitFor<ResourceSlice, Record<string, string>>(inner, {
      ...slice,
      what: `the resources of ResourceSlice ${name}`,
      judge: ([current]) => judgeGrant(current),
      explain,
    });
  // Often it comes with the first answer already.
  const verdict = judgeGrant(authenticated);
  const acceptedResources = "done" in verdict ? verdict.done : await grantOf(progress);
  progress.status(`consumer: resources granted: ${describeResources(acceptedResources)}`);
  if (inputs.cordoned || present.copy) await setCordon(progress, pair, namespaces.provider, name, inputs.cordoned);
  if (!inputs.createVirtualNode) return { namespaces, acceptedResources };
  const offered = await waitForOffer(progress, acceptedResources, grantOf, (inner, granted) =>
    waitForNode(inner, pair, namespaces.consumer, name, granted),
  );
  return { namespaces, acceptedResources: offered, virtualNodeName: name };
}

/**
 * Waits until the node offers what is granted. Who decides on a class of the provider's own does not say which request a grant answers: one of before
 * may have been taken for it, so it is looked at again when the node is long in coming.
 */
async function waitForOffer(
  progress: Progress,
  granted: Record<string, string>,
  grantOf: (progress: Progress) => Promise<Record<string, string>>,
  waitWith: (progress: Progress, granted: Record<string, string>) => Promise<void>,
): Promise<Record<string, string>> {
  try {
    await waitWith(withLimit(progress, RECONSIDER_MS), granted);
    return granted;
  } catch (error) {
    if (!(error instanceof WaitTimeout) || Date.now() >= progress.deadline - RECONSIDER_MS) throw error;
  }
  const present = await grantOf(progress);
  if (isDeepStrictEqual(present, granted)) {
    await waitWith(progress, granted);
    return granted;
  }
  return waitForOffer(progress, present, grantOf, waitWith);
}

/**
 * The slice and the provider's copy of it, as far as they are there.
 *
 * @throws Error when one of them is the reverse direction's, which cannot share a name in one namespace (control plane specification, §16)
 */
async function findUnlessClash(
  { consumer, provider }: Pair,
  namespaces: Negotiated["namespaces"],
  name: string,
  signal: AbortSignal,
): Promise<{ own?: ResourceSlice; copy?: ResourceSlice }> {
  const [own, copy] = await Promise.all([
    consumer.client.get(ResourceSliceResource, { name, namespace: namespaces.consumer }, signal),
    ifVisible(provider.client.get(ResourceSliceResource, { name, namespace: namespaces.provider }, signal)),
  ]);
  const isCopyHere = own?.metadata.labels?.[Labels.replicated] === "true";
  const isSourceThere = copy !== undefined && copy.metadata.labels?.[Labels.replicated] !== "true";
  if (isCopyHere || isSourceThere) {
    throw new Error(
      `name: the other direction between these clusters has a ResourceSlice ${name} already: choose another name`,
    );
  }
  return { own, copy };
}

async function waitForNode(
  progress: Progress,
  { consumer }: Pair,
  namespace: string,
  name: string,
  granted: Record<string, string>,
): Promise<void> {
  const explain = async (signal: AbortSignal) =>
    (await podProblems(consumer.client, namespace, { [Labels.virtualNode]: name }, signal)) ??
    explainAgent(consumer, signal);
  const virtualNode = await waitFor<VirtualNode, VirtualNode>(progress, {
    client: consumer.client,
    type: VirtualNodeResource,
    namespace,
    name,
    what: `VirtualNode ${namespace}/${name}`,
    judge: ([current]) => judgeVirtualNode(current, granted),
    explain,
  });
  progress.status(
    `consumer: virtual node ${name} ${virtualNode.status?.conditions?.length ? "up to date" : "created"}`,
  );
  if (virtualNode.spec.createNode === false) return;
  await waitFor(progress, {
    client: consumer.client,
    type: NodeResource,
    name,
    what: `Node ${name}`,
    judge: ([node]) => judgeNode(node, granted),
    explain,
  });
  progress.status(`consumer: virtual node ${name} is ready`);
}

/** The provider's mark on its copy; it never travels back (control plane specification, §9). */
async function setCordon(
  progress: Progress,
  { provider }: Pair,
  namespace: string,
  name: string,
  cordoned: boolean,
): Promise<void> {
  const id = { name, namespace };
  const reading = provider.client.get(ResourceSliceResource, id, progress.signal);
  // Who may not see the copy cannot have cordoned it.
  const copy = await (cordoned ? reading : ifVisible(reading));
  const isCordoned = copy?.metadata.annotations?.[Annotations.cordon] === "true";
  if (!copy || isCordoned === cordoned) return;
  const patch = { metadata: { annotations: { [Annotations.cordon]: cordoned ? "true" : null } } };
  await provider.client.mergePatch(ResourceSliceResource, id, patch, {
    fieldManager: MANAGER,
    signal: progress.signal,
  });
  progress.status(`provider: ResourceSlice ${name} ${cordoned ? "cordoned" : "uncordoned"}`);
}

/** Events about the copy say more than the condition; without a copy the replication is at fault. */
async function explainSlice(
  { consumer, provider }: Pair,
  namespaces: Negotiated["namespaces"],
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const copy = await provider.client.get(ResourceSliceResource, { name, namespace: namespaces.provider }, signal);
  const about = { kind: "ResourceSlice", name };
  if (copy) {
    return (await latestWarning(provider.client, namespaces.provider, about, signal)) ?? explainAgent(provider, signal);
  }
  const warning = await latestWarning(consumer.client, namespaces.consumer, about, signal);
  const reason = warning ?? (await explainAgent(consumer, signal));
  return `the slice has not reached the provider (does the consumer reach the provider's API server?)${reason ? `; ${reason}` : ""}`;
}

export function describeResources(resources: Record<string, string>): string {
  return Object.entries(resources)
    .map(([name, quantity]) => `${name} ${quantity}`)
    .join(", ");
}
