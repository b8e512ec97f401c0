import { customResourceName } from "../../api/custom-resource.js";
import { Names, VirtualNodeResource } from "../../api/index.js";
import { KubeError, isForbidden, isNotFound, type ResourceType } from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";

/** Rights and definitions that have just been given come into force a moment later. */
const GRACE_MS = 5_000;
/** A failure that long after the last one is another one: what fails is tried again each ten seconds. */
const FORGET_MS = 60_000;
/** What goes on is told again, as events are forgotten. */
const REPEAT_MS = 600_000;

interface Failing {
  since: number;
  last: number;
  toldAt?: number;
}

/** Tells on the VirtualNode what keeps a custom resource from being reflected as a whole: it is not served, or may not be read, in one of the clusters. */
export class CustomResourceProblems {
  private readonly failing = new Map<string, Failing>();

  constructor(private readonly context: VirtualNodeContext) {}

  /** Takes each failure to list or watch a resource; an outage, which keeps everything, is told elsewhere. */
  tell(type: ResourceType, error: unknown, now = Date.now()): void {
    const { homeClusterId } = this.context.config;
    const message = problemOf(type, error, homeClusterId);
    if (!message) return;
    const known = this.failing.get(message);
    const state: Failing = known && now - known.last < FORGET_MS ? known : { since: now, last: now };
    this.failing.set(message, state);
    state.last = now;
    const isTold = state.toldAt !== undefined && now - state.toldAt < REPEAT_MS;
    const { virtualNode } = this.context.state;
    if (now - state.since < GRACE_MS || isTold || !virtualNode) return;
    state.toldAt = now;
    this.context.recorder.warning(VirtualNodeResource, virtualNode, "FailedReflection", message);
  }
}

/** What is wrong, where, and what to do about it; undefined for what may pass by itself. */
export function problemOf(type: ResourceType, error: unknown, homeClusterId: string): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const name = customResourceName(type);
  if (isNotFound(error))
    return `cluster ${error.cluster} does not serve ${name} in version ${type.version} in namespaces: install its CustomResourceDefinition there, or take it out of customResources`;
  if (!isForbidden(error)) return undefined;
  const isHere = error.cluster === homeClusterId;
  const role = isHere ? Names.virtualKubeletLocalCustomRole : Names.virtualKubeletRemoteCustomRole;
  const verbs = isHere ? "get, list, watch" : "get, list, watch, create, update, patch, delete";
  return `cluster ${error.cluster} does not let virtual nodes read ${name}: give ClusterRole ${role} there the verbs ${verbs} on it`;
}
