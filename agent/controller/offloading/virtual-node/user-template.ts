import { isDeepStrictEqual } from "node:util";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Affinity, Container, NodeSelectorTerm, PodSpec, PodTemplateSpec } from "kubernetes-types/core/v1";
import { LabelValues, type VirtualNodeSpec } from "../../../api/index.js";
import { crossProduct } from "../../webhooks/pod-affinity.js";

/** Of the process's container: which program runs is the installation's and the options' affair, how it runs is the template's. */
const OWN_CONTAINER_FIELDS = [
  "name",
  "image",
  "imagePullPolicy",
  "command",
  "readinessProbe",
  "livenessProbe",
] as const;

/**
 * The Deployment with what `spec.template` of the VirtualNode asks for beside (offloading specification, §2.3): labels, annotations, all of the pod,
 * further containers, and of the process's own container resources, environment, mounts and arguments. A VirtualNode that Liqo has left
 * carries a whole Deployment there: what identifies the node, and the program, is therefore never taken from it.
 *
 * @param fixed the arguments (`--name=value`) that no other value may take the place of
 */
export function withUserTemplate(
  deployment: Deployment,
  template: VirtualNodeSpec["template"],
  fixed: readonly string[],
): Deployment {
  if (!template) return deployment;
  const { metadata, spec } = deployment;
  const pod = template.spec?.template;
  return {
    ...deployment,
    metadata: { ...metadata, ...mergedMetadata(template.metadata, metadata) },
    ...(spec ? { spec: { ...spec, template: pod ? withUserPod(spec.template, pod, fixed) : spec.template } } : {}),
  };
}

interface Labelled {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

function mergedMetadata(user: Labelled = {}, own: Labelled = {}): Labelled {
  return { labels: { ...user.labels, ...own.labels }, annotations: { ...user.annotations, ...own.annotations } };
}

function withUserPod(own: PodTemplateSpec, user: PodTemplateSpec, fixed: readonly string[]): PodTemplateSpec {
  const spec = own.spec ?? { containers: [] };
  const { containers = [], ...rest } = user.spec ?? { containers: [] };
  return {
    metadata: { ...own.metadata, ...mergedMetadata(user.metadata, own.metadata) },
    spec: {
      ...spec,
      ...rest,
      serviceAccountName: spec.serviceAccountName,
      affinity: mergedAffinity(spec.affinity, rest.affinity),
      ...joined(spec, rest, "tolerations"),
      ...joined(spec, rest, "imagePullSecrets"),
      containers: mergedContainers(spec.containers, containers, fixed),
    },
  };
}

/** Both lists, each entry once; nothing where there is neither. */
function joined<K extends "tolerations" | "imagePullSecrets">(
  own: PodSpec,
  user: Partial<PodSpec>,
  field: K,
): Partial<PodSpec> {
  const entries = [...(own[field] ?? []), ...(user[field] ?? [])];
  const distinct = entries.filter((entry, i) => entries.findIndex((other) => isDeepStrictEqual(other, entry)) === i);
  return distinct.length > 0 ? { [field]: distinct } : {};
}

/** The user's choice of nodes, and never a virtual one. */
function mergedAffinity(own: Affinity | undefined, user: Affinity | undefined): Affinity | undefined {
  if (!user) return own;
  const nodeSelectorTerms = crossProduct(requiredTerms(user), requiredTerms(own));
  return {
    ...user,
    nodeAffinity: {
      ...user.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  };
}

function requiredTerms(affinity: Affinity | undefined): NodeSelectorTerm[] {
  return affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
}

function mergedContainers(own: Container[], user: Container[], fixed: readonly string[]): Container[] {
  const process = user.find(({ name }) => name === LabelValues.virtualKubeletComponent);
  const others = user.filter((container) => container !== process);
  return [...own.map((container) => (process ? mergedContainer(container, process, fixed) : container)), ...others];
}

function mergedContainer(own: Container, user: Container, fixed: readonly string[]): Container {
  const kept = Object.fromEntries(OWN_CONTAINER_FIELDS.flatMap((key) => (key in own ? [[key, own[key]]] : [])));
  const asked = Object.fromEntries(Object.entries(user).filter(([key]) => key !== "command"));
  return {
    ...own,
    ...asked,
    ...(kept as Pick<Container, "name">),
    args: [...(own.args ?? []), ...furtherArguments(user.args ?? [], fixed)],
    env: byKey([...(user.env ?? []), ...(own.env ?? [])], ({ name }) => name),
    ports: byKey([...(user.ports ?? []), ...(own.ports ?? [])], ({ containerPort }) => String(containerPort)),
    securityContext: { ...own.securityContext, ...user.securityContext },
  };
}

/** Later entries take the place of earlier ones of the same key. */
function byKey<T>(entries: T[], key: (entry: T) => string): T[] {
  return [...new Map(entries.map((entry) => [key(entry), entry])).values()];
}

/** Those arguments that leave the fixed ones as they are; a value may stand behind its name. */
export function furtherArguments(args: readonly string[], fixed: readonly string[]): string[] {
  const names = new Set(fixed.map(nameOf));
  let skipsValue = false;
  return args.filter((argument) => {
    const isFlag = argument.startsWith("--");
    if (!isFlag) return !skipsValue && argument !== "virtual-node";
    const isFixed = names.has(nameOf(argument));
    skipsValue = isFixed && !argument.includes("=");
    return !isFixed;
  });
}

function nameOf(argument: string): string {
  return argument.split("=", 1)[0] ?? "";
}
