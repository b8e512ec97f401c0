import {
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  NetworkResource,
  NetworkType,
  Names,
  type GatewayClient,
  type GatewayServer,
} from "../../../agent/api/index.js";
import { DEFAULT_EXTERNAL } from "../../../agent/install/network-templates.js";
import type { KubeClient } from "../../../agent/runtime/index.js";
import type { CallContext } from "../../framework/index.js";
import { findAgent } from "../../preconditions/agent.js";
import { judgeEndpoint } from "../../resources/network-link/gateways.js";
import { judgeRanges } from "../../resources/network-link/ranges.js";
import type { Endpoint, Ranges } from "../../resources/network-link/manifests.js";
import { expectedNamespace } from "../../resources/tenant-namespace/index.js";
import type { SideInputs } from "./schema.js";

export type SideName = "consumer" | "provider";

/** One cluster to render for: what was given, filled up with what the cluster itself tells. */
export interface KnownSide {
  side: SideName;
  inputs: SideInputs;
  client?: KubeClient;
  clusterId: string;
  agentNamespace: string;
  ranges?: Ranges;
}

/** @throws Error naming the input that is missing, or why the cluster could not be asked */
export async function knowSide(context: CallContext, side: SideName, inputs: SideInputs): Promise<KnownSide> {
  const client = inputs.cluster && (await context.client(inputs.cluster));
  const agent = client && (await findAgent(client, context.signal));
  const clusterId = inputs.clusterId ?? agent?.clusterId;
  if (!clusterId) {
    const reason = client
      ? `cluster ${client.cluster} has no agent that tells it`
      : "no cluster is given to read it from";
    throw new Error(`${side}.clusterId: is needed, as ${reason}`);
  }
  const agentNamespace = inputs.agentNamespace ?? agent?.namespace ?? inputs.agent?.namespace ?? Names.namespace;
  const ranges =
    rangesGiven(inputs) ?? (client && agent ? await readOwnRanges(client, agentNamespace, context) : undefined);
  return { side, inputs, client, clusterId, agentNamespace, ranges };
}

function rangesGiven({ podCIDRs, externalCIDR, agent }: SideInputs): Ranges | undefined {
  const pod = podCIDRs ?? agent?.podCIDRs;
  return pod && { pod, external: [externalCIDR ?? agent?.externalCIDR ?? DEFAULT_EXTERNAL] };
}

async function readOwnRanges(
  client: KubeClient,
  namespace: string,
  { signal }: CallContext,
): Promise<Ranges | undefined> {
  const labelSelector = `${Labels.networkType} in (${NetworkType.pod},${NetworkType.external})`;
  const { items } = await client.list(NetworkResource, { namespace, labelSelector, signal });
  const verdict = judgeRanges(items);
  return "done" in verdict ? verdict.done : undefined;
}

/** The namespace that a cluster keeps for the other one. */
export async function tenantNamespaceOf(
  { inputs, client }: KnownSide,
  remoteId: string,
  signal: AbortSignal,
): Promise<string> {
  if (inputs.tenantNamespace) return inputs.tenantNamespace;
  return expectedNamespace(client, remoteId, signal);
}

/** What a cluster's gateway to the other one has brought about. */
export interface KnownGateway {
  publicKey?: string;
  endpoint?: Endpoint;
}

export async function readGateway(
  { client, inputs }: KnownSide,
  namespace: string,
  remoteId: string,
  signal: AbortSignal,
): Promise<KnownGateway> {
  if (!client) return { publicKey: inputs.keys?.publicKey };
  const options = { namespace, labelSelector: { [Labels.remoteClusterID]: remoteId }, signal };
  const [servers, clients] = await Promise.all([
    client.list(GatewayServerResource, options),
    client.list(GatewayClientResource, options),
  ]);
  const server: GatewayServer | undefined = servers.items[0];
  const gateway: GatewayServer | GatewayClient | undefined = server ?? clients.items[0];
  const verdict = server && judgeEndpoint(server);
  return {
    publicKey: inputs.keys?.publicKey ?? gateway?.status?.publicKey,
    endpoint: verdict && "done" in verdict ? verdict.done : undefined,
  };
}
