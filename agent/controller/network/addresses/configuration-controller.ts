import {
  CidrType,
  ConfigurationResource,
  Labels,
  NetworkResource,
  normalizeCidrs,
  remoteNetworkName,
  type ClusterRanges,
  type Configuration,
  type Network,
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
      const configuration = await withLocalRanges(context, found, networks);
      if (!configuration) return;
      for (const type of TYPES) await applyNetworks(context, configuration, type, networks);
      await writeStatus(context, configuration, networks);
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

async function writeStatus(
  { client, informers }: ControllerContext,
  configuration: Configuration,
  networks: Informer<Network>,
): Promise<void> {
  const remapped = Object.fromEntries(TYPES.map((type) => [type, remappedRanges(configuration, type, networks)]));
  const isComplete =
    (remapped[CidrType.pod] ?? []).length > 0 &&
    TYPES.every((type) => remapped[type]?.every((cidr) => cidr !== undefined));
  const failure = isComplete ? undefined : failureOf(configuration, networks);
  const status = nextStatus(configuration, isComplete ? remapped : undefined, failure);
  if (JSON.stringify(status) !== JSON.stringify(configuration.status)) {
    const updated = await client.replaceStatus(ConfigurationResource, { ...configuration, status });
    informers.for(ConfigurationResource).observe(updated);
  }
  await labelConfigured({ client, configuration, isComplete });
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

/** The former mapping stands until there is a new one, unless what it maps has changed. */
function nextStatus(
  configuration: Configuration,
  ranges: ClusterRanges | undefined,
  failure: string | undefined,
): NonNullable<Configuration["status"]> {
  const isComplete = ranges !== undefined;
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
  return isComplete ? { remote: { cidr: ranges }, conditions } : { ...configuration.status, conditions };
}

/** What versions up to 1.1 look for instead of the condition. */
async function labelConfigured(options: {
  client: ControllerContext["client"];
  configuration: Configuration;
  isComplete: boolean;
}): Promise<void> {
  const { client, configuration, isComplete } = options;
  const { name = "", namespace, labels } = configuration.metadata;
  if ((labels?.[Labels.configurationConfigured] === "true") === isComplete) return;
  const value = isComplete ? "true" : null;
  await client.mergePatch(
    ConfigurationResource,
    { name, namespace },
    { metadata: { labels: { [Labels.configurationConfigured]: value } } },
  );
}

/** Whether the mapping in the status is that of the present spec (network specification, §3). */
export function isConfigured({ metadata, status }: Configuration): boolean {
  const condition = status?.conditions?.find(({ type }) => type === CONDITION);
  return condition?.status === "True" && condition.observedGeneration === metadata.generation;
}
