import {
  ConfigurationResource,
  IPResource,
  Labels,
  firstAddress,
  mappedCidrs,
  unknownSourceIPName,
} from "../../../api/index.js";
import { Controller, isDeleting, keyOf, nonBlockingOwnerReference } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { ensureIP } from "./ensure-ip.js";

/**
 * Keeps the IP that stands for a peer's unknown source address, so that other peers can answer it through this cluster
 * (network specification, §4, §11.5). Watches Configurations; owns `<configuration>-unknown-source`.
 */
export function unknownSourceIPController(context: ControllerContext): Controller {
  const { client, informers, logger } = context;
  const configurations = informers.for(ConfigurationResource);
  const ips = informers.for(IPResource);
  const controller = new Controller({
    name: "unknown-source-ip",
    logger,
    reconcile: async (key) => {
      const configuration = configurations.get(key);
      const external = mappedCidrs(configuration?.status?.remote?.cidr?.external)[0];
      if (!configuration || isDeleting(configuration) || !external) return;
      const { name: owner = "", namespace = "", labels } = configuration.metadata;
      const name = unknownSourceIPName(owner);
      const remoteClusterID = labels?.[Labels.remoteClusterID];
      await ensureIP(client, ips.find(namespace, name), {
        metadata: {
          name,
          namespace,
          labels: remoteClusterID ? { [Labels.remoteClusterID]: remoteClusterID } : {},
          ownerReferences: [nonBlockingOwnerReference(ConfigurationResource, configuration)],
        },
        spec: { ip: firstAddress(external) },
      });
    },
  });
  controller.watch(configurations);
  controller.watch(ips, function* (ip) {
    for (const { kind, name } of ip.metadata.ownerReferences ?? []) {
      if (kind === ConfigurationResource.kind) yield keyOf({ metadata: { name, namespace: ip.metadata.namespace } });
    }
  });
  return controller;
}
