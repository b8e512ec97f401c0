import type { KubeClient } from "../../agent/runtime/kube-client.js";
import type { ClusterArgs } from "./cluster-args.js";
import type { PropertyPath } from "./property-path.js";
import type { ProviderConfig } from "./provider-config.js";
import type { Unknowable } from "./unknown.js";

export type Severity = "debug" | "info" | "warning" | "error";

/** What every call gets. */
export interface CallContext {
  /** The resource's URN; "" for functions. */
  readonly urn: string;
  /** The resource's name in the program; the function's token for functions. */
  readonly name: string;
  readonly config: ProviderConfig;
  /** Aborted by Cancel (Ctrl-C) and when the deadline passes: give it to every request and wait. */
  readonly signal: AbortSignal;
  /** When the call must have ended, in milliseconds since the epoch. */
  readonly deadline: number;
  /** The line beside the resource in the live view: what is being waited for. Returns at once; lines keep their order. */
  status(line: string): void;
  /** A line that stays below Diagnostics. */
  log(severity: Severity, line: string): void;
  /** The client of a cluster, kept across calls. Throws an Error naming the problem when the kubeconfig cannot be used. */
  client(cluster: ClusterArgs | undefined): Promise<KubeClient>;
}

/** create and update may also say what they have made so far. */
export interface ChangeContext<Outputs> extends CallContext {
  /**
   * To be called as soon as something exists in a cluster: from now on a failure, time-out or Cancel keeps the resource in state, with these
   * outputs, as partially created; the next `up` calls update, `destroy` calls delete. May be called repeatedly.
   */
  checkpoint(id: string, outputs: Partial<Outputs>): void;
}

export interface CheckContext extends CallContext {
  /** The inputs that the state had at the start of the run; of a resource that is being replaced too, which is checked without old inputs. */
  readonly formerInputs?: Readonly<Record<string, unknown>>;
  /** The client of the cluster property at this path; undefined when its kubeconfig is not known yet or was found faulty (then already reported). */
  clusterAt(path: string): Promise<KubeClient | undefined>;
  /** The same for arguments at hand, without a report: undefined when unknown or faulty. */
  clientIfKnown(cluster: Unknowable<ClusterArgs | undefined>): Promise<KubeClient | undefined>;
}

/** Collects what is wrong with the inputs; all of it is reported at once. */
export interface Failures {
  add(path: PropertyPath | string, reason: string): void;
  /** Whether something was reported at this path or below. */
  has(path: PropertyPath | string): boolean;
  readonly count: number;
}
