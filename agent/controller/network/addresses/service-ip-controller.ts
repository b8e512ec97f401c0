import type { Service } from "kubernetes-types/core/v1";
import { Annotations, IPResource, IPType, Labels, Names, type IP } from "../../../api/index.js";
import { Controller, ServiceResource, type Informer } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { ensureIP } from "./ensure-ip.js";

/**
 * Keeps the IPs by which peers reach Services of this cluster (network specification, §4, §12): `api-server` for the API
 * server's own Service, `api-server-proxy` for the proxy, if there is one. Watches those Services and IPs; owns both IPs.
 */
export function serviceIPController(context: ControllerContext): Controller {
  const { client, informers, config, logger } = context;
  const ips = informers.for(IPResource);
  const sources: Record<string, { services: Informer<Service>; type: string }> = {
    [Names.apiServerIP]: {
      services: informers.for(ServiceResource, { namespace: "default", fieldSelector: "metadata.name=kubernetes" }),
      type: IPType.apiServer,
    },
    [Names.apiServerProxyIP]: {
      services: informers.for(ServiceResource, {
        namespace: config.namespace,
        labelSelector: `${Labels.appName}=proxy`,
      }),
      type: IPType.apiServerProxy,
    },
  };
  const controller = new Controller({
    name: "service-ip",
    workers: 1,
    logger,
    reconcile: async (name) => {
      const source = sources[name];
      if (!source) return;
      const present = ips.find(config.namespace, name);
      const address = source.services.list()[0]?.spec?.clusterIP;
      if (address && address !== "None")
        await ensureIP(client, present, serviceIP(name, config.namespace, address, source.type));
      else if (present && present.metadata.labels?.[Labels.ipType] === source.type) {
        await client.delete(IPResource, { name, namespace: config.namespace });
      }
    },
  });
  for (const [name, { services }] of Object.entries(sources)) controller.watch(services, () => [name]);
  controller.watch(ips, ({ metadata }) =>
    metadata.namespace === config.namespace && metadata.name && metadata.name in sources ? [metadata.name] : [],
  );
  return controller;
}

function serviceIP(name: string, namespace: string, ip: string, type: string): Pick<IP, "metadata" | "spec"> {
  return {
    metadata: {
      name,
      namespace,
      labels: { [Labels.ipType]: type },
      annotations: { [Annotations.preinstalled]: "true" },
    },
    spec: { ip },
  };
}
