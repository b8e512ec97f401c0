import type { EventRecorder, KubeClient, Logger } from "../runtime/index.js";
import type { VirtualNodeConfig } from "./arguments.js";
import type { LiveState } from "./peer/live-state.js";
import type { ReflectionCounters } from "./reflection/reflection-counters.js";

/** What every part of a virtual node is built from. */
export interface VirtualNodeContext {
  config: VirtualNodeConfig;
  /** The consumer's cluster, where the Node is. */
  local: KubeClient;
  /** The provider's cluster, where the pods run. */
  remote: KubeClient;
  state: LiveState;
  recorder: EventRecorder;
  counters: ReflectionCounters;
  logger: Logger;
}

/** A namespace of the consumer and the one of the provider that it is mapped to. */
export interface NamespacePair {
  local: string;
  remote: string;
}

export const FIELD_MANAGER = "liqo-virtual-kubelet";
export const REFLECTION_FIELD_MANAGER = "reflection.liqo.io";
