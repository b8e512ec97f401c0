import {
  Annotations,
  Finalizers,
  IPResource,
  Labels,
  NetworkResource,
  NetworkType,
  cidrContainsAddress,
  type IP,
  type Network,
} from "../../../api/index.js";
import {
  Controller,
  TerminalError,
  hasFinalizer,
  isDeleting,
  keyOf,
  messageOf,
  removeFinalizer,
  type InformerEvent,
  type KubeObject,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { linkAddresses } from "../fabric/link-addresses.js";
import { chooseAddress } from "./allocation.js";
import { applyIPService, deleteIPService, ipServiceInformers } from "./ip-service.js";
import type { Lock } from "../../../runtime/lock.js";
import { installed } from "./owned-ranges.js";

/**
 * Gives each IP its address (network specification, §4). Watches IPs and Networks; owns their finalizer, the Service and the
 * EndpointSlice of an IP, which it watches as well; writes labels, `status.ip` and `status.cidr`, once. An IP whose range is full waits until an address is free.
 */
export function ipController(context: ControllerContext, lock: Lock): Controller {
  const { client, informers, logger } = context;
  const ips = informers.for(IPResource);
  const networks = informers.for(NetworkResource);
  const [services, slices] = ipServiceInformers(informers);
  const recorder = context.recorder("ip-controller");
  /** The last address given by range, so that a freed one is not given again at once. */
  const last = new Map<string, string>();
  /** What the leader before this one has given last may be in no watch event yet. */
  let isUpToDate = false;
  const catchUp = async (): Promise<void> => {
    if (isUpToDate) return;
    for (const ip of (await client.list(IPResource)).items) ips.observe(ip);
    isUpToDate = true;
  };
  const controller = new Controller({
    name: "ip",
    workers: 1,
    logger,
    reconcile: async (key) => {
      const ip = ips.get(key);
      if (!ip) return;
      if (isDeleting(ip)) return release(context, ip);
      const network = networkOf(context, ip);
      if (!network) return withdraw(context, ip);
      const prepared = await prepare(context, ip, network);
      const complete = prepared.status?.ip
        ? prepared
        : await lock
            .run(async () => {
              await catchUp();
              return allocate(context, key, network, last);
            })
            .catch((error: unknown) => {
              if (error instanceof TerminalError)
                recorder.warning(IPResource, ip, "AddressNotAllocated", messageOf(error));
              throw error;
            });
      if (complete?.spec.serviceTemplate) return serve(complete);
      // It was asked for once.
      if (services.get(key) ?? slices.get(key)) await deleteIPService(client, ip);
    },
  });
  controller.watch(ips, function* (ip, event) {
    yield keyOf(ip);
    // What has become free may be what another one waits for.
    if (isAddressFreed(event)) for (const other of ips.list()) if (!other.status?.ip) yield keyOf(other);
  });
  const ofIP = (object: KubeObject): string[] => (ips.get(keyOf(object)) ? [keyOf(object)] : []);
  controller.watch(services, ofIP);
  controller.watch(slices, ofIP);
  controller.watch(networks, function* (network) {
    for (const ip of ips.list()) {
      const isPart = ip.metadata.labels?.[Labels.networkName] === network.metadata.name;
      if (isPart || !ip.status?.ip) yield keyOf(ip);
    }
  });
  return controller;

  async function serve(ip: IP): Promise<void> {
    try {
      await applyIPService(client, ip);
    } catch (error) {
      recorder.warning(IPResource, ip, "ServiceNotMade", messageOf(error));
      throw error;
    }
  }
}

function isAddressFreed(event: InformerEvent<IP>): boolean {
  if (event.type === "updated") return event.old.status?.ip !== undefined && event.object.status?.ip === undefined;
  return event.type === "deleted" && event.object.status?.ip !== undefined;
}

function networkOf({ informers, config }: ControllerContext, ip: IP): Network | undefined {
  const networks = informers.for(NetworkResource);
  const { name, namespace } = ip.spec.networkRef ?? {};
  const network = name
    ? networks.find(namespace ?? config.namespace, name)
    : installed(networks, config.namespace, NetworkType.external)[0];
  return network && !isDeleting(network) && network.status?.cidr ? network : undefined;
}

async function release({ client }: ControllerContext, ip: IP): Promise<void> {
  if (!hasFinalizer(ip, Finalizers.ip)) return;
  if (ip.spec.serviceTemplate) await deleteIPService(client, ip);
  await removeFinalizer(client, IPResource, ip, Finalizers.ip);
}

/** The network has gone: so has the address. */
async function withdraw({ client }: ControllerContext, ip: IP): Promise<void> {
  if (!ip.status?.ip) return;
  if (ip.spec.serviceTemplate) await deleteIPService(client, ip);
  await client.replaceStatus(IPResource, { ...ip, status: {} });
}

/** Finalizer and labels, in one write. */
async function prepare({ client, informers }: ControllerContext, ip: IP, network: Network): Promise<IP> {
  const { name = "", namespace = "" } = network.metadata;
  const labels = { [Labels.networkName]: name, [Labels.networkNamespace]: namespace };
  const isLabelled = Object.entries(labels).every(([key, value]) => ip.metadata.labels?.[key] === value);
  const isPreinstalled = ip.metadata.annotations?.[Annotations.preinstalled] === "true";
  const isHeld = isPreinstalled || hasFinalizer(ip, Finalizers.ip);
  if (isLabelled && isHeld) return ip;
  const { name: ipName = "", namespace: ipNamespace, resourceVersion, finalizers = [] } = ip.metadata;
  const metadata = { resourceVersion, labels, finalizers: isHeld ? finalizers : [...finalizers, Finalizers.ip] };
  const updated = await client.mergePatch(IPResource, { name: ipName, namespace: ipNamespace }, { metadata });
  informers.for(IPResource).observe(updated);
  return updated;
}

async function allocate(
  { client, informers, logger }: ControllerContext,
  key: string,
  network: Network,
  last: Map<string, string>,
): Promise<IP | undefined> {
  const cidr = network.status?.cidr;
  if (!cidr) return undefined;
  const ips = informers.for(IPResource);
  const ip = ips.get(key);
  if (!ip || isDeleting(ip) || ip.status?.ip) return ip;
  const isInternal = network.metadata.labels?.[Labels.networkType] === NetworkType.internal;
  const taken = new Set([
    ...ips.list().flatMap(({ status }) => (status?.ip && cidrContainsAddress(cidr, status.ip) ? [status.ip] : [])),
    ...(isInternal ? await linkAddresses(client) : []),
  ]);
  const address = pick(cidr, network.spec.preAllocated ?? 0, taken, last.get(cidr));
  const updated = await client.replaceStatus(IPResource, { ...ip, status: { ip: address, cidr } });
  last.set(cidr, address);
  ips.observe(updated);
  logger.info({ ip: key, target: ip.spec.ip, address }, "address allocated");
  return updated;
}

function pick(cidr: string, preAllocated: number, taken: Set<string>, last: string | undefined): string {
  try {
    return chooseAddress(cidr, preAllocated, taken, last);
  } catch (error) {
    throw new TerminalError(messageOf(error));
  }
}
