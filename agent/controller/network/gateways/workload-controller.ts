import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod, Secret, Service } from "kubernetes-types/core/v1";
import {
  DataKeys,
  Finalizers,
  LabelValues,
  Labels,
  gatewayClusterRoleBindingName,
  gatewayResourceName,
} from "../../../api/index.js";
import {
  ClusterRoleBindingResource,
  Controller,
  DeploymentResource,
  PodResource,
  RoleBindingResource,
  RoleResource,
  SecretResource,
  ServiceAccountResource,
  ServiceResource,
  addFinalizer,
  hasFinalizer,
  isDeleting,
  isNotFound,
  keyOf,
  messageOf,
  removeFinalizer,
  type DeepPartial,
  type Informer,
  type KubeObject,
  sameJson,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { FIELD_MANAGER } from "../constants.js";
import { physicalNodes } from "../nodes.js";
import { AppliedMemory } from "./applied.js";
import { gatewayEndpoint, internalEndpointOf } from "./endpoint.js";
import { KEY_SECRET_SELECTOR, keySecretLabels, keySecretProblem } from "./key-secret.js";
import { WORKLOADS, remoteClusterOf, type Gateway, type GatewayKinds, type Workload } from "./kinds.js";
import { LeftKeys, isKeyOwner } from "./left-keys.js";
import { Refusal, acceptedCondition, isRefused } from "./refusal.js";
import { WorkloadManifests } from "./workload-manifests.js";

/** Selects the pods, Deployments and Services of gateways. */
export const GATEWAY_SELECTOR = `${Labels.networkingComponent}=${LabelValues.gatewayComponent}`;

/** How soon to look again at what a person must mend and nobody can watch: a Secret without our labels, else a port in use. */
const KEYS_RETRY_MS = 1_000;
const REFUSAL_RETRY_MS = 5_000;

/**
 * WgGatewayServers or WgGatewayClients (network specification, §5.2 to §5.5): makes ServiceAccount, Role, bindings, key
 * Secret, Deployment and, for servers, Service; writes the status from pods, Service and nodes. Owns the ClusterRoleBinding by a
 * finalizer, all else by owner references.
 */
export function workloadController<G extends Gateway, W extends Workload>(
  context: ControllerContext,
  kinds: GatewayKinds<G, W>,
): Controller {
  const { client, informers, logger } = context;
  const workloads = informers.for(kinds.workload);
  const othersOfName = WORKLOADS.filter(({ kind }) => kind !== kinds.workload.kind).map((type) =>
    informers.for<Workload>(type),
  );
  const deployments = informers.for(DeploymentResource, { labelSelector: GATEWAY_SELECTOR });
  const services = informers.for(ServiceResource, { labelSelector: GATEWAY_SELECTOR });
  const pods = informers.for(PodResource, { labelSelector: GATEWAY_SELECTOR });
  const secrets = informers.for(SecretResource, { labelSelector: KEY_SECRET_SELECTOR });
  /** What a gateway may do: without it, the next start of its pod would be its last. */
  const rights = {
    accounts: informers.for(ServiceAccountResource, { labelSelector: GATEWAY_SELECTOR }),
    roles: informers.for(RoleResource, { labelSelector: GATEWAY_SELECTOR }),
    roleBindings: informers.for(RoleBindingResource, { labelSelector: GATEWAY_SELECTOR }),
    clusterRoleBindings: informers.for(ClusterRoleBindingResource, { labelSelector: Labels.gatewayNamespace }),
  };
  const nodes = physicalNodes(context);
  const recorder = context.recorder("gateway-controller");
  const applied = new AppliedMemory();
  const leftKeys = new LeftKeys(informers);

  const controller: Controller = new Controller({
    name: `gateway-${kinds.workload.kind}`,
    logger,
    reconcile: async (key) => {
      const workload = workloads.get(key);
      if (!workload) return;
      if (isDeleting(workload)) return release(workload);
      if (!hasFinalizer(workload, Finalizers.gatewayClusterRoleBinding)) {
        workloads.observe(await addFinalizer(client, kinds.workload, workload, Finalizers.gatewayClusterRoleBinding));
        controller.enqueue(key);
        return;
      }
      const manifests = new WorkloadManifests(kinds, workload);
      try {
        const [secret] = await Promise.all([
          ensureSecret(workload, manifests),
          applyRight(rights.accounts, manifests.serviceAccount()),
          applyRight(rights.clusterRoleBindings, manifests.clusterRoleBinding()),
          applyRight(rights.roles, manifests.role(secretNameOf(workload))),
          applyRight(rights.roleBindings, manifests.roleBinding()),
        ]);
        await applyRunning(manifests);
        await writeStatus(workload, secret);
        return;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        recorder.warning(kinds.workload, workload, error.reason, error.message);
        await writeStatus(workload, undefined, error);
        return { requeueAfterMs: error.reason === "KeysUnusable" ? KEYS_RETRY_MS : REFUSAL_RETRY_MS };
      }
    },
  });
  const ofGateway = ({ metadata }: KubeObject): string[] => {
    const name = metadata?.labels?.[Labels.gatewayName];
    const namespace = metadata?.namespace ?? metadata?.labels?.[Labels.gatewayNamespace];
    return name ? [keyOf({ metadata: { name, namespace } })] : [];
  };
  controller.watch(workloads);
  controller.watch(deployments, ofGateway);
  controller.watch(services, ofGateway);
  controller.watch(pods, ofGateway);
  controller.watch(rights.accounts, ofGateway);
  controller.watch(rights.roles, ofGateway);
  controller.watch(rights.roleBindings, ofGateway);
  controller.watch(rights.clusterRoleBindings, ofGateway);
  controller.watch(secrets, ({ metadata }) => workloads.inNamespace(metadata?.namespace ?? "").map(keyOf));
  // One of the same name that ends leaves its keys.
  for (const others of othersOfName) {
    controller.watch(others, (other, event) => (event.type === "deleted" || isDeleting(other) ? [keyOf(other)] : []));
  }
  controller.watch(nodes, function* (_node, event) {
    if (event.type === "updated" && sameJson(readiness(event.old), readiness(event.object))) return;
    for (const workload of workloads.list()) yield keyOf(workload);
  });
  return controller;

  async function release(workload: W): Promise<void> {
    await releaseBinding(workload);
    if (hasFinalizer(workload, Finalizers.gatewayClusterRoleBinding)) {
      await removeFinalizer(client, kinds.workload, workload, Finalizers.gatewayClusterRoleBinding).catch(
        (error: unknown) => {
          if (!isNotFound(error)) throw error;
        },
      );
    }
  }

  /** A gateway of the other kind and the same name, which may take this one's place, runs by the same binding: that one's own end removes it. */
  async function releaseBinding(workload: W): Promise<void> {
    const { name = "", namespace = "" } = workload.metadata;
    // Without its finalizer it has not applied the binding yet, and could not remove it.
    const isShared = (): boolean =>
      othersOfName
        .flatMap((others) => others.find(namespace, name) ?? [])
        .some((other) => !isDeleting(other) && hasFinalizer(other, Finalizers.gatewayClusterRoleBinding));
    if (isShared()) return;
    await client.delete(ClusterRoleBindingResource, { name: gatewayClusterRoleBindingName(namespace, name) });
    // It may have come, and have applied the binding once and for all, while this one was removing it.
    if (!isShared()) return;
    const wish = new WorkloadManifests(kinds, workload).clusterRoleBinding();
    await client.apply(ClusterRoleBindingResource, wish, { fieldManager: FIELD_MANAGER });
  }

  /** The gateway's key Secret. @throws Refusal while the one that its spec names cannot be used */
  async function ensureSecret(workload: W, manifests: WorkloadManifests<G, W>): Promise<Secret> {
    const { name: gatewayName = "", namespace = "" } = workload.metadata;
    const remoteClusterID = remoteClusterOf(workload) ?? "";
    const name = secretNameOf(workload);
    const present = secrets.find(namespace, name) ?? (await client.get(SecretResource, { name, namespace }));
    if (!present && name === gatewayResourceName(gatewayName)) {
      return makeKeys(manifests);
    }
    const problem = present ? keySecretProblem(present, remoteClusterID) : "there is no such Secret";
    if (problem || !present) {
      throw new Refusal("KeysUnusable", "spec.secretRef.name", `key Secret ${namespace}/${name}: ${problem}`);
    }
    if (name === gatewayResourceName(gatewayName) && leftKeys.has(present) && !leftKeys.isEnding(workload)) {
      return takeKeysOver(present, manifests);
    }
    const labels = keySecretLabels(remoteClusterID);
    if (Object.entries(labels).every(([label, value]) => present.metadata?.labels?.[label] === value)) return present;
    return client.mergePatch(SecretResource, { name, namespace }, { metadata: { labels } });
  }

  function makeKeys(manifests: WorkloadManifests<G, W>): Promise<Secret> {
    return client.create(SecretResource, manifests.keySecret(), { fieldManager: FIELD_MANAGER });
  }

  /**
   * From a former gateway of this name. The other cluster knows these keys, and the garbage collector would remove them with their owner after this
   * gateway had told that it uses them.
   */
  async function takeKeysOver({ metadata = {} }: Secret, manifests: WorkloadManifests<G, W>): Promise<Secret> {
    const { name = "", namespace, resourceVersion, ownerReferences = [] } = metadata;
    const { labels, ownerReferences: own = [] } = manifests.keySecretMetadata();
    const owners = [...ownerReferences.filter((owner) => !isKeyOwner(owner)), ...own];
    const patch = { metadata: { resourceVersion, labels, ownerReferences: owners } };
    try {
      const taken = await client.mergePatch(SecretResource, { name, namespace }, patch, {
        fieldManager: FIELD_MANAGER,
      });
      secrets.observe(taken);
      return taken;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return makeKeys(manifests);
    }
  }

  /** Service and Deployment change together or not at all: one without the other would cut what runs. */
  async function applyRunning(manifests: WorkloadManifests<G, W>): Promise<void> {
    const wish = manifests.deployment();
    const key = `deployment|${keyOf(wish)}`;
    const present = deployments.get(keyOf(wish));
    const isCurrent = applied.isCurrent(key, wish, present);
    if (present && !isCurrent && manifests.service()) await applyDeployment(wish, { dryRun: true });
    await applyService(manifests);
    if (isCurrent) return;
    const result = await applyDeployment(wish, {});
    if (!result) return;
    applied.remember(key, wish, result);
    deployments.observe(result);
  }

  /** Undefined where the Deployment had to be deleted first. @throws Refusal when the API server does not take it */
  async function applyDeployment(wish: Deployment, options: { dryRun?: boolean }): Promise<Deployment | undefined> {
    try {
      return await client.apply(DeploymentResource, wish, { fieldManager: FIELD_MANAGER, ...options });
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (!messageOf(error).includes("immutable"))
        throw new Refusal("DeploymentRefused", "spec.deployment", messageOf(error));
      // A selector cannot be changed: the Deployment's deletion leads back here.
      const { name = "", namespace } = wish.metadata ?? {};
      if (!options.dryRun) await client.delete(DeploymentResource, { name, namespace });
      return undefined;
    }
  }

  async function applyService(manifests: WorkloadManifests<G, W>): Promise<void> {
    const wish = manifests.service();
    if (!wish) return;
    const key = `service|${keyOf(wish)}`;
    // Services have no generation: drift is seen by comparing the fields that are wished.
    if (applied.isCurrent(key, wish, services.get(keyOf(wish)))) return;
    try {
      const result = await client.apply(ServiceResource, wish, { fieldManager: FIELD_MANAGER });
      applied.remember(key, wish, result);
      services.observe(result);
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (isOtherClass(error)) return remake(wish);
      throw new Refusal("ServiceRefused", serviceField(messageOf(error)), messageOf(error));
    }
  }

  /** A Service's class cannot be changed: its deletion leads back to making it. @throws Refusal as long as it is there */
  async function remake({ metadata: { name = "", namespace } = {} }: Service): Promise<never> {
    await client.delete(ServiceResource, { name, namespace });
    const problem = `Service ${namespace}/${name} is made anew, as its class cannot be changed`;
    throw new Refusal("ServiceMadeAnew", "spec.endpoint.loadBalancerClass", problem);
  }

  async function applyRight<T extends KubeObject>(known: Informer<T>, wish: T): Promise<void> {
    const { type } = known;
    const key = `${type.plural}|${keyOf(wish)}`;
    if (applied.isCurrent(key, wish, known.get(keyOf(wish)))) return;
    const result = await client.apply(type, wish as DeepPartial<T>, { fieldManager: FIELD_MANAGER });
    applied.remember(key, wish, result);
    known.observe(result);
  }

  async function writeStatus(workload: W, secret: Secret | undefined, refusal?: Refusal): Promise<void> {
    const { name = "", namespace = "" } = workload.metadata;
    const pod = activePod(pods.inNamespace(namespace), name);
    const serviceName = new WorkloadManifests(kinds, workload).service()?.metadata?.name;
    const service = serviceName ? services.find(namespace, serviceName) : undefined;
    const endpoint = gatewayEndpoint(service, pod, nodes.list());
    const internalEndpoint = internalEndpointOf(pod);
    const status = {
      // What is not known at the moment stays as it was: a pod that restarts does not make others forget.
      ...workload.status,
      ...(secret
        ? { secretRef: { name: secret.metadata?.name, namespace }, publicKey: secret.data?.[DataKeys.publicKey] }
        : {}),
      ...(internalEndpoint ? { internalEndpoint } : {}),
      // Without a pod nobody can tell the NodePort's node; otherwise no address is better than a former one.
      ...(service && (pod || endpoint) ? { endpoint } : {}),
      conditions: acceptedCondition(workload.status?.conditions, workload.metadata.generation, refusal),
    };
    if (sameJson(status, workload.status)) return;
    workloads.observe(await client.replaceStatus(kinds.workload, { ...workload, status }));
  }
}

function secretNameOf({ metadata, spec }: Workload): string {
  return spec.secretRef?.name || gatewayResourceName(metadata.name ?? "");
}

function isOtherClass(error: unknown): boolean {
  return messageOf(error).includes("spec.loadBalancerClass") && messageOf(error).includes("may not change once set");
}

/** The field of the gateway from which the refused field of its Service comes. */
export function serviceField(message: string): string {
  if (message.includes("nodePort") || /node ?port/i.test(message)) return "spec.endpoint.nodePort";
  if (message.includes("loadBalancerIP")) return "spec.endpoint.loadBalancerIP";
  if (message.includes("loadBalancerClass")) return "spec.endpoint.loadBalancerClass";
  if (message.includes("spec.type")) return "spec.endpoint.serviceType";
  if (message.includes("spec.ports")) return "spec.endpoint.port";
  if (message.includes("metadata.annotations")) return "spec.serviceAnnotations";
  return message.includes("metadata.labels") ? "spec.serviceLabels" : "spec.endpoint";
}

/** The pod that serves the link: labelled active and not ending; the youngest of several. */
export function activePod(pods: readonly Pod[], gatewayName: string): Pod | undefined {
  return pods
    .filter(
      (pod) =>
        pod.metadata?.labels?.[Labels.gatewayName] === gatewayName &&
        pod.metadata.labels[Labels.gatewayActive] === "true" &&
        !isDeleting(pod) &&
        pod.status?.podIP !== undefined &&
        pod.status.phase !== "Failed" &&
        pod.status.phase !== "Succeeded",
    )
    .sort((a, b) => (b.metadata?.creationTimestamp ?? "").localeCompare(a.metadata?.creationTimestamp ?? ""))[0];
}

function readiness(node: {
  status?: { conditions?: { type: string; status: string }[]; addresses?: object[] };
}): object {
  const { conditions = [], addresses = [] } = node.status ?? {};
  return { ready: conditions.find(({ type }) => type === "Ready")?.status, addresses };
}
