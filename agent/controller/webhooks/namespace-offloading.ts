import type { MutatingWebhookConfiguration } from "kubernetes-types/admissionregistration/v1";
import type { Namespace, NodeSelectorRequirement, PersistentVolume } from "kubernetes-types/core/v1";
import {
  Annotations,
  API_SERVER_SUPPORT,
  Labels,
  Names,
  type NamespaceOffloading,
  type NamespaceOffloadingSpec,
} from "../../api/index.js";
import { isDnsLabel } from "../../api/kubernetes-names.js";
import { isDeleting, NamespaceResource, PersistentVolumeResource } from "../../runtime/index.js";
import { agreementProblem, lossOf, mayDeleteRemoteData, remoteDataOf } from "../../storage/remote-data.js";
import { preparesPods, webhookConfigurations } from "../offloading/prepared-pods.js";
import { remoteNamespaceName } from "../offloading/namespace-offloading/remote-name.js";
import { allow, deny, type AdmissionAnswer, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { evictionDelayProblem } from "./eviction-delay.js";
import { POD_WEBHOOK } from "./paths.js";
import { whenSynced } from "./when-synced.js";

const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/**
 * Refuses what could never work, before it makes the creation of pods fail (offloading specification, §4.1), and an end that would delete data which
 * the user has not given up.
 */
export function namespaceOffloadingValidator({ config, informers }: WebhookContext): AdmissionHandler {
  const volumes = informers.for(PersistentVolumeResource);
  const namespaces = informers.for(NamespaceResource);
  const configurations = webhookConfigurations({ informers });
  return whenSynced([volumes, namespaces, configurations], (request) => {
    const { object, oldObject, operation, namespace = "" } = request as AdmissionRequest<NamespaceOffloading>;
    if (operation === "DELETE" && oldObject) {
      const owner = namespaces.get(namespace);
      // Its claims go with a namespace, whoever asks.
      const goesAnyway = isDeleting(oldObject) || !owner || isDeleting(owner);
      return goesAnyway ? allow() : checkEnd(oldObject, volumes.list());
    }
    // What has been accepted once must be able to end, by whatever rule.
    if (!object || isDeleting(object)) return allow();
    const answer = checkOffloading(object, namespace, config.clusterId);
    if (!answer.allowed) return answer;
    if (oldObject) return checkOffloadingUpdate(oldObject.spec, object.spec);
    const warnings = preparationWarnings(namespace, configurations.list(), namespaces.get(namespace));
    return allow([
      ...warnings,
      ...nameWarnings(namespace, remoteNamespaceName(namespace, object.spec, config.clusterId)),
    ]);
  });
}

export function checkOffloading(object: NamespaceOffloading, namespace: string, clusterID: string): AdmissionAnswer {
  const { metadata, spec } = object;
  if (metadata.name !== Names.namespaceOffloading) {
    return deny(`a NamespaceOffloading must be named "${Names.namespaceOffloading}", not "${metadata.name ?? ""}"`);
  }
  if (spec.namespaceMappingStrategy === "SelectedName" && !spec.remoteNamespaceName) {
    return deny("spec.remoteNamespaceName is needed with namespaceMappingStrategy SelectedName");
  }
  const remote = remoteNamespaceName(namespace, spec, clusterID);
  if (!isDnsLabel(remote)) {
    return deny(
      `the remote namespace would be called "${remote}", which is not a valid namespace name ` +
        `(at most 63 lower-case letters, digits and dashes): use namespaceMappingStrategy SelectedName`,
    );
  }
  const problem = agreementProblem(object) ?? evictionDelayProblem(object) ?? apiServerSupportProblem(object);
  return problem ? deny(problem) : checkSelector(spec);
}

function apiServerSupportProblem({ metadata }: NamespaceOffloading): string | undefined {
  const key = Annotations.apiServerSupport;
  const word = metadata.annotations?.[key];
  if (word === undefined || API_SERVER_SUPPORT.some((known) => known === word)) return undefined;
  return `metadata.annotations[${key}]: "${word}" is none of ${API_SERVER_SUPPORT.join(", ")}`;
}

/** Names that lead from one namespace to another are made of the namespaces' names (offloading specification, §12.7). */
export function nameWarnings(namespace: string, remote: string): string[] {
  if (remote === namespace) return [];
  return [
    `the namespace is called ${remote} at providers: pods there find its Services as NAME, or as NAME.${remote}, and not as NAME.${namespace}; with namespaceMappingStrategy EnforceSameName both names lead there`,
  ];
}

/** What users would else learn by pods that wait for ever. */
export function preparationWarnings(
  name: string,
  configurations: readonly MutatingWebhookConfiguration[],
  namespace: Namespace | undefined,
): string[] {
  const labels = { ...namespace?.metadata?.labels, [Labels.schedulingEnabled]: "true" };
  if (!namespace || preparesPods(configurations, { ...namespace, metadata: { ...namespace.metadata, labels } }))
    return [];
  return [
    `pods of namespace ${name} are not prepared for virtual nodes, as the webhook ${POD_WEBHOOK} leaves it alone: there go only those of RuntimeClass ${Names.runtimeClass}, and those that tolerate the taint ${Names.virtualNodeTaint} by themselves`,
  ];
}

/** Whether the offloading may end: nothing that users have stored may go without their word (offloading specification, §12.11). */
export function checkEnd(offloading: NamespaceOffloading, volumes: readonly PersistentVolume[]): AdmissionAnswer {
  const namespace = offloading.metadata.namespace ?? "";
  if (mayDeleteRemoteData(offloading)) return allow();
  const losses = remoteDataOf(namespace, volumes).map(lossOf);
  return losses.length === 0 ? allow() : deny(`namespace ${namespace} stays offloaded: ${losses.join("; ")}`);
}

function checkSelector(spec: NamespaceOffloadingSpec): AdmissionAnswer {
  for (const [index, term] of (spec.clusterSelector?.nodeSelectorTerms ?? []).entries()) {
    for (const requirement of [...(term.matchExpressions ?? []), ...(term.matchFields ?? [])]) {
      const problem = requirementProblem(requirement);
      if (problem) return deny(`spec.clusterSelector.nodeSelectorTerms[${index}]: ${problem}`);
    }
  }
  return allow();
}

function requirementProblem({ key, operator, values = [] }: NodeSelectorRequirement): string | undefined {
  if (!key) return "a requirement needs a key";
  if (!OPERATORS.includes(operator)) return `operator "${operator}" is not one of ${OPERATORS.join(", ")}`;
  if ((operator === "In" || operator === "NotIn") && values.length === 0) return `${key} ${operator} needs values`;
  if ((operator === "Gt" || operator === "Lt") && !/^-?[0-9]+$/.test(values[0] ?? "")) {
    return `${key} ${operator} needs one whole number`;
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    return `${key} ${operator} takes no values`;
  }
  return undefined;
}

/** Where pods may run and under which remote name is fixed while they run; a stricter pod strategy is allowed with a warning. */
export function checkOffloadingUpdate(old: NamespaceOffloadingSpec, spec: NamespaceOffloadingSpec): AdmissionAnswer {
  if ((old.namespaceMappingStrategy ?? "DefaultName") !== (spec.namespaceMappingStrategy ?? "DefaultName")) {
    return deny("spec.namespaceMappingStrategy is immutable: delete the NamespaceOffloading and create it anew");
  }
  if ((old.remoteNamespaceName ?? "") !== (spec.remoteNamespaceName ?? "")) {
    return deny("spec.remoteNamespaceName is immutable: delete the NamespaceOffloading and create it anew");
  }
  const [before, after] = [old, spec].map(({ podOffloadingStrategy }) => podOffloadingStrategy ?? "LocalAndRemote");
  if (before === after || after === "LocalAndRemote") return allow();
  return allow([
    `podOffloadingStrategy changes from ${before} to ${after}: pods that run elsewhere stay there until they are recreated`,
  ]);
}
