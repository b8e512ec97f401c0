import { Labels, NetworkResource, NetworkType, type Network } from "../../../agent/api/index.js";
import type { Peer } from "../../preconditions/index.js";
import { waitFor, type Progress, type Verdict } from "../../waits/index.js";
import type { Ranges } from "./manifests.js";

/** The ranges that a cluster owns, from its Networks' statuses (network specification, §2). */
export function readRanges(progress: Progress, { client, agentNamespace, side }: Peer): Promise<Ranges> {
  return waitFor(progress, {
    client,
    type: NetworkResource,
    namespace: agentNamespace,
    labelSelector: `${Labels.networkType} in (${NetworkType.pod},${NetworkType.external})`,
    what: `the ${side}'s own network ranges`,
    judge: judgeRanges,
  });
}

export function judgeRanges(networks: readonly Network[]): Verdict<Ranges> {
  const ofType = (type: string): Network[] =>
    networks.filter(({ metadata }) => metadata.labels?.[Labels.networkType] === type);
  const [pod, external] = [ofType(NetworkType.pod), ofType(NetworkType.external)];
  if (pod.length === 0 || external.length === 0) {
    return { waiting: `there is no Network of type ${pod.length === 0 ? NetworkType.pod : NetworkType.external}` };
  }
  const pending = [...pod, ...external].filter(({ status }) => !status?.cidr);
  if (pending.length > 0) {
    return { waiting: `Network ${pending.map(({ metadata }) => metadata.name).join(", ")} has no range assigned yet` };
  }
  return { done: { pod: cidrsOf(pod), external: cidrsOf(external) } };
}

function cidrsOf(networks: readonly Network[]): string[] {
  return networks.map(({ status }) => status?.cidr ?? "").sort();
}
