import type { Toleration } from "kubernetes-types/core/v1";
import { Annotations, isEvictionDelay, type NamespaceOffloading } from "../../api/index.js";

/** Seconds that pods stay where they cannot run, before they are made anew elsewhere; or for good. */
export type EvictionDelay = number | "never";

/** What Kubernetes gives to every pod that does not say otherwise. */
const DEFAULT_SECONDS = 300;
const OUT_OF_REACH = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

const DELAY_ANNOTATIONS = [Annotations.evictionAfterDisconnect, Annotations.evictionAfterUnschedulable] as const;

type DelayAnnotation = (typeof DELAY_ANNOTATIONS)[number];

/** The delay that a NamespaceOffloading asks for by an annotation, if it does. What admission refuses asks for nothing. */
export function evictionDelayOf(
  { metadata }: NamespaceOffloading,
  annotation: DelayAnnotation,
): EvictionDelay | undefined {
  const text = metadata.annotations?.[annotation];
  if (text === undefined || !isEvictionDelay(text)) return undefined;
  return text === "never" ? text : Number(text);
}

/** What is wrong with a delay that a NamespaceOffloading asks for, if anything is. */
export function evictionDelayProblem({ metadata }: NamespaceOffloading): string | undefined {
  for (const key of DELAY_ANNOTATIONS) {
    const text = metadata.annotations?.[key];
    if (text === undefined || isEvictionDelay(text)) continue;
    return `metadata.annotations[${key}]: "${text}" is neither a number of seconds nor "never"`;
  }
  return undefined;
}

/** The tolerations with that delay (offloading specification, §3). What a pod asks for itself, other than Kubernetes' default, stays. */
export function withEvictionDelay(tolerations: Toleration[], delay: EvictionDelay): Toleration[] {
  const chosen = tolerations.filter((toleration) => !isDefault(toleration));
  const open = OUT_OF_REACH.filter((key) => !chosen.some((toleration) => covers(toleration, key)));
  const seconds = delay === "never" ? {} : { tolerationSeconds: delay };
  return [...chosen, ...open.map((key): Toleration => ({ key, operator: "Exists", effect: "NoExecute", ...seconds }))];
}

function isDefault({ key = "", operator, effect, tolerationSeconds }: Toleration): boolean {
  const isOurs = OUT_OF_REACH.includes(key) && operator === "Exists" && effect === "NoExecute";
  return isOurs && tolerationSeconds === DEFAULT_SECONDS;
}

function covers({ key, effect }: Toleration, taint: string): boolean {
  return (!key || key === taint) && (!effect || effect === "NoExecute");
}
