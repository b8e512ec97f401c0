import type { Deployment } from "kubernetes-types/apps/v1";
import type { ConfigMap } from "kubernetes-types/core/v1";
import { DataKeys, Labels, Names } from "../../agent/api/index.js";
import { parseControllerArguments } from "../../agent/controller/arguments.js";
import {
  ConfigMapResource,
  DeploymentResource,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { RecentAnswers } from "../kube/recent-answers.js";
import { toldAgentNamespace } from "./told-namespace.js";

/** The agent (ours or Liqo's) in one cluster. */
export interface InstalledAgent {
  clusterId: string;
  namespace: string;
  /** Undefined when the credentials may not look (a peering user's). */
  version?: string;
  /** Whether it is this project's agent; another Liqo installation otherwise. */
  isOwn: boolean;
  /** Whether its controller runs. */
  isAvailable: boolean;
  /** Where it takes remapped ranges from, in its order. Undefined for other installations, and when the credentials may not look. */
  ipamPools?: string[];
}

const CONTROLLER = { [Labels.appName]: "controller-manager" };
/** Selects the ConfigMap that has the cluster's ID, wherever the agent is. */
export const CLUSTER_ID = { [Labels.appName]: "clusterid-configmap" };
const CONTAINER = "controller-manager";

/** Long enough for the resources of one program that are made side by side, and short beside the time that an agent's installation takes. */
const VALID_MS = 5_000;
const recent = new RecentAnswers<InstalledAgent | undefined>(
  VALID_MS,
  (client) => findAgent(client),
  (agent) => agent !== undefined,
);

/** The same as `findAgent` for who is about to make something: asked once for all that are made side by side. @throws KubeError */
export function recentAgent(client: KubeClient, signal: AbortSignal): Promise<InstalledAgent | undefined> {
  return recent.get(client, signal);
}

/** To be called once an agent was changed here. */
export function forgetAgent(client: KubeClient): void {
  recent.forget(client);
}

/** The agent of a cluster, or undefined when there is none. Found by labels, wherever it is installed. @throws KubeError when that may not be seen */
export async function findAgent(client: KubeClient, signal?: AbortSignal): Promise<InstalledAgent | undefined> {
  const [deployments, configMaps] = await Promise.all([
    // A peering user sees no Deployments. Who does not even see the cluster's ID must not take that for an agent that is gone.
    everywhere(client, DeploymentResource, CONTROLLER, signal).catch(noneIfForbidden),
    identities(client, signal),
  ]);
  const identity = configMaps.find((configMap) => configMap.data?.[DataKeys.clusterID]);
  const clusterId = identity?.data?.[DataKeys.clusterID];
  if (!identity || !clusterId) return undefined;
  const namespace = identity.metadata?.namespace ?? Names.namespace;
  const deployment = deployments.find((d) => d.metadata?.namespace === namespace && containerOf(d));
  return {
    clusterId,
    namespace,
    version: deployment && versionOf(deployment),
    isOwn: deployment ? isOwn(deployment) : true,
    isAvailable: (deployment?.status?.availableReplicas ?? 0) > 0,
    ipamPools: deployment && ipamPoolsOf(deployment),
  };
}

/** A peering user may list in the agent's namespace only: the usual one, else the one that its tenant namespace names. */
async function identities(client: KubeClient, signal: AbortSignal | undefined): Promise<ConfigMap[]> {
  try {
    return await everywhere(client, ConfigMapResource, CLUSTER_ID, signal);
  } catch (error) {
    const namespace = isForbidden(error) ? await toldAgentNamespace(client, signal) : undefined;
    if (namespace === undefined) throw error;
    return (await client.list(ConfigMapResource, { labelSelector: CLUSTER_ID, namespace, signal })).items;
  }
}

/** Who may list in the usual namespace only is content with that. */
async function everywhere<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  labelSelector: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<T[]> {
  try {
    return (await client.list(type, { labelSelector, signal })).items;
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  return (await client.list(type, { labelSelector, namespace: Names.namespace, signal })).items;
}

function noneIfForbidden(error: unknown): never[] {
  if (isForbidden(error)) return [];
  throw error;
}

/** The label, else the image's tag (control plane specification, §20). */
export function versionOf(deployment: Deployment): string | undefined {
  const label = deployment.metadata?.labels?.[Labels.appVersion];
  if (label) return label.replace(/^v/, "");
  const image = containerOf(deployment)?.image?.split("@")[0] ?? "";
  const tag = /:([^:/]+)$/.exec(image)?.[1];
  return tag?.replace(/^v/, "");
}

/** This project's controller is one role of one program, named by its first argument. */
function isOwn(deployment: Deployment): boolean {
  return containerOf(deployment)?.args?.[0] === "controller";
}

/** As the controller's own arguments have them; those of another version may not be readable. */
function ipamPoolsOf(deployment: Deployment): string[] | undefined {
  const [role, ...args] = containerOf(deployment)?.args ?? [];
  if (role !== "controller") return undefined;
  try {
    return parseControllerArguments(args, {}).ipamPools;
  } catch {
    return undefined;
  }
}

function containerOf(deployment: Deployment) {
  return deployment.spec?.template.spec?.containers.find(({ name }) => name === CONTAINER);
}
