import { Labels } from "../../../agent/api/labels.js";
import { Names } from "../../../agent/api/names.js";
import { NetworkResource, NetworkType } from "../../../agent/api/index.js";
import type { InstallInputs } from "../../../agent/install/inputs.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import { agentManifests } from "../../../agent/install/manifests.js";
import { hasProxy } from "../../../agent/install/proxy.js";
import { InstallNames } from "../../../agent/install/names.js";
import { NamespaceResource } from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isNotFound } from "../../../agent/runtime/kube-error.js";
import type { KubeObject } from "../../../agent/runtime/resource-type.js";
import { applyManifests, identityOf } from "./apply.js";
import { leftoversOf, liveObjects, possibleManifests, superfluousOf } from "./drift.js";
import { forEachParallel } from "./parallel.js";
import { holdsData } from "./storage-namespace.js";
import { waitUntilReady } from "./ready.js";
import type { WaitContext } from "./waiting.js";

/** What is known of the installation that was there. */
export interface Before {
  /** What was asked for. */
  inputs?: InstallInputs;
  version?: string;
}

/** Applies an installation and waits until it works; what an earlier one had and this one has not is removed. */
export async function install(context: WaitContext, inputs: InstallInputs, before: Before = {}): Promise<void> {
  const manifests = await asTenantOf(context, agentManifests(inputs));
  await applyManifests(context, manifests);
  if (before.inputs || before.version !== undefined) await prune(context, inputs, before, manifests);
  await waitUntilReady(context, inputs.namespace, {
    networking: inputs.networkingEnabled,
    proxy: hasProxy(inputs),
  });
}

/** A namespace that was there before is used as it is, and will stay: it does not get the label by which ours are known. */
async function asTenantOf({ client, signal }: WaitContext, manifests: KubeObject[]): Promise<KubeObject[]> {
  const namespace = manifests.find(({ kind }) => kind === "Namespace");
  const name = namespace?.metadata?.name ?? "";
  const present = await client.get(NamespaceResource, { name }, signal);
  const isOthers = present && present.metadata?.labels?.[Labels.appManagedBy] !== InstallNames.manager;
  if (!namespace || !isOthers) return manifests;
  const labels = { ...namespace.metadata?.labels };
  delete labels[Labels.appManagedBy];
  return manifests.map((object) =>
    object === namespace ? { ...object, metadata: { ...object.metadata, labels } } : object,
  );
}

/**
 * Removes what there was and is not to be any more. Not only by the former inputs: an update that broke off before it came to this has already left the new
 * ones in the state.
 */
async function prune(context: WaitContext, inputs: InstallInputs, before: Before, now: KubeObject[]): Promise<void> {
  const live = await liveObjects(context.client, [...now, ...possibleManifests(inputs)], context.signal);
  const isOther = before.version !== undefined && before.version !== inputs.version;
  const kept = new Set(now.map(identityOf));
  const former = before.inputs ? agentManifests(before.inputs).filter((object) => !kept.has(identityOf(object))) : [];
  const found = [...leftoversOf(inputs, now, live), ...(isOther ? superfluousOf(now, live) : [])];
  const unwanted = [...new Map([...former, ...found].map((object) => [identityOf(object), object])).values()];
  const isStorage = ({ kind, metadata }: KubeObject): boolean =>
    kind === "Namespace" && metadata?.name === Names.storageNamespace;
  const staysForData = unwanted.some(isStorage) && (await holdsData(context));
  await remove(context, staysForData ? unwanted.filter((object) => !isStorage(object)) : unwanted);
}

async function remove({ client, signal }: WaitContext, stale: readonly KubeObject[]): Promise<void> {
  await forEachParallel(stale, 8, async (object) => {
    try {
      const { name = "", namespace } = object.metadata ?? {};
      await client.delete(resourceTypeOf(object), { name, namespace }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  });
}

export interface AllocatedRanges {
  podCIDRs: string[];
  serviceCIDR?: string;
  externalCIDR?: string;
  internalCIDR?: string;
  /** Of those that the agent chooses itself otherwise, what the installation was asked to take. */
  asked: { externalCIDR?: string; internalCIDR?: string };
}

/** The ranges as allocated; undefined where they are not (yet). */
export async function allocatedRanges(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<AllocatedRanges> {
  const networks = await client.list(NetworkResource, { namespace, signal }).catch((error: unknown) => {
    if (isNotFound(error)) return { items: [] };
    throw error;
  });
  const find = (name: string) => networks.items.find(({ metadata }) => metadata.name === name);
  const named = (name: string) => find(name)?.status?.cidr;
  // Only a range that was asked for is fixed.
  const asked = (name: string) =>
    find(name)?.metadata.labels?.[Labels.networkNotRemapped] === "true" ? find(name)?.spec.cidr : undefined;
  const pods = networks.items.filter(({ metadata }) => metadata.labels?.[Labels.networkType] === NetworkType.pod);
  return {
    podCIDRs: pods.map(({ status, spec }) => status?.cidr ?? spec.cidr).sort(),
    serviceCIDR: named(Names.serviceNetwork),
    externalCIDR: named(Names.externalNetwork),
    internalCIDR: named(Names.internalNetwork),
    asked: { externalCIDR: asked(Names.externalNetwork), internalCIDR: asked(Names.internalNetwork) },
  };
}
