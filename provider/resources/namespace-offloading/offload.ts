import {
  Labels,
  Names,
  NamespaceOffloadingResource,
  type NamespaceOffloading,
  type OffloadingPhase,
} from "../../../agent/api/index.js";
import { isAlreadyExists, isDeleting, NamespaceResource } from "../../../agent/runtime/index.js";
import { applyExactly } from "../../kube/apply-exactly.js";
import { markSharedNamespace } from "../../kube/object-metadata.js";
import type { Peer } from "../../preconditions/index.js";
import { latestWarning, waitFor, waitUntilGone, type Progress, type Verdict } from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { MANAGER } from "../tenant-namespace/index.js";
import type { NamespaceOffloadingInputs } from "./schema.js";
import { annotationsOf, formerAnnotations, type Settings } from "./settings.js";

export interface Offloaded {
  remoteNamespace: string;
  providers: string[];
  offloadingPhase: OffloadingPhase;
}

type Offloading = Settings &
  Pick<
    NamespaceOffloadingInputs,
    "namespace" | "namespaceMappingStrategy" | "remoteNamespaceName" | "podOffloadingStrategy" | "clusterSelector"
  >;

export function offloadingManifest(inputs: Offloading) {
  const { namespace, namespaceMappingStrategy, podOffloadingStrategy, remoteNamespaceName, clusterSelector } = inputs;
  const annotations = annotationsOf(inputs);
  return {
    metadata: {
      name: Names.namespaceOffloading,
      namespace,
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    spec: {
      namespaceMappingStrategy,
      podOffloadingStrategy,
      ...(remoteNamespaceName ? { remoteNamespaceName } : {}),
      clusterSelector: { nodeSelectorTerms: clusterSelector?.nodeSelectorTerms ?? [] },
    },
  };
}

/**
 * Extends the namespace and waits until the providers have theirs (offloading specification, §4).
 *
 * @param before the inputs that the namespace is extended by so far: for the first time, the same
 * @param begun told before anything is written
 */
export async function offload(
  progress: Progress,
  consumer: Peer,
  inputs: NamespaceOffloadingInputs,
  before: Settings,
  begun: () => void,
): Promise<Offloaded> {
  const { client } = consumer;
  await ensureNamespace(progress, consumer, inputs, begun);
  begun();
  const options = { fieldManager: MANAGER, signal: progress.signal };
  const former = formerAnnotations(inputs, before).map((key) => ["metadata", "annotations", key]);
  const applied = await applyExactly(client, NamespaceOffloadingResource, offloadingManifest(inputs), options, former);
  progress.status(`namespace ${inputs.namespace}: offloading applied`);
  const { namespace } = inputs;
  const offloaded = await waitFor<NamespaceOffloading, Offloaded>(progress, {
    client,
    type: NamespaceOffloadingResource,
    namespace,
    name: Names.namespaceOffloading,
    what: `the offloading of namespace ${namespace}`,
    judge: ([current]) => judgeOffloading(current, applied.metadata.generation ?? 0),
    explain: async (signal) =>
      (await latestWarning(
        client,
        namespace,
        { kind: "NamespaceOffloading", name: Names.namespaceOffloading },
        signal,
      )) ?? explainAgent(consumer, signal),
  });
  const { providers, remoteNamespace } = offloaded;
  if (providers.length === 0) {
    progress.log(
      "warning",
      `namespace ${namespace}: no virtual node fits the clusterSelector, or there is none: nothing is offloaded yet`,
    );
  } else {
    progress.status(
      `namespace ${namespace}: extended to ${providers.join(", ")}${remoteNamespace ? ` as ${remoteNamespace}` : ""}`,
    );
  }
  return offloaded;
}

export function judgeOffloading(offloading: NamespaceOffloading | undefined, generation: number): Verdict<Offloaded> {
  if (!offloading) return { failed: "the NamespaceOffloading was deleted meanwhile" };
  const { status } = offloading;
  const phase = status?.offloadingPhase;
  if ((status?.observedGeneration ?? 0) < generation || !phase) return { waiting: "the agent has not taken it up yet" };
  if (phase === "Ready" || phase === "NoClusterSelected") return { done: offloadedOf(offloading, phase) };
  return { waiting: `it is ${phase}${describeConditions(offloading)}` };
}

export function offloadedOf({ status }: NamespaceOffloading, phase: OffloadingPhase): Offloaded {
  const ready = Object.entries(status?.remoteNamespacesConditions ?? {})
    .filter(([, conditions]) => conditions.some((c) => c.type === "Ready" && c.status === "True"))
    .map(([clusterId]) => clusterId);
  return { remoteNamespace: status?.remoteNamespaceName ?? "", providers: ready.sort(), offloadingPhase: phase };
}

/** What stands in the way, by provider. */
function describeConditions({ status }: NamespaceOffloading): string {
  const problems = Object.entries(status?.remoteNamespacesConditions ?? {}).flatMap(([clusterId, conditions]) =>
    conditions
      .filter((c) => c.type === "Ready" && c.status !== "True")
      .map((c) => `${clusterId}: ${c.message || c.reason || "not ready"}${clashHint(c.reason)}`),
  );
  return problems.length > 0 ? ` (${problems.join("; ")})` : "";
}

function clashHint(reason: string | undefined): string {
  return reason === "CreationLoopBackOff" ? ", as the provider may have a namespace of that name already" : "";
}

async function ensureNamespace(
  progress: Progress,
  { client }: Peer,
  { namespace: name, createNamespace }: NamespaceOffloadingInputs,
  begun: () => void,
): Promise<void> {
  const present = await client.get(NamespaceResource, { name }, progress.signal);
  if (present && !isDeleting(present)) {
    const isOwn = createNamespace && present.metadata?.labels?.[Labels.appManagedBy] === MANAGER;
    if (isOwn) await markSharedNamespace(client, present, `${MANAGER}/NamespaceOffloading`, progress.signal);
    return;
  }
  if (!createNamespace) {
    throw new Error(
      `namespace: there is no namespace ${name} in cluster ${client.cluster}${present ? " (it is being deleted)" : ""}: create it, or set createNamespace`,
    );
  }
  if (present) await waitUntilGone(progress, client, NamespaceResource, { name });
  try {
    const metadata = { name, labels: { [Labels.appManagedBy]: MANAGER } };
    const options = { fieldManager: MANAGER, signal: progress.signal };
    begun();
    const created = await client.create(NamespaceResource, { metadata }, options);
    await markSharedNamespace(client, created, `${MANAGER}/NamespaceOffloading`, progress.signal);
    progress.status(`namespace ${name}: created`);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
