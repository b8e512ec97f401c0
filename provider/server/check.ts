import type { KubeClient } from "../../agent/runtime/kube-client.js";
import type { ClusterArgs } from "../framework/cluster-args.js";
import type { CheckContext } from "../framework/context.js";
import { FailureList } from "../framework/failures.js";
import { clusterFieldsOf, fieldsOf, unwrap } from "../framework/field-info.js";
import type { ProviderConfig } from "../framework/provider-config.js";
import type { AnyResource } from "../framework/resource.js";
import { isUnknown, known, type Unknowable } from "../framework/unknown.js";
import { validateProperties } from "../framework/validate.js";
import { ClusterArgsError } from "../kube/kubeconfig.js";
import type { Call } from "./calls.js";
import { settleCheck } from "./unreachable.js";
import type { Properties } from "./values.js";

/** Makes sure that a cluster answers; throws what is wrong otherwise. */
export type Probe = (client: KubeClient, signal: AbortSignal) => Promise<void>;

export interface Checked {
  inputs: Properties;
  failures: FailureList;
  /** The inputs are those of the state: a cluster is out of reach, and the resource is to be left alone. */
  isKept: boolean;
}

/** What the state has of a resource. */
export interface InputsBefore {
  /** Absent for what is new, and for what replaces another. */
  olds?: Properties;
  /** Those of what is replaced too. */
  former?: Properties;
}

/** Types and formats first, then each cluster (all at once), then the resource's own rules: every failure of all three is reported. */
export async function checkResource(
  definition: AnyResource,
  call: Call,
  news: Properties,
  { olds, former }: InputsBefore,
  probe: Probe,
): Promise<Checked> {
  const failures = new FailureList();
  const inputs = withProvidersMaps(definition, validateProperties(definition.inputs, news, failures), call.config);
  const clusters = await checkClusters(definition, call, inputs, olds !== undefined, failures, probe);
  if (clusters === "keep" && olds) return { inputs: failures.count === 0 ? olds : inputs, failures, isKept: true };
  if (!definition.check || clusters === "keep") return { inputs, failures, isKept: false };
  const context = checkContext(call, clusters, former, probe);
  const changed = await call.run(async () => definition.check?.(context, inputs, failures, olds));
  return { inputs: changed ?? inputs, failures, isKept: false };
}

/** Lays maps of the provider's configuration beneath the resource's own: the state then tells what its objects have, and a change is seen. */
function withProvidersMaps({ inputs: schema }: AnyResource, inputs: Properties, config: ProviderConfig): Properties {
  const result = { ...inputs };
  for (const [key, field] of Object.entries(fieldsOf(schema))) {
    const { beneath } = unwrap(field).info;
    const own = inputs[key];
    if (beneath === undefined || isUnknown(own)) continue;
    result[key] = { ...config[beneath], ...(own as Record<string, unknown> | undefined) };
  }
  return result;
}

/** Loads and asks every cluster that the inputs name; reports those that cannot be used. "keep": the resource is to be left alone. */
async function checkClusters(
  { inputs: schema }: AnyResource,
  call: Call,
  inputs: Properties,
  isInState: boolean,
  failures: FailureList,
  probe: Probe,
): Promise<Map<string, KubeClient> | "keep"> {
  const clients = new Map<string, KubeClient>();
  let isKept = false;
  await Promise.all(
    clusterFieldsOf(schema).map(async (name) => {
      // An unknown kubeconfig or context: nothing can be said yet.
      const cluster = inputs[name] as Unknowable<ClusterArgs | undefined>;
      const args = known<ClusterArgs | undefined>(cluster);
      if (args === undefined && cluster !== undefined) return;
      try {
        const client = await call.client(args);
        await probe(client, call.signal);
        clients.set(name, client);
      } catch (error) {
        // The property says that a cluster may be gone for good: it must be possible to set it then.
        if (inputs["forceUnreachable"] === true) return;
        const settled = settleCheck(call, isInState, error);
        if (settled === "keep") {
          isKept = true;
          return;
        }
        const property = error instanceof ClusterArgsError ? error.property : "kubeconfig";
        failures.add([name, property], settled.reason);
      }
    }),
  );
  return isKept ? "keep" : clients;
}

/** A call's context with what check hooks get in addition. */
function checkContext(
  call: Call,
  clusters: Map<string, KubeClient>,
  formerInputs: Properties | undefined,
  probe: Probe,
): CheckContext {
  return call.extend({
    formerInputs,
    clusterAt: (path: string) => Promise.resolve(clusters.get(path)),
    clientIfKnown: async (cluster: Unknowable<ClusterArgs | undefined>) => {
      const args = known<ClusterArgs | undefined>(cluster);
      if (args === undefined && cluster !== undefined) return undefined;
      try {
        const client = await call.client(args);
        await probe(client, call.signal);
        return client;
      } catch {
        return undefined;
      }
    },
  });
}
