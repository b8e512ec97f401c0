import type { FirewallConfiguration, HostCondition, RouteConfiguration } from "../api/index.js";
import { isNotFound, kubeTime, type Informer, type KubeClient, type ResourceType } from "../runtime/index.js";

type Configuration = RouteConfiguration | FirewallConfiguration;

/** Writes one host's own condition into the status of configurations; those of other hosts stay as they are. */
export class ConditionWriter {
  constructor(private readonly options: { client: KubeClient; hostName: string; fieldManager: string }) {}

  /**
   * Says whether the host carries the configuration out. `outcomes` has, by UID, what stands in the way, or undefined when nothing does; of
   * a configuration that is not in it the host says nothing, and takes back what it has said.
   */
  async write<T extends Configuration>(
    type: ResourceType<T>,
    informer: Informer<T>,
    configuration: T,
    outcomes: ReadonlyMap<string, string | undefined>,
  ): Promise<void> {
    const { metadata, status } = configuration;
    const { client, hostName, fieldManager } = this.options;
    const uid = metadata.uid ?? "";
    const present = status?.conditions?.find(({ host }) => host === hostName);
    const wanted = outcomes.has(uid) ? this.condition(outcomes.get(uid), present) : undefined;
    if (isSame(present, wanted) || metadata.deletionTimestamp) return;
    const { name, namespace } = metadata;
    const object = { metadata: { name, namespace, uid }, status: { conditions: wanted ? [wanted] : [] } };
    try {
      const options = { fieldManager, subresource: "status" } as const;
      informer.observe((await client.apply<Configuration>(type, object, options)) as T);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  private condition(problem: string | undefined, present: HostCondition | undefined): HostCondition {
    const state = problem === undefined ? "True" : "False";
    const isOld = present?.status === state && present.lastTransitionTime !== undefined;
    return {
      type: "Applied",
      status: state,
      host: this.options.hostName,
      lastTransitionTime: isOld ? present.lastTransitionTime : kubeTime(),
      ...(problem === undefined ? {} : { message: problem }),
    };
  }
}

function isSame(present: HostCondition | undefined, wanted: HostCondition | undefined): boolean {
  return present?.status === wanted?.status && present?.message === wanted?.message && !present === !wanted;
}
