import type { Secret } from "kubernetes-types/core/v1";
import { Labels, type GatewayTemplateSpec, type StandardCondition } from "../../../api/index.js";
import {
  Controller,
  SecretResource,
  TerminalError,
  apiVersionOf,
  findCondition,
  isDeleting,
  isForbidden,
  keyOf,
  messageOf,
  nonBlockingOwnerReference,
  withCondition,
  type Informer,
  type KubeObject,
  type ResourceType,
  sameJson,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { FIELD_MANAGER } from "../constants.js";
import { AppliedMemory } from "./applied.js";
import { KEY_SECRET_SELECTOR, keySecretName } from "./key-secret.js";
import { CLIENT, SERVER, TEMPLATES, remoteClusterOf, type Gateway, type GatewayKinds, type Workload } from "./kinds.js";
import { LeftKeys } from "./left-keys.js";
import { OwnKinds, gatewayKeys, type OwnTemplate, type OwnWorkload } from "./own-kinds.js";
import { ACCEPTED, Refusal, acceptedCondition, isRefused } from "./refusal.js";
import { renderObject } from "./render-object.js";

const DEFAULT_PORT = 51_840;
const DEFAULT_MTU = 1340;
/** A template of a kind that users bring, whose objects this controller has not been allowed to make. */
const FORBIDDEN = "TemplateForbidden";
const FORBIDDEN_RETRY_MS = 5_000;
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
  const leftKeys = new LeftKeys(informers);
  const controller = new Controller({
    name: `gateway-${kinds.gateway.kind}`,
    logger,
    reconcile: async (key) => {
      const gateway = gateways.get(key);
      if (!gateway || isDeleting(gateway)) return applied.forget(key);
      try {
        const wish = renderWorkload(context, kinds, { ownKinds, leftKeys }, gateway);
        const made = await informerOf(wish);
        if (!applied.isCurrent(key, wish, made.get(keyOf(wish)))) {
          const result = await applyWorkload(context, kinds, made.type, wish);
          applied.remember(key, wish, result);
          made.observe(result);
        }
        await removeFormer(
          context,
          [workloads as unknown as Informer<OwnWorkload>, ...ownKinds.madeSoFar],
          gateway,
          wish,
        );
        await copyStatus(context, kinds, gateway, made.type, made.get(keyOf(wish)));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const message = `${kinds.gateway.kind} ${key}: ${error.message}`;
        recorder.warning(kinds.gateway, gateway, "GatewayNotMade", message);
        await writeRefusal(context, kinds, gateway, error);
        // Rights that are granted meanwhile are no event here.
        if (error.reason === FORBIDDEN) return { requeueAfterMs: FORBIDDEN_RETRY_MS };
        throw new TerminalError(message, { cause: error });
      }
    },
  });
  const byOwner = (object: KubeObject): string[] => gatewayKeys(kinds.gateway.kind, object);
  const ownKinds = new OwnKinds(context, {
    template: (informer) => controller.watch(informer, () => gateways.list().map(keyOf)),
    workload: (informer) => controller.watch(informer, byOwner),
  });
  controller.watch(gateways);
  controller.watch(workloads, byOwner);
  controller.watch(ownKinds.known, () => gateways.list().map(keyOf));
  for (const type of TEMPLATES) controller.watch(informers.for(type), () => gateways.list().map(keyOf));
  controller.watch(informers.for(SecretResource, { labelSelector: KEY_SECRET_SELECTOR }), ({ metadata }) =>
    gateways.inNamespace(metadata?.namespace ?? "").map(keyOf),
  );
  // The other one of two gateways for one remote cluster may now take its place: one that ends does not count any more.
  for (const type of [SERVER.gateway, CLIENT.gateway]) {
    controller.watch(informers.for(type), (other, event) => {
      const isOfPeer = (gateway: G): boolean => remoteClusterOf(gateway) === remoteClusterOf(other);
      return event.type === "deleted" || isDeleting(other) ? gateways.list().filter(isOfPeer).map(keyOf) : [];
    });
  }
  return controller;

  /** The objects of the kind that is to be made. @throws Refusal where there is no such kind */
  async function informerOf({ apiVersion = "", kind = "" }: KubeObject): Promise<Informer<OwnWorkload>> {
    if (kind === kinds.workload.kind && apiVersion === kinds.workload.apiVersion) {
      return workloads as unknown as Informer<OwnWorkload>;
    }
    const own = await ownKinds.workloadsOf(apiVersion, kind);
    if (own) return own;
    const problem = `the template makes ${apiVersion} ${kind}, which this cluster does not have`;
    throw new Refusal("TemplateInvalid", kinds.templateRefPath, problem);
  }
}

/** @throws Refusal naming what is wrong with the gateway */
function renderWorkload<G extends Gateway, W extends Workload>(
  context: ControllerContext,
  kinds: GatewayKinds<G, W>,
  { ownKinds, leftKeys }: { ownKinds: OwnKinds; leftKeys: LeftKeys },
  gateway: G,
): Workload {
  const { name = "", namespace = "", uid = "" } = gateway.metadata;
  const remoteClusterID = remoteClusterOf(gateway);
  if (!remoteClusterID) throw new Refusal("RemoteClusterIDMissing", LABEL_PATH, "is missing");
  refuseSecond(context, gateway);
  const template = findTemplate(context, kinds, ownKinds, gateway);
  const secrets = context.informers.for(SecretResource, { labelSelector: KEY_SECRET_SELECTOR }).inNamespace(namespace);
  const secretName = secretNameOf(gateway, remoteClusterID, secrets, leftKeys);
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
  return {
    ...rendered,
    apiVersion,
    kind,
    metadata: {
      ...rendered.metadata,
      name: rendered.metadata.name ?? name,
      namespace,
      labels: { ...rendered.metadata.labels, [Labels.remoteClusterID]: remoteClusterID },
      ownerReferences: [nonBlockingOwnerReference(kinds.gateway, gateway)],
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
  type: ResourceType<OwnWorkload>,
  wish: Workload,
): Promise<OwnWorkload> {
  try {
    return await client.apply<OwnWorkload>(type, wish, { fieldManager: FIELD_MANAGER });
  } catch (error) {
    const isForeign = type.kind !== kinds.workload.kind;
    if (!isRefused(error) && !(isForeign && isForbidden(error))) throw error;
    const reason = isForbidden(error) ? FORBIDDEN : "TemplateInvalid";
    const problem = `what the template makes is refused: ${messageOf(error)}`;
    throw new Refusal(reason, kinds.templateRefPath, problem);
  }
}

/** What an earlier template made, of another name or kind. */
async function removeFormer(
  { client }: ControllerContext,
  made: readonly Informer<OwnWorkload>[],
  { metadata: { namespace = "", uid } }: Gateway,
  wish: KubeObject,
): Promise<void> {
  for (const informer of made) {
    for (const { metadata = {} } of informer.inNamespace(namespace)) {
      const isWanted = informer.type.kind === wish.kind && metadata.name === wish.metadata?.name;
      const isOwned = metadata.ownerReferences?.some((owner) => owner.uid === uid);
      if (!isOwned || isWanted || metadata.deletionTimestamp) continue;
      await client.delete(informer.type, { name: metadata.name ?? "", namespace }, { uid: metadata.uid });
    }
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
  ownKinds: OwnKinds,
  gateway: G,
): GatewayTemplateSpec {
  const reference = kinds.templateRef(gateway) ?? {};
  const { kind = kinds.template.kind, apiVersion = kinds.template.apiVersion } = reference;
  const { name = kinds.defaultTemplate, namespace } = reference;
  const stock = TEMPLATES.find((type) => type.kind === kind && type.apiVersion === apiVersion);
  const templates: Informer<OwnTemplate> | undefined = stock
    ? informers.for<OwnTemplate>(stock)
    : ownKinds.templatesOf(apiVersion, kind);
  if (!templates) {
    const problem = `template kind ${kind} of ${apiVersion} is not known: no CustomResourceDefinition of it is labelled ${Labels.gatewayTemplate}=true`;
    throw new Refusal("TemplateNotFound", `${kinds.templateRefPath}.kind`, problem);
  }
  const found = (namespace ? templates.find(namespace, name) : undefined) ?? templates.find(config.namespace, name);
  if (found?.spec) return found.spec;
  const problem = `there is no ${kind} ${namespace ?? config.namespace}/${name}`;
  throw new Refusal("TemplateNotFound", `${kinds.templateRefPath}.name`, problem);
}

function secretNameOf(gateway: Gateway, remoteClusterID: string, secrets: Secret[], leftKeys: LeftKeys): string {
  const { name = "" } = gateway.metadata;
  try {
    const wish = { name, secretRef: gateway.spec.secretRef?.name, remoteClusterID };
    return keySecretName(wish, secrets, (secret) => leftKeys.has(secret));
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
  type: ResourceType<OwnWorkload>,
  workload: OwnWorkload | undefined,
): Promise<void> {
  // What ends says nothing of the one that comes after it.
  if (!workload || isDeleting(workload)) return;
  const isOurs = type.kind === kinds.workload.kind;
  const { name, namespace, uid } = workload.metadata ?? {};
  const { endpoint, internalEndpoint, secretRef, publicKey } = workload.status ?? {};
  const status = {
    ...(endpoint && kinds.workloadRefField === "serverRef" ? { endpoint } : {}),
    ...(internalEndpoint ? { internalEndpoint } : {}),
    ...(secretRef ? { secretRef } : {}),
    ...(publicKey ? { publicKey } : {}),
    // Of a kind that somebody else runs there is no more to say than that it was made.
    conditions: isOurs
      ? conditionsFrom(gateway, workload as W)
      : acceptedCondition(gateway.status?.conditions, gateway.metadata.generation, undefined),
    [kinds.workloadRefField]: { apiVersion: apiVersionOf(type), kind: type.kind, name, namespace, uid },
  };
  if (sameJson(status, gateway.status)) return;
  informers.for(kinds.gateway).observe(await client.replaceStatus(kinds.gateway, { ...gateway, status }));
}

function conditionsFrom(gateway: Gateway, { metadata, status }: Workload): StandardCondition[] | undefined {
  const present = gateway.status?.conditions;
  const verdict = findCondition(status?.conditions, ACCEPTED);
  // Until the workload's controller has looked at what is asked now, the former verdict stands.
  if (!verdict || verdict.observedGeneration !== metadata.generation) return present;
  return withCondition(present, { ...verdict, observedGeneration: gateway.metadata.generation });
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
