import {
  CidrType,
  ConfigurationResource,
  Labels,
  NetworkResource,
  mappedCidrs,
  normalizeCidrs,
  remoteNetworkName,
  type ClusterRanges,
  type Configuration,
  type Network,
  type StandardCondition,
} from "../../../api/index.js";
import {
  Controller,
  TerminalError,
  findCondition,
  isDeleting,
  keyOf,
  kubeTime,
  nonBlockingOwnerReference,
  withCondition,
  type Informer,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { FIELD_MANAGER } from "../constants.js";
import { ALLOCATED } from "./network-controller.js";
import { ownedRanges } from "./owned-ranges.js";

const CONDITION = "NetworkCIDRsConfigured";
const TYPES = [CidrType.pod, CidrType.external] as const;
type RangeType = (typeof TYPES)[number];

/**
 * Exchange and remapping of ranges (network specification, §3). Watches Configurations and Networks; owns one Network for each
 * remote range; writes `spec.local` (if the user has not), the status and what older versions look for.
 */
export function configurationController(context: ControllerContext): Controller {
  const { informers, config, logger } = context;
  const configurations = informers.for(ConfigurationResource);
  const networks = informers.for(NetworkResource);
  const recorder = context.recorder("configuration-controller");
  const controller = new Controller({
    name: "configuration",
    logger,
    reconcile: async (key) => {
      const found = configurations.get(key);
      if (!found || isDeleting(found)) return;
      if (!found.metadata.labels?.[Labels.remoteClusterID]) {
        const reason = `label ${Labels.remoteClusterID} is missing: it says whose ranges these are`;
        recorder.warning(ConfigurationResource, found, "LabelMissing", reason);
        throw new TerminalError(`Configuration ${key}: ${reason}`);
      }
      let configuration = await withLocalRanges(context, found, networks);
      if (!configuration) return;
      // A range that is given back may be another peer's at once: nothing may go there by it any more.
      if (configuration.status?.remote && !isObserved(configuration))
        configuration = await writeStatus(context, configuration, networks);
      for (const type of TYPES) await applyNetworks(context, configuration, type, networks);
      configuration = await writeStatus(context, configuration, networks);
      await labelConfigured(context, configuration);
    },
  });
  controller.watch(configurations);
  controller.watch(networks, function* (network) {
    const owner = network.metadata.ownerReferences?.find(({ kind }) => kind === ConfigurationResource.kind);
    if (owner) yield keyOf({ metadata: { name: owner.name, namespace: network.metadata.namespace } });
    else if (network.metadata.namespace === config.namespace) {
      for (const configuration of configurations.list()) if (!configuration.spec.local) yield keyOf(configuration);
    }
  });
  return controller;
}

/** Undefined while this cluster's own ranges are not known yet. */
async function withLocalRanges(
  { client, informers, config }: ControllerContext,
  configuration: Configuration,
  networks: Informer<Network>,
): Promise<Configuration | undefined> {
  if (configuration.spec.local?.cidr) return configuration;
  const own = ownedRanges(networks, config.namespace);
  if (!own) return undefined;
  const { name = "", namespace, resourceVersion } = configuration.metadata;
  const local = { cidr: { pod: own.pods, external: [own.external] } };
  const patch = { metadata: { resourceVersion }, spec: { local } };
  const updated = await client.mergePatch(ConfigurationResource, { name, namespace }, patch);
  informers.for(ConfigurationResource).observe(updated);
  return updated;
}

function remoteRanges(configuration: Configuration, type: RangeType): string[] {
  return normalizeCidrs(configuration.spec.remote?.cidr?.[type]);
}

function ownedNetworks(configuration: Configuration, type: RangeType, networks: Informer<Network>): Network[] {
  const { namespace = "", uid } = configuration.metadata;
  return networks
    .inNamespace(namespace)
    .filter(
      ({ metadata }) =>
        metadata.labels?.[Labels.cidrType] === type && metadata.ownerReferences?.some((owner) => owner.uid === uid),
    );
}

/** One Network for each remote range. While one that is no longer wanted still holds its range, no other is made. */
async function applyNetworks(
  { client, informers }: ControllerContext,
  configuration: Configuration,
  type: RangeType,
  networks: Informer<Network>,
): Promise<void> {
  const { name: owner = "", namespace = "" } = configuration.metadata;
  const wanted = new Map(remoteRanges(configuration, type).map((cidr) => [remoteNetworkName(owner, type, cidr), cidr]));
  const present = ownedNetworks(configuration, type, networks);
  const stale = present.filter(
    ({ metadata, spec }) => wanted.get(metadata.name ?? "") !== spec.cidr || metadata.deletionTimestamp,
  );
  for (const network of stale) {
    const id = { name: network.metadata.name ?? "", namespace };
    if (!isDeleting(network)) await client.delete(NetworkResource, id, { uid: network.metadata.uid });
  }
  // The deletion's event leads back here.
  if (stale.length > 0) return;
  for (const [name, cidr] of wanted) {
    if (present.some(({ metadata }) => metadata.name === name)) continue;
    const network = await client.apply(NetworkResource, remoteNetwork(configuration, type, name, cidr), {
      fieldManager: FIELD_MANAGER,
    });
    informers.for(NetworkResource).observe(network);
  }
}

function remoteNetwork(configuration: Configuration, type: RangeType, name: string, cidr: string): Network {
  const { namespace, labels } = configuration.metadata;
  return NetworkResource.build({
    metadata: {
      name,
      namespace,
      labels: {
        [Labels.remoteClusterID]: labels?.[Labels.remoteClusterID] ?? "",
        [Labels.cidrType]: type,
      },
      ownerReferences: [nonBlockingOwnerReference(ConfigurationResource, configuration)],
    },
    spec: { cidr },
  });
}

/** @returns the Configuration as it now is */
async function writeStatus(
  { client, informers }: ControllerContext,
  configuration: Configuration,
  networks: Informer<Network>,
): Promise<Configuration> {
  const remapped = Object.fromEntries(TYPES.map((type) => [type, remappedRanges(configuration, type, networks)]));
  const isComplete =
    (remapped[CidrType.pod] ?? []).length > 0 &&
    TYPES.every((type) => remapped[type]?.every((cidr) => cidr !== undefined));
  const failure = isComplete ? undefined : failureOf(configuration, networks);
  const remote = isComplete ? { cidr: remapped as ClusterRanges } : formerRanges(configuration, remapped);
  const status = nextStatus(configuration, remote, { isComplete, failure });
  if (JSON.stringify(status) === JSON.stringify(configuration.status)) return configuration;
  const updated = await client.replaceStatus(ConfigurationResource, { ...configuration, status });
  informers.for(ConfigurationResource).observe(updated);
  return updated;
}

/**
 * The mapping while some ranges wait: there is none before the first complete one. What is mapped goes on as it is, and what spec.remote does
 * not say any more is left out: an empty string keeps the place of a range that waits, as the index tells what is mapped to what.
 */
function formerRanges(
  configuration: Configuration,
  remapped: Record<string, (string | undefined)[]>,
): { cidr: ClusterRanges } | undefined {
  const former = configuration.status?.remote;
  if (!former) return undefined;
  const stands = isObserved(configuration);
  const ranges = TYPES.map((type) => {
    const present = stands ? mappedCidrs(former.cidr?.[type]) : [];
    return [type, remapped[type]?.map((cidr, index) => cidr ?? present[index] ?? "")];
  });
  return { cidr: Object.fromEntries(ranges) as ClusterRanges };
}

function remappedRanges(
  configuration: Configuration,
  type: RangeType,
  networks: Informer<Network>,
): (string | undefined)[] {
  const { name: owner = "", namespace = "" } = configuration.metadata;
  return remoteRanges(configuration, type).map((cidr) => {
    const network = networks.find(namespace, remoteNetworkName(owner, type, cidr));
    return network && !isDeleting(network) ? network.status?.cidr : undefined;
  });
}

/** Why a range is waited for, by the field that asks for it. */
function failureOf(configuration: Configuration, networks: Informer<Network>): string | undefined {
  const { name: owner = "", namespace = "" } = configuration.metadata;
  const failures = TYPES.flatMap((type) =>
    remoteRanges(configuration, type).flatMap((cidr, index) => {
      const network = networks.find(namespace, remoteNetworkName(owner, type, cidr));
      const condition = findCondition(network?.status?.conditions, ALLOCATED);
      return condition?.status === "False" ? [`spec.remote.cidr.${type}[${index}]: ${condition.message}`] : [];
    }),
  );
  return failures.length > 0 ? failures.join("; ") : undefined;
}

function nextStatus(
  configuration: Configuration,
  remote: { cidr: ClusterRanges } | undefined,
  { isComplete, failure }: { isComplete: boolean; failure: string | undefined },
): NonNullable<Configuration["status"]> {
  const conditions = withCondition(configuration.status?.conditions, {
    type: CONDITION,
    status: isComplete ? "True" : "False",
    reason: isComplete ? "NetworkCIDRsConfigured" : "WaitingForNetworks",
    message: isComplete
      ? "all remote ranges have a range in this cluster"
      : (failure ?? "waiting for the ranges of remote Networks"),
    observedGeneration: configuration.metadata.generation,
    lastTransitionTime: kubeTime(),
  });
  return remote ? { remote, conditions } : { ...configuration.status, conditions };
}

/** What versions up to 1.1 look for instead of the condition. */
async function labelConfigured({ client }: ControllerContext, configuration: Configuration): Promise<void> {
  const { name = "", namespace, labels } = configuration.metadata;
  const isComplete = isConfigured(configuration);
  if ((labels?.[Labels.configurationConfigured] === "true") === isComplete) return;
  const value = isComplete ? "true" : null;
  await client.mergePatch(
    ConfigurationResource,
    { name, namespace },
    { metadata: { labels: { [Labels.configurationConfigured]: value } } },
  );
}

/** Whether all of the present spec is mapped in the status (network specification, §3). */
export function isConfigured(configuration: Configuration): boolean {
  return isObserved(configuration) && conditionOf(configuration)?.status === "True";
}

/** Whether the status maps the present spec, if not all of it yet: before it does, its ranges may be others' by now. */
export function isObserved(configuration: Configuration): boolean {
  return conditionOf(configuration)?.observedGeneration === configuration.metadata.generation;
}

function conditionOf({ status }: Configuration): StandardCondition | undefined {
  return findCondition(status?.conditions, CONDITION);
}
