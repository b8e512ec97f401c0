import type {
  Container,
  EphemeralContainer,
  PodSpec,
  ResourceRequirements,
  Toleration,
} from "kubernetes-types/core/v1";
import { isDeepStrictEqual } from "node:util";
import { quantitiesEqual, type ResourceList } from "../../api/index.js";

/** One operation of a JSON patch (RFC 6902). */
export interface PodChange {
  op: "add" | "replace" | "test";
  path: string;
  value: unknown;
}

/** The three ways by which Kubernetes lets a pod that is there be changed: as an update, by `resize`, and by `ephemeralcontainers`. */
export interface PodChanges {
  update: PodChange[];
  resize: PodChange[];
  debug: PodChange[];
}

/** The subresource of a Pod that takes each of them. */
export const SUBRESOURCE_OF = {
  update: undefined,
  resize: "resize",
  debug: "ephemeralcontainers",
} as const satisfies Record<keyof PodChanges, string | undefined>;

type Containers = "containers" | "initContainers";
/** A container, or a pod as a whole: the published types are older than what a pod may ask for itself. */
type WithResources = Pick<Container, "resources">;

/**
 * What must be done so that a pod of the spec `present` becomes as `wanted`, in the fields that may be changed while it runs: images,
 * resources, deadline, tolerations and ephemeral containers. What `present` has beyond that, as defaults and admission put it there, stays.
 * Paths begin at the pod's spec, by `prefix`.
 */
export function podChanges(present: PodSpec, wanted: PodSpec, prefix: string): PodChanges {
  return {
    update: [
      ...containerChanges(present, wanted, prefix, imageChange),
      ...deadlineChange(present, wanted, prefix),
      ...additions(`${prefix}/tolerations`, present.tolerations, missingTolerations(present, wanted)),
    ],
    resize: [
      ...containerChanges(present, wanted, prefix, resourcesChange),
      ...resourcesChange(prefix, present as WithResources, wanted as WithResources),
    ],
    debug: additions(
      `${prefix}/ephemeralContainers`,
      present.ephemeralContainers,
      missingEphemeralContainers(present, wanted),
    ),
  };
}

/** The spec `present` once it and its containers have the resources that they have in `wanted`: all that such changes alter of what a pod takes. */
export function resized(present: PodSpec, wanted: PodSpec): PodSpec {
  const resize = (list: Containers): Container[] | undefined =>
    present[list]?.map((container) => {
      const other = wanted[list]?.find(({ name }) => name === container.name);
      const resources = other && resizedResources(container, other);
      return resources ? { ...container, resources } : container;
    });
  const whole = resizedResources(present as WithResources, wanted as WithResources);
  return {
    ...present,
    ...(whole ? { resources: whole } : {}),
    containers: resize("containers") ?? [],
    initContainers: resize("initContainers"),
  };
}

/** The part of a spec that podChanges looks at: all that need be kept of one. */
export function changeablePart(spec: PodSpec | undefined): PodSpec {
  const containers = (list: Container[] | undefined): Container[] | undefined =>
    list?.map(({ name, image, resources }) => ({ name, image, ...(resources ? { resources } : {}) }));
  const { activeDeadlineSeconds, tolerations, ephemeralContainers } = spec ?? {};
  const { resources: whole } = (spec ?? {}) as WithResources;
  return {
    ...(whole ? { resources: whole } : {}),
    containers: containers(spec?.containers) ?? [],
    initContainers: containers(spec?.initContainers),
    activeDeadlineSeconds,
    tolerations,
    ephemeralContainers: ephemeralContainers?.map(({ name }) => ({ name })),
  };
}

function containerChanges(
  present: PodSpec,
  wanted: PodSpec,
  prefix: string,
  change: (path: string, present: Container, wanted: Container) => PodChange[],
): PodChange[] {
  return (["containers", "initContainers"] as const satisfies Containers[]).flatMap((list) =>
    (present[list] ?? []).flatMap((container, index) => {
      const other = wanted[list]?.find(({ name }) => name === container.name);
      const path = `${prefix}/${list}/${index}`;
      const changes = other ? change(path, container, other) : [];
      // Admission may have put another container into this place since.
      return changes.length > 0 ? [{ op: "test", path: `${path}/name`, value: container.name }, ...changes] : [];
    }),
  );
}

function imageChange(path: string, present: Container, wanted: Container): PodChange[] {
  if (!wanted.image || wanted.image === present.image) return [];
  return [{ op: "replace", path: `${path}/image`, value: wanted.image }];
}

function resourcesChange(path: string, present: WithResources, wanted: WithResources): PodChange[] {
  const value = resizedResources(present, wanted);
  return value ? [{ op: "add", path: `${path}/resources`, value }] : [];
}

/** Resources as they become; undefined if they stay. */
function resizedResources(present: WithResources, wanted: WithResources): ResourceRequirements | undefined {
  const { requests, limits } = wanted.resources ?? {};
  if (includes(present.resources?.requests, requests) && includes(present.resources?.limits, limits)) return undefined;
  return {
    ...present.resources,
    ...(requests ? { requests: { ...present.resources?.requests, ...requests } } : {}),
    ...(limits ? { limits: { ...present.resources?.limits, ...limits } } : {}),
  };
}

function includes(present: ResourceList = {}, wanted: ResourceList = {}): boolean {
  return Object.entries(wanted).every(([resource, amount]) => {
    const has = present[resource];
    return has !== undefined && quantitiesEqual(has, amount);
  });
}

function deadlineChange(present: PodSpec, wanted: PodSpec, prefix: string): PodChange[] {
  const value = wanted.activeDeadlineSeconds;
  if (value === undefined || value === present.activeDeadlineSeconds) return [];
  return [{ op: "add", path: `${prefix}/activeDeadlineSeconds`, value }];
}

/** Kubernetes lets tolerations be added to a pod, and none be taken away. */
function missingTolerations(present: PodSpec, wanted: PodSpec): Toleration[] {
  return (wanted.tolerations ?? []).filter(
    (toleration) => !present.tolerations?.some((other) => isDeepStrictEqual(other, toleration)),
  );
}

function missingEphemeralContainers(present: PodSpec, wanted: PodSpec): EphemeralContainer[] {
  return (wanted.ephemeralContainers ?? []).filter(
    ({ name }) => !present.ephemeralContainers?.some((other) => other.name === name),
  );
}

function additions(path: string, present: unknown[] | undefined, missing: unknown[]): PodChange[] {
  if (missing.length === 0) return [];
  if (!present) return [{ op: "add", path, value: missing }];
  return missing.map((value) => ({ op: "add", path: `${path}/-`, value }));
}
