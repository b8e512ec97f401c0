import type { Secret } from "kubernetes-types/core/v1";
import { Labels, type GatewayTemplateSpec, type WgGatewayServerTemplate } from "../../../api/index.js";
import {
  Controller,
  SecretResource,
  TerminalError,
  apiVersionOf,
  findCondition,
  isDeleting,
  keyOf,
  messageOf,
  ownerReference,
  withCondition,
  type Informer,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { FIELD_MANAGER } from "../constants.js";
import { AppliedMemory } from "./applied.js";
import { KEY_SECRET_SELECTOR, keySecretName } from "./key-secret.js";
import { CLIENT, SERVER, TEMPLATES, remoteClusterOf, type Gateway, type GatewayKinds, type Workload } from "./kinds.js";
import { ACCEPTED, Refusal, acceptedCondition, isRefused } from "./refusal.js";
import { renderObject } from "./render-object.js";
import { sameJson } from "./same-json.js";

const DEFAULT_PORT = 51_840;
const DEFAULT_MTU = 1340;
const LABEL_PATH = `metadata.labels[${Labels.remoteClusterID}]`;

/**
 * GatewayServers or GatewayClients (network specification, §5.1): renders the template into a WgGatewayServer or
 * WgGatewayClient, which it owns, and copies that one's status. What it cannot make it says in the condition `Accepted` and leaves as it was. Watches gateways, templates, key Secrets and what it owns.
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
        if (!applied.isCurrent(key, wish, workloads.get(keyOf(wish)))) {
          const result = await applyWorkload(context, kinds, wish);
          applied.remember(key, wish, result);
          workloads.observe(result);
        }
        await removeFormer(context, kinds, gateway, wish);
        await copyStatus(context, kinds, gateway, workloads.get(keyOf(wish)));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const message = `${kinds.gateway.kind} ${key}: ${error.message}`;
        recorder.warning(kinds.gateway, gateway, "GatewayNotMade", message);
        await writeRefusal(context, kinds, gateway, error);
        throw new TerminalError(message, { cause: error });
      }
    },
  });
  controller.watch(gateways);
  controller.watch(workloads, function* ({ metadata: { namespace, ownerReferences = [] } }) {
    for (const { kind, name } of ownerReferences) {
      if (kind === kinds.gateway.kind) yield keyOf({ metadata: { name, namespace } });
    }
  });
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

/** @throws Refusal naming what is wrong with the gateway */
function renderWorkload<G extends Gateway, W extends Workload>(
  context: ControllerContext,
  kinds: GatewayKinds<G, W>,
  gateway: G,
): Workload {
  const { name = "", namespace = "", uid = "" } = gateway.metadata;
  const remoteClusterID = remoteClusterOf(gateway);
  if (!remoteClusterID) throw new Refusal("RemoteClusterIDMissing", LABEL_PATH, "is missing");
  refuseSecond(context, gateway);
  const template = findTemplate(context, kinds, gateway);
  const secrets = context.informers.for(SecretResource, { labelSelector: KEY_SECRET_SELECTOR }).inNamespace(namespace);
  const secretName = secretNameOf(gateway, remoteClusterID, secrets);
  const data = {
    Spec: specWithDefaults(gateway, secretName),
    Name: name,
    Namespace: namespace,
    GatewayUID: uid,
    ClusterID: remoteClusterID,
    SecretName: secretName,
  };
  const rendered = render(template, data, kinds);
  const { kind = kinds.workload.kind, apiVersion = kinds.workload.apiVersion } = template.objectKind ?? {};
  if (kind !== kinds.workload.kind || apiVersion !== apiVersionOf(kinds.workload)) {
    const problem = `the template makes ${apiVersion} ${kind}, which no controller here knows`;
    throw new Refusal("TemplateInvalid", kinds.templateRefPath, problem);
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

function render<G extends Gateway, W extends Workload>(
  template: GatewayTemplateSpec,
  data: object,
  kinds: GatewayKinds<G, W>,
): Workload {
  try {
    return renderObject({ metadata: {}, spec: {}, ...template.template }, data) as Workload;
  } catch (error) {
    throw new Refusal("TemplateInvalid", kinds.templateRefPath, messageOf(error));
  }
}

/** @throws Refusal when the API server does not take what the template makes */
async function applyWorkload<G extends Gateway, W extends Workload>(
  { client }: ControllerContext,
  kinds: GatewayKinds<G, W>,
  wish: Workload,
): Promise<W> {
  try {
    return (await client.apply<Workload>(kinds.workload, wish, { fieldManager: FIELD_MANAGER })) as W;
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw new Refusal(
      "TemplateInvalid",
      kinds.templateRefPath,
      `what the template makes is refused: ${messageOf(error)}`,
    );
  }
}

/** What an earlier template made under another name. */
async function removeFormer<G extends Gateway, W extends Workload>(
  { client, informers }: ControllerContext,
  kinds: GatewayKinds<G, W>,
  gateway: G,
  wish: Workload,
): Promise<void> {
  const { namespace = "", uid } = gateway.metadata;
  for (const { metadata } of informers.for(kinds.workload).inNamespace(namespace)) {
    const isOwned = metadata.ownerReferences?.some((owner) => owner.uid === uid);
    if (!isOwned || metadata.name === wish.metadata.name || metadata.deletionTimestamp) continue;
    await client.delete(kinds.workload, { name: metadata.name ?? "", namespace }, { uid: metadata.uid });
  }
}

/** There is one link between two clusters: of several gateways for one remote cluster the oldest counts. */
function refuseSecond({ informers }: ControllerContext, gateway: Gateway): void {
  const remote = remoteClusterOf(gateway);
  const others: Gateway[] = [...informers.for(SERVER.gateway).list(), ...informers.for(CLIENT.gateway).list()].filter(
    (other) => !isDeleting(other) && remoteClusterOf(other) === remote && other.metadata.uid !== gateway.metadata.uid,
  );
  const older = others.find((other) => age(other) < age(gateway));
  if (older) {
    const name = `${older.kind} ${older.metadata.namespace}/${older.metadata.name}`;
    const problem = `cluster ${remote} is linked by ${name} already; delete one of them`;
    throw new Refusal("LinkedAlready", LABEL_PATH, problem);
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
): GatewayTemplateSpec {
  const { kind, name = kinds.defaultTemplate, namespace } = kinds.templateRef(gateway) ?? {};
  const fallback = kinds === (SERVER as unknown) ? TEMPLATES[0] : TEMPLATES[1];
  const type = kind ? TEMPLATES.find((candidate) => candidate.kind === kind) : fallback;
  if (!type) {
    throw new Refusal("TemplateNotFound", `${kinds.templateRefPath}.kind`, `template kind ${kind} is not known`);
  }
  const templates: Informer<WgGatewayServerTemplate> = informers.for(type);
  const found = (namespace ? templates.find(namespace, name) : undefined) ?? templates.find(config.namespace, name);
  if (found) return found.spec;
  const problem = `there is no ${type.kind} ${namespace ?? config.namespace}/${name}`;
  throw new Refusal("TemplateNotFound", `${kinds.templateRefPath}.name`, problem);
}

function secretNameOf(gateway: Gateway, remoteClusterID: string, secrets: Secret[]): string {
  const { name = "" } = gateway.metadata;
  try {
    return keySecretName({ name, secretRef: gateway.spec.secretRef?.name, remoteClusterID }, secrets);
  } catch (error) {
    throw new Refusal("KeysUnusable", "spec.secretRef", messageOf(error));
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

/** The workload's status is the gateway's; what stands in the workload's way stands in the gateway's. */
async function copyStatus<G extends Gateway, W extends Workload>(
  { client, informers }: ControllerContext,
  kinds: GatewayKinds<G, W>,
  gateway: G,
  workload: W | undefined,
): Promise<void> {
  if (!workload) return;
  const { name, namespace, uid, generation } = workload.metadata;
  const reference = { apiVersion: kinds.workload.apiVersion, kind: kinds.workload.kind, name, namespace, uid };
  const verdict = findCondition(workload.status?.conditions, ACCEPTED);
  const observedGeneration = gateway.metadata.generation;
  const status = {
    ...workload.status,
    conditions:
      // Until the workload's controller has looked at what is asked now, the former verdict stands.
      verdict?.observedGeneration === generation && verdict
        ? withCondition(gateway.status?.conditions, { ...verdict, observedGeneration })
        : gateway.status?.conditions,
    [kinds.workloadRefField]: reference,
  };
  if (sameJson(status, gateway.status)) return;
  informers.for(kinds.gateway).observe(await client.replaceStatus(kinds.gateway, { ...gateway, status }));
}

async function writeRefusal<G extends Gateway, W extends Workload>(
  { client, informers }: ControllerContext,
  kinds: GatewayKinds<G, W>,
  gateway: G,
  refusal: Refusal,
): Promise<void> {
  const conditions = acceptedCondition(gateway.status?.conditions, gateway.metadata.generation, refusal);
  const status = { ...gateway.status, conditions };
  if (sameJson(status, gateway.status)) return;
  informers.for(kinds.gateway).observe(await client.replaceStatus(kinds.gateway, { ...gateway, status }));
}
