import type { Pod } from "kubernetes-types/core/v1";
import {
  FirewallConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  RouteConfigurationResource,
  type FirewallConfiguration,
  type RouteConfiguration,
} from "../../../api/index.js";
import { gatewayRuleOwner, rulesManager } from "../../../host-rules/index.js";
import {
  Controller,
  PodResource,
  isNotFound,
  keyOf,
  type InformerEvent,
  type KubeObject,
  type ResourceType,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { GATEWAY_SELECTOR } from "../gateways/workload-controller.js";
import { physicalNodes } from "../nodes.js";

type Rules = RouteConfiguration | FirewallConfiguration;

const FABRIC_PODS = `${Labels.appName}=fabric`;
/** Every host's manager of its own conditions begins so. */
const MANAGERS = rulesManager("");

/**
 * Takes back what hosts that are gone have said of rules that users bring (network specification, §9): a node or a gateway that was removed cannot
 * do it itself. It does so in their place, as the manager that owns the condition under server-side apply. A host is gone once there is neither its
 * Node or gateway nor a pod of it, which might still write. Watches the configurations of one kind, and the deletion of Nodes, gateways and their pods.
 */
export function formerHostsController<T extends Rules>(context: ControllerContext, type: ResourceType<T>): Controller {
  const { client, informers, logger } = context;
  const configurations = informers.for(type);
  const nodes = physicalNodes(context);
  const servers = informers.for(GatewayServerResource);
  const clients = informers.for(GatewayClientResource);
  const gatewayPods = informers.for(PodResource, { labelSelector: GATEWAY_SELECTOR });
  const fabricPods = informers.for(PodResource, { labelSelector: FABRIC_PODS });
  const controller = new Controller({
    name: `former-hosts-${type.kind}`,
    logger,
    workers: 1,
    reconcile: async (key) => {
      const configuration = configurations.get(key);
      if (!configuration?.status?.conditions?.length) return;
      const { name = "", namespace } = configuration.metadata;
      // Informers keep nothing of managers.
      const found = await client.get<Rules>(type, { name, namespace });
      const live = liveManagers();
      for (const manager of conditionManagers(found)) if (!live.has(manager)) await takeBack(found, manager);
    },
  });
  controller.watch(configurations, (configuration, { type: happened }) =>
    happened === "added" ? [keyOf(configuration)] : [],
  );
  const onDeletion = (_: KubeObject, event: InformerEvent<KubeObject>): string[] =>
    event.type === "deleted" ? configurations.list().map(keyOf) : [];
  for (const informer of [gatewayPods, fabricPods]) controller.watch(informer, onDeletion);
  controller.watch(nodes, onDeletion).watch(servers, onDeletion).watch(clients, onDeletion);
  return controller;

  function liveManagers(): Set<string> {
    return new Set(
      [
        ...nodes.list().map(({ metadata }) => metadata?.name),
        ...fabricPods.list().map(({ spec }) => spec?.nodeName),
        ...[...servers.list(), ...clients.list()].map(({ metadata }) => gatewayRuleOwner(metadata)),
        ...gatewayPods.list().map(gatewayOfPod),
      ].map((owner = "") => rulesManager(owner)),
    );
  }

  async function takeBack(found: Rules | undefined, manager: string): Promise<void> {
    const { name, namespace, uid } = found?.metadata ?? {};
    const nothing = { metadata: { name, namespace, uid }, status: { conditions: [] } };
    try {
      await client.apply<Rules>(type, nothing, { fieldManager: manager, subresource: "status" });
      logger.info({ kind: type.kind, namespace, name, manager }, "conditions of a former host removed");
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** For both kinds. */
export function formerHostsControllers(context: ControllerContext): Controller[] {
  return [
    formerHostsController(context, RouteConfigurationResource),
    formerHostsController(context, FirewallConfigurationResource),
  ];
}

function conditionManagers(configuration: Rules | undefined): string[] {
  const managers = (configuration?.metadata.managedFields ?? [])
    .filter(({ subresource, manager }) => subresource === "status" && manager?.startsWith(MANAGERS))
    .map(({ manager = "" }) => manager);
  return [...new Set(managers)];
}

function gatewayOfPod({ metadata }: Pod): string {
  const labels = metadata?.labels ?? {};
  return gatewayRuleOwner({ namespace: labels[Labels.gatewayNamespace], name: labels[Labels.gatewayName] });
}
