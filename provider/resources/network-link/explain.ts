import { gatewayResourceName, Labels } from "../../../agent/api/index.js";
import { DeploymentResource } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { podProblems } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";

/** Why a gateway does not come up: its pods, or the controller that should make them. */
export async function explainGateway(end: LinkEnd, name: string, signal: AbortSignal): Promise<string | undefined> {
  const deployment = await end.client.get(
    DeploymentResource,
    { name: gatewayResourceName(name), namespace: end.namespace },
    signal,
  );
  if (!deployment) return explainAgent(end, signal);
  return podProblems(end.client, end.namespace, { [Labels.gatewayName]: name }, signal);
}

/** Why the agent's controller does not act. Undefined when it runs. */
export async function explainAgent({ client, agentNamespace }: Peer, signal: AbortSignal): Promise<string | undefined> {
  const problems = await podProblems(client, agentNamespace, { [Labels.appName]: "controller-manager" }, signal);
  return problems && `the agent's controller does not run: ${problems}`;
}
