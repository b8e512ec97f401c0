import type { Deployment } from "kubernetes-types/apps/v1";
import { isDeepStrictEqual } from "node:util";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import { NetworkResource, NetworkType, WgGatewayServerTemplateResource } from "../../../agent/api/index.js";
import { Labels } from "../../../agent/api/labels.js";
import { agentManifests } from "../../../agent/install/manifests.js";
import { InstallNames } from "../../../agent/install/names.js";
import { Names } from "../../../agent/api/names.js";
import {
  DaemonSetResource,
  DeploymentResource,
  MutatingWebhookConfigurationResource,
  ServiceResource,
  ValidatingWebhookConfigurationResource,
} from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isNotFound } from "../../../agent/runtime/kube-error.js";
import type { ReadResult } from "../../framework/index.js";
import type { Installation } from "./existing.js";
import { driftOf, leftoversAsDrift, liveObjects } from "./drift.js";
import { allocatedRanges } from "./install.js";
import { installInputs } from "./install-inputs.js";
import { shownAddress } from "./resolve.js";
import { VERSION } from "../../version.js";
import type { InstallInputs } from "../../../agent/install/inputs.js";
import { ifFound } from "../../waits/if-found.js";
import { agentInputs, type AgentInputs, type AgentOutputs } from "./schema.js";

/**
 * What runs in the cluster, as inputs: taken from the controller's own arguments. A part that is missing shows as the image of that part,
 * so that the next `up` puts it back.
 */
export async function readInstallation(
  client: KubeClient,
  present: Installation,
  given: AgentInputs | undefined,
  outputs: Partial<AgentOutputs>,
  signal: AbortSignal,
): Promise<ReadResult<AgentInputs, AgentOutputs>> {
  const live = present.deployment ? inputsOfDeployment(present.deployment) : {};
  const [missing, allocated, reserved, proxy, gatewayReplicas] = await Promise.all([
    // An import goes by what runs; where that does not tell, nothing is missing.
    missingPart(client, present, given ?? live, signal),
    allocatedRanges(client, present.namespace, signal),
    reservedSubnets(client, present.namespace, signal),
    client.get(DeploymentResource, { name: Names.proxy, namespace: present.namespace }, signal),
    replicasOfGateways(client, present.namespace, signal),
  ]);
  const base: AgentInputs =
    given ??
    importedInputs(present, {
      podCIDRs: allocated.podCIDRs,
      serviceCIDR: allocated.serviceCIDR,
      ...allocated.asked,
      // Without a network there is none, whatever the property says.
      apiServerProxy: live.networkingEnabled === false ? undefined : proxy !== undefined,
      // What the kubeconfig says anyway need not be said.
      apiServerAddress: live.apiServerAddress === client.transport.server ? undefined : live.apiServerAddress,
    });
  const networks = { reservedSubnets: reserved ?? base.reservedSubnets, gatewayReplicas };
  const inputs: AgentInputs = {
    ...base,
    ...changedFields(base, { ...live, ...networks }),
    ...(missing === undefined ? {} : { image: missing }),
  };
  const isComparable = given !== undefined && missing === undefined && present.version === VERSION;
  return {
    inputs,
    outputs: {
      clusterId: present.clusterId,
      version: present.version ?? outputs.version ?? "",
      namespace: present.namespace,
      podCIDRs: allocated.podCIDRs.length > 0 ? allocated.podCIDRs : (outputs.podCIDRs ?? []),
      serviceCIDR: allocated.serviceCIDR ?? outputs.serviceCIDR ?? "",
      externalCIDR: allocated.externalCIDR ?? outputs.externalCIDR ?? "",
      internalCIDR: allocated.internalCIDR ?? outputs.internalCIDR ?? "",
      apiServerAddress: await shownAddress(
        client,
        { podCIDRs: [], serviceCIDR: "", apiServerAddress: live.apiServerAddress ?? "" },
        signal,
      ),
      // Another version installs other objects: the upgrade itself brings them.
      drift: isComparable ? await driftFrom(client, asInstalled(inputs, live, outputs), signal) : [],
    },
  };
}

async function driftFrom(client: KubeClient, installed: InstallInputs, signal: AbortSignal): Promise<string[]> {
  const manifests = agentManifests(installed);
  // Of the kinds that are listed anyway.
  const live = await liveObjects(client, manifests, signal);
  return [...driftOf(manifests, live), ...leftoversAsDrift(installed, manifests, live)];
}

/** The installation that the inputs ask for now: what shows as an input of its own is no drift beside. */
function asInstalled(
  inputs: AgentInputs,
  live: Partial<AgentInputs>,
  { podCIDRs, serviceCIDR }: Partial<AgentOutputs>,
): InstallInputs {
  return installInputs(inputs, {
    podCIDRs: inputs.podCIDRs ?? podCIDRs ?? [],
    serviceCIDR: inputs.serviceCIDR ?? serviceCIDR ?? "",
    apiServerAddress: live.apiServerAddress ?? "",
  });
}

/** Inputs as the controller's command line has them; empty where it cannot be read. */
export function inputsOfDeployment(deployment: Deployment): Partial<AgentInputs> {
  const container = deployment.spec?.template.spec?.containers.find(({ name }) => name === "controller-manager");
  const [role, ...args] = container?.args ?? [];
  if (!container || role !== "controller") return {};
  try {
    const config = parseControllerArguments(args, {});
    return {
      image: container.image ?? "",
      imagePullPolicy: config.imagePullPolicy,
      imagePullSecrets: config.imagePullSecrets,
      replicas: deployment.spec?.replicas ?? 1,
      clusterLabels: config.clusterLabels,
      apiServerAddress: config.apiServerAddress || undefined,
      apiServerCA: config.apiServerCA || undefined,
      trustedCA: config.trustedCA,
      tlsCompatibilityMode: config.tlsCompatibilityMode,
      networkingEnabled: config.networkingEnabled,
      defaultResourceSliceClassEnabled: config.defaultSliceClassEnabled,
      resourceEnforcement: config.resourceEnforcement,
      defaultLimitsEnforcement: config.defaultLimitsEnforcement,
      defaultNodeResources: config.defaultSliceResources,
      storageEnabled: config.storageEnabled,
      realStorageClass: config.realStorageClass,
      ingressClasses: config.ingressClasses,
      loadBalancerClasses: config.loadBalancerClasses,
      pingIntervalSeconds: config.pingIntervalSeconds,
      pingTimeoutSeconds: config.pingTimeoutSeconds,
      ipamPools: config.ipamPools,
    };
  } catch {
    return {};
  }
}

function importedInputs(
  present: Installation,
  {
    podCIDRs,
    ...told
  }: { podCIDRs: string[] } & Partial<
    Pick<AgentInputs, "serviceCIDR" | "externalCIDR" | "internalCIDR" | "apiServerProxy" | "apiServerAddress">
  >,
): AgentInputs {
  return agentInputs.parse({
    clusterId: present.clusterId,
    namespace: present.namespace,
    ...Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)),
    ...(podCIDRs.length > 0 ? { podCIDRs } : {}),
  });
}

/** Only what really differs: the address that the provider itself derived is no drift. */
function changedFields(base: AgentInputs, live: Partial<AgentInputs>): Partial<AgentInputs> {
  return Object.fromEntries(
    Object.entries(live).filter(([key, value]) => {
      if (key === "apiServerAddress" && base.apiServerAddress === undefined) return false;
      if (value === undefined && key !== "apiServerCA" && key !== "apiServerAddress") return false;
      return !isDeepStrictEqual(value, base[key as keyof AgentInputs]);
    }),
  );
}

async function missingPart(
  client: KubeClient,
  present: Installation,
  { networkingEnabled: networking = false, apiServerProxy = false }: Partial<AgentInputs>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!present.deployment) return "(the controller is missing)";
  const { namespace } = present;
  const [fabric, proxy, service, mutating, validating] = await Promise.all([
    networking ? client.get(DaemonSetResource, { name: InstallNames.fabric, namespace }, signal) : {},
    networking && apiServerProxy ? client.get(DeploymentResource, { name: Names.proxy, namespace }, signal) : {},
    networking && apiServerProxy ? client.get(ServiceResource, { name: Names.proxy, namespace }, signal) : {},
    client.get(MutatingWebhookConfigurationResource, { name: Names.webhookConfiguration }, signal),
    client.get(ValidatingWebhookConfigurationResource, { name: Names.webhookConfiguration }, signal),
  ]);
  if (!fabric) return "(the fabric is missing)";
  if (!proxy || !service) return "(the API server's proxy is missing)";
  return mutating && validating ? undefined : "(the webhooks are missing)";
}

/** As the template of servers says, which people may edit; undefined where it does not tell. */
async function replicasOfGateways(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const id = { name: Names.gatewayServerTemplate, namespace };
  const template = await ifFound(client.get(WgGatewayServerTemplateResource, id, signal));
  const made = template?.spec.template as { spec?: { deployment?: { spec?: { replicas?: unknown } } } } | undefined;
  const replicas = made?.spec?.deployment?.spec?.replicas;
  return typeof replicas === "number" ? replicas : undefined;
}

/** Undefined when the custom resource definitions are gone: the controller cannot run then, which shows elsewhere. */
async function reservedSubnets(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  try {
    const labelSelector = { [Labels.networkType]: NetworkType.reserved };
    const { items } = await client.list(NetworkResource, { namespace, labelSelector, signal });
    return items.map(({ spec }) => spec.cidr).sort();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
