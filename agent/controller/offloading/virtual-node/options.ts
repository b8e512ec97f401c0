import { Names, VkOptionsTemplateResource, type VirtualNode, type VkOptionsTemplateSpec } from "../../../api/index.js";
import { isLabelKey } from "../../../api/kubernetes-names.js";
import { virtualKubeletTemplate } from "../../../install/virtual-kubelet-template.js";
import type { Informer } from "../../../runtime/index.js";
import type { VkOptionsTemplate } from "../../../api/index.js";
import type { ControllerConfig } from "../../context.js";

/** The VirtualNode names an options template that is not there, or one by which no process can be started. */
export class WrongOptionsError extends Error {}

/**
 * The options of a virtual node: of the template it names, else of the installation's, else the agent's own.
 *
 * @throws WrongOptionsError
 */
export function optionsOf(
  { spec }: VirtualNode,
  templates: Informer<VkOptionsTemplate>,
  config: ControllerConfig,
): VkOptionsTemplateSpec {
  const reference = spec.vkOptionsTemplateRef;
  const namespace = reference?.namespace ?? config.namespace;
  const found = templates.find(namespace, reference?.name ?? Names.vkOptionsTemplate);
  if (found) return checked(found);
  if (reference?.name)
    throw new WrongOptionsError(
      `spec.vkOptionsTemplateRef: there is no ${VkOptionsTemplateResource.kind} ${namespace}/${reference.name}`,
    );
  return virtualKubeletTemplate(config).spec;
}

/** What the API server does not check: a key that is none would make the selector another one. */
function checked({ metadata, spec }: VkOptionsTemplate): VkOptionsTemplateSpec {
  const selectors = [
    ...Object.entries(spec.reflectorsConfig ?? {}).map(
      ([kind, { selector }]) => [`reflectorsConfig.${kind}`, selector] as const,
    ),
    ...(spec.customResources ?? []).map(({ selector }, index) => [`customResources[${index}]`, selector] as const),
  ];
  for (const [path, selector] of selectors) {
    const wrong = Object.keys(selector?.matchLabels ?? {}).find((key) => !isLabelKey(key));
    if (wrong === undefined) continue;
    throw new WrongOptionsError(
      `${VkOptionsTemplateResource.kind} ${metadata.namespace}/${metadata.name}: spec.${path}.selector.matchLabels: ${JSON.stringify(wrong)} is not a label's key`,
    );
  }
  return spec;
}
