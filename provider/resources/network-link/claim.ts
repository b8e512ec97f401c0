import { ConfigurationResource, type Configuration } from "../../../agent/api/index.js";
import { isConflict, type KubeObject, type ObjectName, type ResourceType } from "../../../agent/runtime/index.js";
import type { Side } from "../../preconditions/index.js";
import { waitFor, WaitTimeout, withLimit, type Progress } from "../../waits/index.js";
import { MANAGER } from "../tenant-namespace/index.js";
import type { LinkEnd, LinkEnds } from "./ends.js";
import { remoteLabels } from "./manifests.js";
import { consumerOf, isInUseBy } from "./users.js";

/** On a Configuration: the NetworkLink that makes the gateways, by its consumer, and the cluster that is to serve. */
const CLAIM = "gateways.pulumi-liqo/made-by";

/** How long the other direction's NetworkLink may take over the gateways that it has claimed before they are made here: it may have ended midway. */
const PATIENCE_MS = 15_000;

/**
 * Where there are no gateways yet: which side is to serve. NetworkLinks of both directions that begin at the same time would each make its own pair of
 * gateways, the other way round; so the first to write its claim decides, on the Configuration of the cluster whose ID sorts first, where the API server
 * lets one through.
 *
 * @throws KubeError; Error when the Configuration goes meanwhile
 */
export async function claimGateways(
  progress: Progress,
  ends: LinkEnds,
  applied: Record<Side, Promise<Configuration>>,
  wanted: Side,
): Promise<Side> {
  const end = ends.consumer.clusterId < ends.provider.clusterId ? ends.consumer : ends.provider;
  const claim = `${consumerOf(end)}/${ends[wanted].clusterId}`;
  let current: Configuration | undefined = await applied[end.side];
  while (current) {
    const server = serverClaimed(current, end);
    if (server !== undefined) return server === ends.consumer.clusterId ? "consumer" : "provider";
    if (await tryToClaim(progress, end, current, claim)) return wanted;
    const id: ObjectName = { name: current.metadata.name ?? "", namespace: current.metadata.namespace };
    current = await end.client.get(ConfigurationResource, id, progress.signal);
  }
  throw new Error(`cluster ${end.client.cluster}: the Configuration of ${end.remoteId} was deleted meanwhile`);
}

/** Who serves by the other direction's claim, as long as that uses the link. */
function serverClaimed({ metadata }: Configuration, end: LinkEnd): string | undefined {
  const [consumer = "", server = ""] = (metadata.annotations?.[CLAIM] ?? "").split("/");
  if (consumer === "" || consumer === consumerOf(end) || !isInUseBy(consumer, metadata.annotations)) return undefined;
  return server;
}

/** False when somebody has written meanwhile. */
async function tryToClaim(
  progress: Progress,
  end: LinkEnd,
  { metadata }: Configuration,
  claim: string,
): Promise<boolean> {
  const { name = "", namespace, resourceVersion, annotations } = metadata;
  if (annotations?.[CLAIM] === claim) return true;
  const patch = { metadata: { resourceVersion, annotations: { [CLAIM]: claim } } };
  const options = { fieldManager: MANAGER, signal: progress.signal };
  try {
    await end.client.mergePatch(ConfigurationResource, { name, namespace }, patch, options);
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

/** A gateway that the other direction has claimed to make; undefined when it takes too long over it. */
export async function gatewayOfReverse<T extends KubeObject>(
  progress: Progress,
  end: LinkEnd,
  type: ResourceType<T>,
): Promise<T | undefined> {
  try {
    return await waitFor<T, T>(withLimit(progress, PATIENCE_MS), {
      client: end.client,
      type,
      namespace: end.namespace,
      labelSelector: remoteLabels(end),
      what: `the ${type.kind} that the other direction makes for ${end.remoteId}`,
      judge: ([found]) => (found ? { done: found } : { waiting: "it is not there yet" }),
    });
  } catch (error) {
    if (error instanceof WaitTimeout && Date.now() < progress.deadline) return undefined;
    throw error;
  }
}
