import { GatewayClientResource, GatewayServerResource, gatewayResourceName, Labels } from "../../../agent/api/index.js";
import { ACCEPTED } from "../../../agent/controller/network/gateways/refusal.js";
import { DeploymentResource, findCondition } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { podProblems } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";

/** Why a gateway does not come up: its spec, its pods, or the controller that should make them. */
export async function explainGateway(end: LinkEnd, name: string, signal: AbortSignal): Promise<string | undefined> {
  const refusal = await refusalOf(end, name, signal);
  if (refusal) return refusal;
  const deployment = await end.client.get(
    DeploymentResource,
    { name: gatewayResourceName(name), namespace: end.namespace },
    signal,
  );
  if (!deployment) return explainAgent(end, signal);
  return podProblems(end.client, end.namespace, { [Labels.gatewayName]: name }, signal);
}

/** What the agent says against the gateway's spec, by the field. */
async function refusalOf(
  { client, namespace }: LinkEnd,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const gateways = await Promise.all([
    client.get(GatewayServerResource, { name, namespace }, signal),
    client.get(GatewayClientResource, { name, namespace }, signal),
  ]);
  for (const gateway of gateways) {
    const verdict = findCondition(gateway?.status?.conditions, ACCEPTED);
    if (gateway && verdict?.status === "False") return `${gateway.kind} ${namespace}/${name}: ${verdict.message}`;
  }
  return undefined;
}

/** Why the agent's controller does not act. Undefined when it runs. */
export async function explainAgent({ client, agentNamespace }: Peer, signal: AbortSignal): Promise<string | undefined> {
  const problems = await podProblems(client, agentNamespace, { [Labels.appName]: "controller-manager" }, signal);
  return problems && `the agent's controller does not run: ${problems}`;
}
