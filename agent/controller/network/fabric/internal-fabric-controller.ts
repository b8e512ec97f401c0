import {
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  InternalFabricResource,
  Labels,
  NetworkResource,
  normalizeCidrs,
  peerConfiguration,
  type Configuration,
  type InternalFabric,
} from "../../../api/index.js";
import { Controller, isDeleting, nonBlockingOwnerReference, sameJson } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { isConfigured, isObserved } from "../addresses/configuration-controller.js";
import type { Lock } from "../../../runtime/lock.js";
import { remoteClusterOf, type Gateway } from "../gateways/kinds.js";
import { freeLinkAddress } from "./link-addresses.js";
import { newInterfaceName } from "./interface-name.js";

const DEFAULT_MTU = 1340;

/**
 * Keeps an InternalFabric, named as the remote cluster, for each gateway that has a pod and a complete Configuration (network
 * specification, §8). Keys are "namespace/remote cluster ID". Watches gateways and Configurations; what it makes is owned by the
 * gateway.
 */
export function internalFabricController(context: ControllerContext, lock: Lock): Controller {
  const { client, informers, logger } = context;
  const servers = informers.for(GatewayServerResource);
  const clients = informers.for(GatewayClientResource);
  const configurations = informers.for(ConfigurationResource);
  const fabrics = informers.for(InternalFabricResource);
  const controller = new Controller({
    name: "internal-fabric",
    workers: 1,
    logger,
    reconcile: async (key) => {
      const [namespace = "", remote = ""] = key.split("/");
      const gateway = gatewayOf(namespace, remote);
      const configuration = peerConfiguration(configurations.list(), remote, namespace);
      const present = fabrics.get(key);
      if (!gateway || !configuration) {
        if (present && !isDeleting(present)) await client.delete(InternalFabricResource, { name: remote, namespace });
        return;
      }
      if (!gateway.status?.internalEndpoint?.ip || (present && isDeleting(present))) return;
      // While ranges are being chosen anew the others go on to work, and those that were given back do not.
      if (!(present ? isObserved(configuration) : isConfigured(configuration))) return;
      if (present) await update(present, gateway, configuration);
      else await lock.run(() => create(gateway, configuration, namespace, remote));
    },
  });
  const byRemote = (object: { metadata: { namespace?: string; labels?: Record<string, string> } }): string[] => {
    const remote = remoteClusterOf(object);
    return remote ? [`${object.metadata.namespace}/${remote}`] : [];
  };
  controller.watch(servers, byRemote);
  controller.watch(clients, byRemote);
  controller.watch(configurations, function* (configuration) {
    const remote = remoteClusterOf(configuration);
    for (const gateway of [...servers.list(), ...clients.list()]) {
      if (remoteClusterOf(gateway) === remote) yield* byRemote(gateway);
    }
    // A link whose gateway has gone is taken down by its own name.
    yield* byRemote(configuration);
  });
  controller.watch(fabrics);
  controller.watch(informers.for(NetworkResource), function* ({ metadata }) {
    if (metadata.namespace !== context.config.namespace) return;
    for (const gateway of [...servers.list(), ...clients.list()]) yield* byRemote(gateway);
  });
  return controller;

  function gatewayOf(namespace: string, remote: string): Gateway | undefined {
    const all: Gateway[] = [...servers.inNamespace(namespace), ...clients.inNamespace(namespace)];
    return all.find(
      (gateway) => remoteClusterOf(gateway) === remote && !isDeleting(gateway) && gateway.status?.internalEndpoint,
    );
  }

  async function create(
    gateway: Gateway,
    configuration: Configuration,
    namespace: string,
    name: string,
  ): Promise<void> {
    if (await client.get(InternalFabricResource, { name, namespace })) return;
    const ip = await freeLinkAddress(context);
    if (!ip) return;
    const type = gateway.kind === GatewayServerResource.kind ? GatewayServerResource : GatewayClientResource;
    const fabric = InternalFabricResource.build({
      metadata: {
        name,
        namespace,
        labels: { [Labels.remoteClusterID]: name },
        ownerReferences: [nonBlockingOwnerReference<Gateway>(type, gateway)],
      },
      spec: {
        ...wantedSpec(gateway, configuration),
        interface: { node: { name: newInterfaceName() }, gateway: { ip } },
      },
    });
    fabrics.observe(await client.create(InternalFabricResource, fabric));
  }

  async function update(present: InternalFabric, gateway: Gateway, configuration: Configuration): Promise<void> {
    const spec = { ...present.spec, ...wantedSpec(gateway, configuration) };
    if (sameJson(spec, present.spec)) return;
    fabrics.observe(await client.replace(InternalFabricResource, { ...present, spec }));
  }
}

function wantedSpec(
  gateway: Gateway,
  configuration: Configuration,
): Pick<InternalFabric["spec"], "mtu" | "gatewayIP" | "remoteCIDRs"> {
  const { pod, external } = configuration.status?.remote?.cidr ?? {};
  return {
    mtu: gateway.spec.mtu || DEFAULT_MTU,
    gatewayIP: gateway.status?.internalEndpoint?.ip ?? "",
    remoteCIDRs: [...normalizeCidrs(pod), ...normalizeCidrs(external)],
  };
}
