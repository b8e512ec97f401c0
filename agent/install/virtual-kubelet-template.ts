import type { RuntimeClass } from "kubernetes-types/node/v1";
import {
  ANNOTATIONS_NOT_REFLECTED,
  Labels,
  LabelValues,
  Names,
  VkOptionsTemplateResource,
  type VkOptionsTemplate,
} from "../api/index.js";

export interface VirtualKubeletTemplateInputs {
  /** The agent's namespace. */
  namespace: string;
  /** The agent's image. */
  image: string;
  imagePullPolicy?: string;
}

/** The options of virtual nodes that name no others. */
export function virtualKubeletTemplate(inputs: VirtualKubeletTemplateInputs): VkOptionsTemplate {
  return VkOptionsTemplateResource.build({
    metadata: { name: Names.vkOptionsTemplate, namespace: inputs.namespace },
    spec: {
      createNode: true,
      disableNetworkCheck: false,
      containerImage: inputs.image,
      pullPolicy: inputs.imagePullPolicy,
      metricsEnabled: false,
      replicas: 1,
      annotationsNotReflected: ANNOTATIONS_NOT_REFLECTED,
      resources: { requests: { cpu: "10m", memory: "64Mi" } },
    },
  });
}

/** RuntimeClass liqo: puts a pod on virtual nodes without any webhook, whatever its namespace's strategy. */
export function liqoRuntimeClass(): RuntimeClass {
  return {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: Names.runtimeClass },
    handler: Names.runtimeClass,
    scheduling: {
      nodeSelector: { [Labels.type]: LabelValues.virtualNodeType },
      tolerations: [{ key: Names.virtualNodeTaint, operator: "Exists", effect: "NoExecute" }],
    },
  };
}
