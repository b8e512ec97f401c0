import { definedResources, NamespaceOffloadingPolicyResource } from "../../../agent/api/index.js";
import { Labels } from "../../../agent/api/labels.js";
import { Names } from "../../../agent/api/names.js";
import type { InstallInputs } from "../../../agent/install/inputs.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import { agentManifests } from "../../../agent/install/manifests.js";
import { InstallNames } from "../../../agent/install/names.js";
import { refuseWhilePeered } from "../../../agent/install/remaining-peerings.js";
import {
  CertificateSigningRequestResource,
  ClusterRoleBindingResource,
  LeaseResource,
  NamespaceResource,
  SecretResource,
} from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isNotFound } from "../../../agent/runtime/kube-error.js";
import { describeObject, keyOf, type KubeObject, type ResourceType } from "../../../agent/runtime/resource-type.js";
import { forEachParallel } from "./parallel.js";
import { fabricRemains, nodesWithoutFabric, patienceOf, releasePods, type Patience } from "./uninstall-fabric.js";
import { holdsData } from "./storage-namespace.js";
import { pause, waitForObjects, type WaitContext } from "./waiting.js";

const PARALLEL = 12;
/** How long controllers may take to let go of their objects when they are forced. */
const FINALIZERS_GRACE_MS = 15_000;

export interface UninstallContext extends WaitContext {
  deadline: number;
  /** A line that stays: what could not be cleaned up. */
  warn(line: string): void;
  /** Default: enough for what comes back by itself. */
  patience?: Patience;
}

/**
 * Removes an installation and all that it made: first the custom resources, while the controllers can still clean up behind them, then the workloads,
 * then everything else; ends when it is really gone.
 *
 * @throws Error naming what still uses the agent, unless forced
 */
export async function uninstall(context: UninstallContext, inputs: InstallInputs, force: boolean): Promise<void> {
  if (!force) {
    const deadline = context.deadline - 1_000;
    const remedy = "set forceDelete and run up before destroying";
    await refuseWhilePeered({ ...context, deadline, endsPolicies: true }, inputs.clusterId, remedy);
  }
  const manifests = agentManifests(inputs);
  const ofKind = (...kinds: string[]) => manifests.filter(({ kind }) => kinds.includes(kind ?? ""));
  // Without them nothing can be refused any more by a controller that is about to go.
  await remove(context, ofKind("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"));
  context.status("removing custom resources");
  await removeCustomResources(context, force);
  const patience = context.patience ?? patienceOf(force);
  const uncleaned = await nodesWithoutFabric(context, inputs.namespace, patience);
  if (uncleaned.length > 0) context.warn(fabricRemains(uncleaned, inputs));
  context.status("removing workloads");
  await removeWorkloads(context, ofKind("Deployment", "DaemonSet"), inputs.namespace, force ? patience : undefined);
  await sweepCustomResources(context);
  context.status("removing roles, configuration and custom resource definitions");
  const first = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "Deployment", "DaemonSet"];
  const rest = manifests.filter(({ kind }) => ![...first, "Namespace"].includes(kind ?? ""));
  await remove(context, rest);
  await removeRuntimeObjects(context, inputs.namespace);
  await Promise.all([removeNamespace(context, inputs.namespace), removeStorageNamespace(context)]);
}

/** Pods end before what they work with goes. With `patience`, those that nobody ends are not waited for longer than that. */
async function removeWorkloads(
  context: UninstallContext,
  workloads: KubeObject[],
  namespace: string,
  patience: Patience | undefined,
): Promise<void> {
  const done = new AbortController();
  const release = patience && releasePods(context, namespace, patience, done.signal);
  // Fails when it is told to stop, and whatever else it meets the removal meets as well.
  release?.catch(() => undefined);
  try {
    await remove(context, workloads, "Foreground");
  } finally {
    done.abort();
  }
}

interface Found {
  type: ResourceType;
  object: KubeObject;
}

/**
 * Deletes all objects of all our kinds and waits until those are gone, while the controllers still run to let go of them; forced, it takes off what still
 * holds them after a while. What controllers make anew meanwhile is not waited for.
 */
async function removeCustomResources(context: UninstallContext, force: boolean): Promise<void> {
  const before = await customResources(context);
  const originals = new Set(before.map(({ object }) => object.metadata?.uid));
  const isPolicy = ({ type }: Found): boolean => type.kind === NamespaceOffloadingPolicyResource.kind;
  // While there is a policy it makes anew what goes.
  for (const first of [before.filter(isPolicy), before.filter((one) => !isPolicy(one))])
    await forEachParallel(first, PARALLEL, ({ type, object }) => tellToGo(context, type, object));
  const grace = force ? Date.now() + FINALIZERS_GRACE_MS : Infinity;
  for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
    const left = (await customResources(context)).filter(({ object }) => originals.has(object.metadata?.uid));
    const [one] = left;
    if (!one) return;
    const finalizers = one.object.metadata?.finalizers?.join(", ") ?? "";
    const name = describeObject(one.type, one.object.metadata?.name ?? "", one.object.metadata?.namespace);
    context.status(
      `waiting for ${left.length} custom resources to go: ${name}${finalizers && ` (held by ${finalizers})`}`,
    );
    if (Date.now() > grace) await forEachParallel(left, PARALLEL, ({ type, object }) => letGo(context, type, object));
    await pause(wait, context.signal);
  }
}

/** What controllers made in their last moments, and nobody is left to let go of. */
async function sweepCustomResources(context: UninstallContext): Promise<void> {
  const left = await customResources(context);
  await forEachParallel(left, PARALLEL, ({ type, object }) => letGo(context, type, object));
}

async function customResources({ client, signal }: WaitContext): Promise<Found[]> {
  const found: Found[] = [];
  await forEachParallel(definedResources(), PARALLEL, async (type) => {
    for (const object of await listed(client, type, signal)) found.push({ type, object });
  });
  return found;
}

async function listed(client: KubeClient, type: ResourceType, signal: AbortSignal): Promise<KubeObject[]> {
  try {
    return (await client.list(type, { signal })).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function tellToGo({ client, signal }: WaitContext, type: ResourceType, object: KubeObject): Promise<void> {
  await client.delete(type, nameOf(object), { signal });
}

async function letGo(context: WaitContext, type: ResourceType, object: KubeObject): Promise<void> {
  try {
    await tellToGo(context, type, object);
    if (!object.metadata?.finalizers?.length) return;
    await context.client.mergePatch(
      type,
      nameOf(object),
      { metadata: { finalizers: null } },
      { signal: context.signal },
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Deletes objects and waits until they are gone. */
async function remove(
  context: WaitContext,
  objects: KubeObject[],
  propagationPolicy: "Foreground" | "Background" = "Background",
): Promise<void> {
  const { client, signal } = context;
  await forEachParallel(objects, PARALLEL, async (object) => {
    const type = resourceTypeOf(object);
    try {
      if (!(await client.delete(type, nameOf(object), { propagationPolicy, signal }))) return;
    } catch (error) {
      // The kind went with its definition.
      if (isNotFound(error)) return;
      throw error;
    }
    await untilGone(context, type, object);
  });
}

async function untilGone(context: WaitContext, type: ResourceType, object: KubeObject): Promise<void> {
  const { name, namespace } = nameOf(object);
  const key = keyOf(object);
  const description = describeObject(type, name, namespace);
  try {
    await waitForObjects(context, type, { namespace, fieldSelector: `metadata.name=${name}` }, (present) =>
      present.some((one) => keyOf(one) === key) ? `waiting for ${description} to go` : undefined,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** What the running agent made and nothing owns. */
async function removeRuntimeObjects(context: WaitContext, namespace: string): Promise<void> {
  const { client, signal } = context;
  const [requests, bindings, secrets, leases] = await Promise.all([
    client.list(CertificateSigningRequestResource, { labelSelector: Labels.remoteTenantCSR, signal }),
    client.list(ClusterRoleBindingResource, { signal }),
    client.list(SecretResource, { namespace, signal }),
    client.list(LeaseResource, { namespace, signal }),
  ]);
  const made = [
    "liqo-gateway-",
    "liqo-node-",
    "liqo-custom-resources-",
    `liqo-binding-${Names.virtualKubeletRemoteClusterwideRole}-`,
  ];
  const own = new Set<string>([Names.authenticationKeysSecret, Names.webhookSecret]);
  await remove(context, [
    ...requests.items,
    ...bindings.items.filter(({ metadata }) => made.some((prefix) => metadata?.name?.startsWith(prefix))),
    ...secrets.items.filter(({ metadata }) => own.has(metadata?.name ?? "")),
    ...leases.items.filter(({ metadata }) => metadata?.name?.startsWith("liqo-")),
  ]);
}

/** A namespace that was there before the installation stays. */
async function removeNamespace(context: WaitContext, name: string): Promise<void> {
  const namespace = await context.client.get(NamespaceResource, { name }, context.signal);
  if (namespace?.metadata?.labels?.[Labels.appManagedBy] !== InstallNames.manager) return;
  context.status(`waiting for namespace ${name} to go`);
  await remove(context, [{ apiVersion: "v1", kind: "Namespace", metadata: { name } }]);
}

async function removeStorageNamespace(context: WaitContext): Promise<void> {
  if (!(await holdsData(context))) await removeNamespace(context, Names.storageNamespace);
}

function nameOf(object: KubeObject): { name: string; namespace?: string } {
  return { name: object.metadata?.name ?? "", namespace: object.metadata?.namespace };
}
