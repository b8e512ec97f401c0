import { Names, VkOptionsTemplateResource, type VirtualNode, type VkOptionsTemplateSpec } from "../../../api/index.js";
import { virtualKubeletTemplate } from "../../../install/virtual-kubelet-template.js";
import type { Informer } from "../../../runtime/index.js";
import type { VkOptionsTemplate } from "../../../api/index.js";
import type { ControllerConfig } from "../../context.js";

/** The VirtualNode names an options template that is not there. */
export class MissingTemplateError extends Error {}

/**
 * The options of a virtual node: of the template it names, else of the installation's, else the agent's own.
 *
 * @throws MissingTemplateError
 */
export function optionsOf(
  { spec }: VirtualNode,
  templates: Informer<VkOptionsTemplate>,
  config: ControllerConfig,
): VkOptionsTemplateSpec {
  const reference = spec.vkOptionsTemplateRef;
  const namespace = reference?.namespace ?? config.namespace;
  const found = templates.find(namespace, reference?.name ?? Names.vkOptionsTemplate);
  if (found) return found.spec;
  if (reference?.name)
    throw new MissingTemplateError(
      `spec.vkOptionsTemplateRef: there is no ${VkOptionsTemplateResource.kind} ${namespace}/${reference.name}`,
    );
  return virtualKubeletTemplate(config).spec;
}
