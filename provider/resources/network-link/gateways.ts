import type { Deployment } from "kubernetes-types/apps/v1";
import {
  DataKeys,
  gatewayResourceName,
  GatewayClientResource,
  GatewayServerResource,
  PublicKeyResource,
  WgGatewayClientTemplateResource,
  WgGatewayServerTemplateResource,
  type GatewayClient,
  type GatewayServer,
} from "../../../agent/api/index.js";
import { keySecretProblem, newKeyPair } from "../../../agent/controller/network/gateways/key-secret.js";
import { ACCEPTED } from "../../../agent/controller/network/gateways/refusal.js";
import {
  DeploymentResource,
  discoverKind,
  findCondition,
  isForbidden,
  ownerReference,
  SecretResource,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { applyExactly } from "../../kube/apply-exactly.js";
import { ifVisible, waitFor, type Progress, type Verdict, type Waiting } from "../../waits/index.js";
import { MANAGER } from "../tenant-namespace/index.js";
import type { LinkEnd } from "./ends.js";
import { explainGateway } from "./explain.js";
import {
  gatewayClientManifest,
  gatewayServerManifest,
  publicKeyManifest,
  templateReference,
  type Endpoint,
} from "./manifests.js";
import type { LinkOptions } from "./options.js";
import { TEMPLATE_API_VERSION, TEMPLATE_KINDS } from "./schema.js";

/** A gateway of either kind. */
export type Gateway = GatewayServer | GatewayClient;
type GatewayKind = "server" | "client";

/** What of a server is the program's alone, whoever has made the server. */
const SERVER_DECIDED = [
  ["spec", "endpoint", "nodePort"],
  ["spec", "endpoint", "loadBalancerIP"],
  ["spec", "endpoint", "loadBalancerClass"],
  ["spec", "serviceLabels"],
  ["spec", "serviceAnnotations"],
];

const TEMPLATES: Record<GatewayKind, ResourceType> = {
  server: WgGatewayServerTemplateResource,
  client: WgGatewayClientTemplateResource,
};

/** The agent tries again by itself, and what others are just making is there within this time: after it, what it refuses wants a person. */
const REFUSED_MS = 15_000;

const RESOURCES = { server: GatewayServerResource, client: GatewayClientResource };

/** @throws Error naming the property, unless the template exists or is of a kind that only the agent may see */
export async function checkTemplate(
  progress: Progress,
  end: LinkEnd,
  kind: GatewayKind,
  options: LinkOptions,
): Promise<void> {
  const { apiVersion, kind: templateKind, name, namespace } = templateReference(end, kind, options[kind]);
  const property = kind === "server" ? "gatewayServer" : "gatewayClient";
  const where = `in cluster ${end.client.cluster} (the ${end.side})`;
  const isUsual = apiVersion === TEMPLATE_API_VERSION && templateKind === TEMPLATE_KINDS[kind];
  const type = isUsual ? TEMPLATES[kind] : await discoverKind(end.client, apiVersion, templateKind, progress.signal);
  if (!type) throw new Error(`${property}.templateKind: there is no kind ${templateKind} of ${apiVersion} ${where}`);
  try {
    if (await end.client.get(type, { name, namespace }, progress.signal)) return;
  } catch (error) {
    if (isForbidden(error) && !isUsual) return;
    throw error;
  }
  throw new Error(`${property}.templateName: there is no ${templateKind} ${namespace}/${name} ${where}`);
}

export function applyServer(
  progress: Progress,
  end: LinkEnd,
  options: LinkOptions,
  present: GatewayServer | undefined,
): Promise<GatewayServer> {
  const manifest = gatewayServerManifest(end, options, present?.metadata.name);
  const writing = { fieldManager: MANAGER, signal: progress.signal };
  return applyExactly(end.client, GatewayServerResource, manifest, writing, SERVER_DECIDED);
}

export function applyClient(
  progress: Progress,
  end: LinkEnd,
  options: LinkOptions,
  endpoint: Endpoint,
  present: GatewayClient | undefined,
): Promise<GatewayClient> {
  const manifest = gatewayClientManifest(end, options, endpoint, present?.metadata.name);
  return end.client.apply(GatewayClientResource, manifest, { fieldManager: MANAGER, signal: progress.signal });
}

/** Waits until the gateway is made as its spec asks now: its Deployment has a ready pod, and none from before. */
export async function waitUntilRunning(
  progress: Progress,
  end: LinkEnd,
  kind: GatewayKind,
  gateway: Gateway,
): Promise<void> {
  const { name = "", generation = 0 } = gateway.metadata;
  await waitFor<Gateway, void>(progress, {
    client: end.client,
    type: RESOURCES[kind],
    namespace: end.namespace,
    name,
    written: gateway,
    what: `the gateway ${kind} ${end.namespace}/${name}, made as its spec asks`,
    judge: ([current]) => judgeAccepted(current, generation),
    explain: (signal) => explainGateway(end, name, signal),
  });
  await waitFor(progress, {
    client: end.client,
    type: DeploymentResource,
    namespace: end.namespace,
    name: gatewayResourceName(name),
    what: `a ready pod of the gateway ${kind} (Deployment ${end.namespace}/${gatewayResourceName(name)})`,
    judge: ([deployment]) => judgeDeployment(deployment),
    explain: (signal) => explainGateway(end, name, signal),
  });
}

const NOT_TAKEN_UP = { waiting: "the agent has not taken it up yet" };

/** Whether the agent has taken up a gateway's spec of that generation. Gateways of other agents do not tell. */
export function judgeAccepted(gateway: Gateway | undefined, generation: number): Verdict<void> {
  if (!gateway) return { failed: "it was deleted meanwhile" };
  if (!isTakenUp(gateway, generation)) return NOT_TAKEN_UP;
  return refusalOf(gateway) ?? { done: undefined };
}

function isTakenUp({ status }: Gateway, generation: number): boolean {
  return (findCondition(status?.conditions, ACCEPTED)?.observedGeneration ?? generation) >= generation;
}

/** What the agent says against a gateway, if anything. */
function refusalOf({ status }: Gateway): Waiting | undefined {
  const verdict = findCondition(status?.conditions, ACCEPTED);
  return verdict?.status === "False" ? { waiting: verdict.message ?? "it is refused", forMs: REFUSED_MS } : undefined;
}

export function judgeDeployment(deployment: Deployment | undefined): Verdict<void> {
  if (!deployment) return { waiting: "the agent has not made it yet" };
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, observedGeneration = 0 } = deployment.status ?? {};
  const isSeen = observedGeneration >= (deployment.metadata?.generation ?? 0);
  if (!isSeen || readyReplicas === 0) return { waiting: "its pod is not ready yet" };
  return updatedReplicas < replicas ? { waiting: "pods from before the change still run" } : { done: undefined };
}

/** Waits for the server's endpoint: where clients reach it. */
export async function waitForEndpoint(progress: Progress, end: LinkEnd, server: GatewayServer): Promise<Endpoint> {
  const name = server.metadata.name ?? "";
  return waitFor(progress, {
    client: end.client,
    type: GatewayServerResource,
    namespace: end.namespace,
    name,
    written: server,
    what: `the endpoint of the gateway server ${end.namespace}/${name}`,
    judge: ([current]) => judgeNewEndpoint(current, server.metadata.generation ?? 0),
    explain: (signal) => explainGateway(end, name, signal),
  });
}

/** The endpoint that the spec of that generation leads to: until the agent has taken it up, the status tells of the one before. */
export function judgeNewEndpoint(server: GatewayServer | undefined, generation: number): Verdict<Endpoint> {
  const taken = judgeAccepted(server, generation);
  return "done" in taken ? judgeEndpoint(server) : taken;
}

export function judgeEndpoint(server: GatewayServer | undefined): Verdict<Endpoint> {
  if (!server) return { failed: "it was deleted meanwhile" };
  const endpoint = server.status?.endpoint;
  const addresses = (endpoint?.addresses ?? []).filter((address) => address !== "");
  const wanted = server.spec.endpoint;
  const port = endpoint?.port ?? endpoint?.ports?.[0];
  if (addresses.length > 0 && port) {
    const isCurrent = wanted?.serviceType !== "NodePort" || !wanted.nodePort || wanted.nodePort === port;
    if (isCurrent) return { done: { addresses, port, protocol: endpoint?.protocol ?? "UDP" } };
  }
  if (wanted?.serviceType === "LoadBalancer") {
    return {
      waiting:
        "its Service of type LoadBalancer has no address yet (where the cluster has no load balancer, set gatewayServer.type to NodePort)",
    };
  }
  return { waiting: "it has no address yet" };
}

/**
 * Waits for a gateway's key pair and gives the public part, as base64.
 *
 * @throws Error when the Secret has no pair of keys: the other end's tunnel would break by what is in it
 */
export async function waitForPublicKey(
  progress: Progress,
  end: LinkEnd,
  kind: GatewayKind,
  gateway: Gateway,
): Promise<string> {
  const reference = await waitForKeys(progress, end, kind, gateway);
  const secret = await ifVisible(end.client.get(SecretResource, reference, progress.signal));
  const problem = secret && keySecretProblem(secret, end.remoteId);
  if (problem) {
    const what = `Secret ${reference.namespace}/${reference.name} of the gateway ${kind} has wrong keys: ${problem}`;
    throw new Error(`cluster ${end.client.cluster}: ${what}; put it right, or change keyRotationTrigger for new ones`);
  }
  const publicKey = secret?.data?.[DataKeys.publicKey] ?? reference.publicKey;
  if (publicKey) return publicKey;
  throw new Error(
    `cluster ${end.client.cluster}: Secret ${reference.namespace}/${reference.name} of the gateway ${kind} cannot be read, or has no ${DataKeys.publicKey}`,
  );
}

/**
 * Gives a gateway a new key pair, which it takes up at once, and returns the public part, as base64. A credential of a peering user reaches no keys but
 * its own cluster's: the others stay, and what their owner can do is told.
 */
export async function rotateKeys(
  progress: Progress,
  end: LinkEnd,
  kind: GatewayKind,
  gateway: Gateway,
): Promise<string> {
  const reference = await waitForKeys(progress, end, kind, gateway);
  const data = newKeyPair();
  const options = { fieldManager: MANAGER, signal: progress.signal };
  try {
    await end.client.mergePatch(SecretResource, reference, { data }, options);
    return data.publicKey;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    progress.log("warning", keysStay(end, kind, reference));
    return waitForPublicKey(progress, end, kind, gateway);
  }
}

function keysStay({ side, client }: LinkEnd, kind: GatewayKind, { name, namespace }: KeyReference): string {
  return (
    `keyRotationTrigger: ${side}: the gateway ${kind} keeps its keys, as this credential may not change Secret ${namespace}/${name} of cluster ` +
    `${client.cluster}; the other end has new ones. The owner of that cluster makes new ones by "kubectl delete secret -n ${namespace} ${name}"; ` +
    'run "pulumi refresh" and "pulumi up" here afterwards'
  );
}

/** A gateway's key Secret, and the public part as the gateway's status tells it: some may not read the Secret. */
interface KeyReference {
  name: string;
  namespace: string;
  publicKey?: string;
}

/** Where the keys are of a gateway whose spec of that generation the agent has taken up. Whether they are good is for their reader to judge. */
export function judgeKeys(
  gateway: Gateway | undefined,
  generation: number,
  gatewayNamespace: string,
): Verdict<KeyReference> {
  if (!gateway) return { failed: "it was deleted meanwhile" };
  if (!isTakenUp(gateway, generation)) return NOT_TAKEN_UP;
  const { secretRef, publicKey } = gateway.status ?? {};
  const wanted = gateway.spec.secretRef?.name || secretRef?.name;
  // What the agent refuses leaves the status as it was, with the keys from before.
  if (!secretRef?.name || secretRef.name !== wanted) return refusalOf(gateway) ?? { waiting: "they are not made yet" };
  return { done: { name: secretRef.name, namespace: secretRef.namespace ?? gatewayNamespace, publicKey } };
}

function waitForKeys(progress: Progress, end: LinkEnd, kind: GatewayKind, gateway: Gateway): Promise<KeyReference> {
  const name = gateway.metadata.name ?? "";
  return waitFor<Gateway, KeyReference>(progress, {
    client: end.client,
    type: RESOURCES[kind],
    namespace: end.namespace,
    name,
    written: gateway,
    what: `the keys of the gateway ${kind} ${end.namespace}/${name}`,
    judge: ([current]) => judgeKeys(current, gateway.metadata.generation ?? 0, end.namespace),
    explain: (signal) => explainGateway(end, name, signal),
  });
}

/** Gives an end the other one's public key. */
export async function applyPublicKey(
  progress: Progress,
  end: LinkEnd,
  kind: GatewayKind,
  gateway: Gateway,
  publicKey: string,
  presentName: string | undefined,
): Promise<void> {
  const owner = ownerReference(RESOURCES[kind] as ResourceType<Gateway>, gateway, false);
  const manifest = publicKeyManifest(end, publicKey, owner, presentName);
  await end.client.apply(PublicKeyResource, manifest, { fieldManager: MANAGER, signal: progress.signal });
}
