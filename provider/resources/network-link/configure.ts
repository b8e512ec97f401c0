import { ConfigurationResource, normalizeCidrs, type Configuration } from "../../../agent/api/index.js";
import { findCondition } from "../../../agent/runtime/index.js";
import { waitFor, type Progress, type Verdict } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";
import { configurationManifest, type Ranges } from "./manifests.js";
import { directionManager, IN_USE, linkAnnotation } from "./users.js";

const CONDITION = "NetworkCIDRsConfigured";

/** Writes the remote's ranges, and who uses the link, into the end's Configuration. */
export async function applyConfiguration(
  progress: Progress,
  end: LinkEnd,
  remote: Ranges,
  present: Configuration | undefined,
): Promise<Configuration> {
  const manifest = configurationManifest(end, remote, present?.metadata);
  const annotations = { [linkAnnotation(end)]: IN_USE };
  return end.client.apply(
    ConfigurationResource,
    { ...manifest, metadata: { ...manifest.metadata, annotations } },
    { fieldManager: directionManager(end), signal: progress.signal },
  );
}

/** Waits until the cluster has found ranges for the remote; they are what it calls the remote's ranges from then on. */
export function waitUntilMapped(progress: Progress, end: LinkEnd, configuration: Configuration): Promise<Ranges> {
  const { name = "", namespace, generation = 0 } = configuration.metadata;
  return waitFor(progress, {
    client: end.client,
    type: ConfigurationResource,
    namespace,
    name,
    written: configuration,
    what: `the mapping of ${end.remoteId}'s ranges in the ${end.side}`,
    judge: ([current]) => judgeMapping(current, generation),
  });
}

export function judgeMapping(configuration: Configuration | undefined, generation: number): Verdict<Ranges> {
  if (!configuration) return { failed: "the Configuration was deleted meanwhile" };
  const wanted = rangesOf(configuration.spec.remote?.cidr);
  const mapped = rangesOf(configuration.status?.remote?.cidr);
  const condition = findCondition(configuration.status?.conditions, CONDITION);
  const isComplete = wanted.pod.length === mapped.pod.length && wanted.external.length === mapped.external.length;
  const isCurrent = (condition?.observedGeneration ?? generation) >= generation;
  if (isComplete && isCurrent && condition?.status !== "False") return { done: mapped };
  return { waiting: condition?.message || "the agent has not taken it up yet" };
}

export function rangesOf(cidr: { pod?: string[]; external?: string[] } | undefined): Ranges {
  return { pod: normalizeCidrs(cidr?.pod), external: normalizeCidrs(cidr?.external) };
}
