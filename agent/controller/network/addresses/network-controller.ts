import type { Node } from "kubernetes-types/core/v1";
import {
  Annotations,
  Finalizers,
  Labels,
  NetworkResource,
  NetworkType,
  canonicalCidr,
  cidrContainsAddress,
  normalizeCidrs,
  type Network,
  type StandardCondition,
} from "../../../api/index.js";
import {
  Controller,
  KubeError,
  addFinalizer,
  hasFinalizer,
  insideAddresses,
  isDeleting,
  keyOf,
  kubeTime,
  messageOf,
  removeFinalizer,
  withCondition,
  sameJson,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { chooseRange, type HeldRange } from "./allocation.js";
import { nodeAddresses, physicalNodes } from "../nodes.js";
import type { Lock } from "../../../runtime/lock.js";

/**
 * Gives each Network its range (network specification, §2). Watches Networks; owns their finalizer; writes `status.cidr`,
 * once, and why there is none. The Networks are the only record of what is in use: they are listed anew before each choice.
 */
export function networkController(context: ControllerContext, lock: Lock): Controller {
  const { client, informers, logger } = context;
  const networks = informers.for(NetworkResource);
  const recorder = context.recorder("network-controller");
  const controller = new Controller({
    name: "network",
    workers: 1,
    logger,
    reconcile: async (key) => {
      const network = networks.get(key);
      if (!network) return;
      if (isDeleting(network)) {
        // Released by being gone: what is deleted is no longer counted.
        if (hasFinalizer(network, Finalizers.network)) {
          await removeFinalizer(client, NetworkResource, network, Finalizers.network);
        }
        return;
      }
      const isPreinstalled = network.metadata.annotations?.[Annotations.preinstalled] === "true";
      if (!isPreinstalled && !hasFinalizer(network, Finalizers.network)) {
        networks.observe(await addFinalizer(client, NetworkResource, network, Finalizers.network));
        controller.enqueue(key);
        return;
      }
      if (network.status?.cidr) return;
      await lock
        .run(() => allocate(context, key))
        .catch(async (error: unknown) => {
          if (error instanceof KubeError) throw error;
          recorder.warning(NetworkResource, network, "RangeNotAllocated", messageOf(error));
          await writeFailure(context, key, messageOf(error));
          throw error;
        });
    },
  });
  controller.watch(networks, function* (network, event) {
    yield keyOf(network);
    // What has become free may be what another one waits for.
    if (event.type === "deleted" || (event.type === "updated" && event.object.metadata.deletionTimestamp))
      for (const other of networks.list()) if (!other.status?.cidr) yield keyOf(other);
  });
  physicalNodes(context).onEvent((event) => {
    if (event.type === "deleted") return;
    const before = event.type === "updated" ? insideAddresses(event.old) : [];
    for (const address of insideAddresses(event.object))
      if (!before.includes(address)) tellOfNode(event.object, address);
  });
  return controller;

  /** A range is given once: where nodes come into it later, people have to make room. */
  function tellOfNode({ metadata }: Node, address: string): void {
    for (const network of networks.list()) {
      const { cidr } = network.status ?? {};
      if (!cidr || !isChosen(network) || !cidrContainsAddress(cidr, address)) continue;
      const message =
        `node ${metadata?.name} has the address ${address}, which is in ${cidr}: other nodes do not reach it, as that leads to another cluster. ` +
        "Reserve the nodes' subnet (reservedSubnets of the Agent), and make the peering anew";
      recorder.warning(NetworkResource, network, "NodeInRange", message);
    }
  }
}

async function allocate({ client, informers, config, logger }: ControllerContext, key: string): Promise<void> {
  const { items } = await client.list(NetworkResource);
  const network = items.find((candidate) => keyOf(candidate) === key);
  if (!network || isDeleting(network) || network.status?.cidr) return;
  const requested = normalizeCidrs(network.spec.cidr)[0] ?? "";
  const nodes = isChosen(network) ? await nodeAddresses(client) : [];
  const held = [
    ...items.filter((other) => other !== network && !isDeleting(other)).flatMap(heldBy),
    ...nodes.map((address) => ({ cidr: `${address}/32`, shared: false })),
  ];
  const cidr = chooseRange(
    { cidr: requested, immutable: isImmutable(network), shared: isShared(network) },
    held,
    config.ipamPools,
  );
  const updated = await client.replaceStatus(NetworkResource, {
    ...network,
    status: { cidr, conditions: allocatedCondition(network, "True", ALLOCATED, `range ${cidr}`) },
  });
  informers.for(NetworkResource).observe(updated);
  logger.info({ network: key, requested, cidr }, "range allocated");
}

/** Says in the status why there is no range; the event alone would be forgotten. */
async function writeFailure({ client, informers }: ControllerContext, key: string, message: string): Promise<void> {
  const networks = informers.for(NetworkResource);
  const network = networks.get(key);
  if (!network || network.status?.cidr) return;
  const conditions = allocatedCondition(network, "False", "RangeNotAllocated", `spec.cidr: ${message}`);
  const status = { ...network.status, conditions };
  if (sameJson(status, network.status)) return;
  networks.observe(await client.replaceStatus(NetworkResource, { ...network, status }));
}

/** Whether a Network has its range. */
export const ALLOCATED = "Allocated";

function allocatedCondition(
  { status, metadata }: Network,
  value: "True" | "False",
  reason: string,
  message: string,
): StandardCondition[] {
  return withCondition<StandardCondition>(status?.conditions, {
    type: ALLOCATED,
    status: value,
    reason,
    message,
    observedGeneration: metadata.generation,
    lastTransitionTime: kubeTime(),
  });
}

/** A fixed range counts before it is confirmed: those that can move must make way. */
function heldBy(network: Network): HeldRange[] {
  const cidr = network.status?.cidr ?? (isImmutable(network) ? canonicalCidr(network.spec.cidr) : undefined);
  return cidr ? [{ cidr, shared: isShared(network) }] : [];
}

/** Of all others the cluster's nodes are where they are: among its pods, it may be, or in what was reserved for them. */
function isChosen(network: Network): boolean {
  const type = network.metadata.labels?.[Labels.networkType];
  return !isImmutable(network) || type === NetworkType.external || type === NetworkType.internal;
}

function isImmutable({ metadata }: Network): boolean {
  const value = metadata.labels?.[Labels.networkNotRemapped];
  return value !== undefined && value !== "false";
}

function isShared({ metadata }: Network): boolean {
  return metadata.labels?.[Labels.networkShared] === "true";
}
