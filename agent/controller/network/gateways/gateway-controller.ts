import type { Secret } from "kubernetes-types/core/v1";
import { Labels, type GatewayTemplateSpec, type WgGatewayServerTemplate } from "../../../api/index.js";
import {
  Controller,
  SecretResource,
  TerminalError,
  apiVersionOf,
  isDeleting,
  keyOf,
  messageOf,
  ownerReference,
  type Informer,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { FIELD_MANAGER } from "../constants.js";
import { AppliedMemory } from "./applied.js";
import { KEY_SECRET_SELECTOR, keySecretName } from "./key-secret.js";
import { CLIENT, SERVER, TEMPLATES, remoteClusterOf, type Gateway, type GatewayKinds, type Workload } from "./kinds.js";
import { renderObject } from "./render-object.js";
import { sameJson } from "./same-json.js";

const DEFAULT_PORT = 51_840;
const DEFAULT_MTU = 1340;

/**
 * GatewayServers or GatewayClients (network specification, §5.1): renders the template into a WgGatewayServer or
 * WgGatewayClient, which it owns, and copies that one's status. Watches gateways, templates, key Secrets and what it owns.
 */
export function gatewayController<G extends Gateway, W extends Workload>(
  context: ControllerContext,
  kinds: GatewayKinds<G, W>,
): Controller {
  const { informers, logger } = context;
  const gateways = informers.for(kinds.gateway);
  const workloads = informers.for(kinds.workload);
  const applied = new AppliedMemory();
  const recorder = context.recorder("gateway-controller");
  const controller = new Controller({
    name: `gateway-${kinds.gateway.kind}`,
    logger,
    reconcile: async (key) => {
      const gateway = gateways.get(key);
      if (!gateway || isDeleting(gateway)) return applied.forget(key);
      try {
        const wish = renderWorkload(context, kinds, gateway);
        const present = workloads.get(keyOf(wish));
        if (!applied.isCurrent(key, wish, present)) {
          const result = await context.client.apply<Workload>(kinds.workload, wish, { fieldManager: FIELD_MANAGER });
          applied.remember(key, wish, result);
          workloads.observe(result as W);
        }
        await copyStatus(context, kinds, gateway, workloads.get(keyOf(wish)));
      } catch (error) {
        if (error instanceof TerminalError)
          recorder.warning(kinds.gateway, gateway, "GatewayNotMade", messageOf(error));
        throw error;
      }
    },
  });
  controller.watch(gateways);
  controller.watch(workloads, ({ metadata }) => [keyOf({ metadata })]);
  for (const type of TEMPLATES) controller.watch(informers.for(type), () => gateways.list().map(keyOf));
  controller.watch(informers.for(SecretResource, { labelSelector: KEY_SECRET_SELECTOR }), ({ metadata }) =>
    gateways.inNamespace(metadata?.namespace ?? "").map(keyOf),
  );
  // The other one of two gateways for one remote cluster may now take its place.
  for (const type of [SERVER.gateway, CLIENT.gateway]) {
    controller.watch(informers.for(type), ({ metadata }, event) =>
      event.type === "deleted" ? gateways.inNamespace(metadata.namespace ?? "").map(keyOf) : [],
    );
  }
  return controller;
}

/** @throws TerminalError naming what is wrong with the gateway */
function renderWorkload<G extends Gateway, W extends Workload>(
  context: ControllerContext,
  kinds: GatewayKinds<G, W>,
  gateway: G,
): Workload {
  const { name = "", namespace = "", uid = "" } = gateway.metadata;
  const where = `${kinds.gateway.kind} ${namespace}/${name}`;
  const remoteClusterID = remoteClusterOf(gateway);
  if (!remoteClusterID) throw new TerminalError(`${where}: label ${Labels.remoteClusterID} is missing`);
  refuseSecond(context, gateway, where);
  const template = findTemplate(context, kinds, gateway, where);
  const secrets = context.informers.for(SecretResource, { labelSelector: KEY_SECRET_SELECTOR }).inNamespace(namespace);
  const secretName = secretNameOf(gateway, remoteClusterID, secrets, where);
  const data = {
    Spec: specWithDefaults(gateway, secretName),
    Name: name,
    Namespace: namespace,
    GatewayUID: uid,
    ClusterID: remoteClusterID,
    SecretName: secretName,
  };
  const rendered = render(template, data, where);
  const { kind = kinds.workload.kind, apiVersion = kinds.workload.apiVersion } = template.objectKind ?? {};
  if (kind !== kinds.workload.kind || apiVersion !== apiVersionOf(kinds.workload)) {
    throw new TerminalError(`${where}: its template makes ${apiVersion} ${kind}, which no controller here knows`);
  }
  return {
    ...rendered,
    apiVersion,
    kind,
    metadata: {
      ...rendered.metadata,
      name: rendered.metadata.name ?? name,
      namespace,
      labels: { ...rendered.metadata.labels, [Labels.remoteClusterID]: remoteClusterID },
      ownerReferences: [ownerReference(kinds.gateway, gateway)],
    },
    spec: withServiceMetadata(rendered.spec, gateway.spec),
  };
}

function render(template: GatewayTemplateSpec, data: object, where: string): Workload {
  try {
    return renderObject({ metadata: {}, spec: {}, ...template.template }, data) as Workload;
  } catch (error) {
    throw new TerminalError(`${where}: ${messageOf(error)}`);
  }
}

/** There is one link between two clusters: of several gateways for one remote cluster the oldest counts. */
function refuseSecond({ informers }: ControllerContext, gateway: Gateway, where: string): void {
  const remote = remoteClusterOf(gateway);
  const others: Gateway[] = [...informers.for(SERVER.gateway).list(), ...informers.for(CLIENT.gateway).list()].filter(
    (other) => !isDeleting(other) && remoteClusterOf(other) === remote && other.metadata.uid !== gateway.metadata.uid,
  );
  const older = others.find((other) => age(other) < age(gateway));
  if (older) {
    const name = `${older.kind} ${older.metadata.namespace}/${older.metadata.name}`;
    throw new TerminalError(`${where}: cluster ${remote} is linked by ${name} already; delete one of them`);
  }
}

function age({ metadata }: Gateway): string {
  return `${metadata.creationTimestamp} ${metadata.uid}`;
}

/** The template that the gateway names, or the one of that name in the agent's own namespace. */
function findTemplate<G extends Gateway, W extends Workload>(
  { informers, config }: ControllerContext,
  kinds: GatewayKinds<G, W>,
  gateway: G,
  where: string,
): GatewayTemplateSpec {
  const { kind, name = kinds.defaultTemplate, namespace } = kinds.templateRef(gateway) ?? {};
  const fallback = kinds === (SERVER as unknown) ? TEMPLATES[0] : TEMPLATES[1];
  const type = kind ? TEMPLATES.find((candidate) => candidate.kind === kind) : fallback;
  if (!type) throw new TerminalError(`${where}: template kind ${kind} is not known`);
  const templates: Informer<WgGatewayServerTemplate> = informers.for(type);
  const found = (namespace ? templates.find(namespace, name) : undefined) ?? templates.find(config.namespace, name);
  if (!found) throw new TerminalError(`${where}: no ${type.kind} ${namespace ?? config.namespace}/${name}`);
  return found.spec;
}

function secretNameOf(gateway: Gateway, remoteClusterID: string, secrets: Secret[], where: string): string {
  const { name = "" } = gateway.metadata;
  try {
    return keySecretName({ name, secretRef: gateway.spec.secretRef?.name, remoteClusterID }, secrets);
  } catch (error) {
    throw new TerminalError(`${where}: ${messageOf(error)}`);
  }
}

/** The spec as templates see it: complete. */
function specWithDefaults({ spec }: Gateway, secretName: string): object {
  const endpoint = spec.endpoint ?? {};
  const addresses = "addresses" in endpoint ? endpoint.addresses?.filter((address) => address !== "") : undefined;
  return {
    ...spec,
    mtu: spec.mtu || DEFAULT_MTU,
    endpoint: {
      serviceType: "ClusterIP",
      ...endpoint,
      ...(addresses ? { addresses } : {}),
      port: endpoint.port ?? endpoint.ports?.[0] ?? DEFAULT_PORT,
    },
    secretRef: { name: secretName },
  };
}

function withServiceMetadata(spec: Workload["spec"], gateway: Gateway["spec"]): Workload["spec"] {
  if (!("service" in spec)) return spec;
  const labels = "serviceLabels" in gateway ? gateway.serviceLabels : undefined;
  const annotations = "serviceAnnotations" in gateway ? gateway.serviceAnnotations : undefined;
  const metadata = {
    ...spec.service.metadata,
    labels: { ...spec.service.metadata?.labels, ...labels },
    annotations: { ...spec.service.metadata?.annotations, ...annotations },
  };
  return { ...spec, service: { ...spec.service, metadata } };
}

async function copyStatus<G extends Gateway, W extends Workload>(
  { client, informers }: ControllerContext,
  kinds: GatewayKinds<G, W>,
  gateway: G,
  workload: W | undefined,
): Promise<void> {
  if (!workload) return;
  const { name, namespace, uid } = workload.metadata;
  const reference = { apiVersion: kinds.workload.apiVersion, kind: kinds.workload.kind, name, namespace, uid };
  const status = { ...workload.status, [kinds.workloadRefField]: reference };
  if (sameJson(status, gateway.status)) return;
  informers.for(kinds.gateway).observe(await client.replaceStatus(kinds.gateway, { ...gateway, status }));
}
