import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { controlPlaneAddress, detectRanges } from "./detect.js";
import type { ResolvedRanges } from "./install-inputs.js";
import type { AgentInputs, AgentOutputs } from "./schema.js";

/**
 * The ranges and address of an installation: the program's, else those of the running installation (they never move by themselves), else what the
 * cluster tells. Without a network nothing goes by them, and what cannot be told stays empty.
 *
 * @throws Error saying which input to give
 */
export async function resolveRanges(
  client: KubeClient,
  inputs: Pick<AgentInputs, "podCIDRs" | "serviceCIDR" | "apiServerAddress" | "networkingEnabled">,
  present: Partial<AgentOutputs>,
  signal: AbortSignal,
): Promise<ResolvedRanges> {
  // An import finds no ranges where there is no network.
  const told = {
    podCIDRs: inputs.podCIDRs ?? ifAny(present.podCIDRs),
    serviceCIDR: inputs.serviceCIDR ?? ifAny(present.serviceCIDR),
  };
  const [detected, address] = await Promise.all([
    told.podCIDRs && told.serviceCIDR ? undefined : detectRanges(client, signal),
    inputs.apiServerAddress ?? undiscoverableAddress(client, signal),
  ]);
  const podCIDRs = told.podCIDRs ?? detected?.podCIDRs ?? [];
  const serviceCIDR = told.serviceCIDR ?? detected?.serviceCIDR ?? "";
  if (inputs.networkingEnabled && podCIDRs.length === 0) throw new Error(undetected(client, "podCIDRs", "pods"));
  if (inputs.networkingEnabled && serviceCIDR === "") throw new Error(undetected(client, "serviceCIDR", "Services"));
  return { podCIDRs, serviceCIDR, apiServerAddress: address ?? "" };
}

/**
 * The API server's address where the agent cannot find it: the kubeconfig's. Undefined where a control-plane node shows, as the agent finds
 * that by itself, also when it changes.
 */
export async function undiscoverableAddress(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  return (await controlPlaneAddress(client, signal)) === undefined ? client.transport.server : undefined;
}

/** Undefined for what is empty, as outputs have it where nothing could be told. */
function ifAny<T extends string | string[]>(value: T | undefined): T | undefined {
  return value?.length ? value : undefined;
}

/** What the output shows: where consumers will reach the API server. */
export async function shownAddress(client: KubeClient, resolved: ResolvedRanges, signal: AbortSignal): Promise<string> {
  const given = resolved.apiServerAddress || (await controlPlaneAddress(client, signal)) || client.transport.server;
  return /^https?:\/\//.test(given) ? given : `https://${given}`;
}

export function undetected(client: KubeClient, property: string, what: string): string {
  return `cluster ${client.cluster} does not tell the range of its ${what}: set ${property}`;
}
