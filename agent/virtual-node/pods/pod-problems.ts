import type { Pod } from "kubernetes-types/core/v1";
import { Annotations, API_SERVER_SUPPORT } from "../../api/index.js";
import { isDnsSubdomain, NAME_LENGTH } from "../../api/kubernetes-names.js";
import { tokenSecretName, wantsApiServer } from "../service-accounts/api-access.js";

/** Words that an annotation takes; none is taken for another, or for no annotation. */
const WORDS: Record<string, readonly string[]> = {
  [Annotations.antiAffinityPreset]: ["soft", "hard", "propagate"],
  [Annotations.apiServerSupport]: API_SERVER_SUPPORT,
};
/** Annotations that name an object of the provider. */
const NAMES = [Annotations.remoteRuntimeClassName, Annotations.remoteServiceAccountName];

/**
 * Why a pod cannot be taken to a provider as it is written, by the path of what is wrong; empty if it can. It must not run there otherwise than its
 * author meant, so it waits until that is mended.
 */
export function podProblems(pod: Pod, isApiServerSupported: boolean): string[] {
  const annotations = pod.metadata?.annotations ?? {};
  const words = Object.entries(WORDS).flatMap(([key, known]) => {
    const value = annotations[key];
    return !value || known.includes(value) ? [] : [`${pathOf(key)}: "${value}" is none of ${known.join(", ")}`];
  });
  const names = NAMES.flatMap((key) => {
    const value = annotations[key];
    return !value || isDnsSubdomain(value) ? [] : [`${pathOf(key)}: "${value}" is not a name that an object can have`];
  });
  return [...words, ...names, ...nameProblems(pod, isApiServerSupported)];
}

function pathOf(annotation: string): string {
  return `metadata.annotations[${annotation}]`;
}

/** Its tokens go in a Secret that is called after the pod. */
function nameProblems(pod: Pod, isApiServerSupported: boolean): string[] {
  const secret = tokenSecretName(pod.metadata?.name ?? "");
  if (!wantsApiServer(pod, isApiServerSupported) || secret.length <= NAME_LENGTH) return [];
  return [
    `metadata.name: the Secret for its tokens would have a name of ${secret.length} characters, and ${NAME_LENGTH} are possible: ` +
      `choose a shorter name, or ${Annotations.apiServerSupport}="disabled" if it needs no token`,
  ];
}
