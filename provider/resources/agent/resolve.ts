import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { controlPlaneAddress, detectRanges } from "./detect.js";
import type { ResolvedRanges } from "./install-inputs.js";
import type { AgentInputs, AgentOutputs } from "./schema.js";

/**
 * The ranges and address of an installation: the program's, else those of the running installation (they never move by themselves), else what the
 * cluster tells.
 *
 * @throws Error saying which input to give
 */
export async function resolveRanges(
  client: KubeClient,
  inputs: Pick<AgentInputs, "podCIDRs" | "serviceCIDR" | "apiServerAddress">,
  present: Partial<AgentOutputs>,
  signal: AbortSignal,
): Promise<ResolvedRanges> {
  const needsDetection = !(inputs.podCIDRs ?? present.podCIDRs) || !(inputs.serviceCIDR ?? present.serviceCIDR);
  const [detected, address] = await Promise.all([
    needsDetection ? detectRanges(client, signal) : undefined,
    inputs.apiServerAddress ? undefined : controlPlaneAddress(client, signal),
  ]);
  const podCIDRs = inputs.podCIDRs ?? present.podCIDRs ?? detected?.podCIDRs ?? [];
  const serviceCIDR = inputs.serviceCIDR ?? present.serviceCIDR ?? detected?.serviceCIDR;
  if (podCIDRs.length === 0) throw new Error(undetected(client, "podCIDRs", "pods"));
  if (serviceCIDR === undefined) throw new Error(undetected(client, "serviceCIDR", "Services"));
  return {
    podCIDRs,
    serviceCIDR,
    // The agent finds a control-plane node by itself, also when it changes.
    apiServerAddress: inputs.apiServerAddress ?? (address === undefined ? client.transport.server : ""),
  };
}

/** What the output shows: where consumers will reach the API server. */
export async function shownAddress(client: KubeClient, resolved: ResolvedRanges, signal: AbortSignal): Promise<string> {
  const given = resolved.apiServerAddress || (await controlPlaneAddress(client, signal)) || client.transport.server;
  return /^https?:\/\//.test(given) ? given : `https://${given}`;
}

export function undetected(client: KubeClient, property: string, what: string): string {
  return `cluster ${client.cluster} does not tell the range of its ${what}: set ${property}`;
}
