import type { RuntimeClass } from "kubernetes-types/node/v1";
import { Labels, LabelValues, Names, VkOptionsTemplateResource, type VkOptionsTemplate } from "../api/index.js";

export interface VirtualKubeletTemplateInputs {
  /** The agent's namespace. */
  namespace: string;
  /** The agent's image. */
  image: string;
  imagePullPolicy?: string;
}

/** Annotations that providers' infrastructure writes for itself (offloading specification, §8.2). */
export const ANNOTATIONS_NOT_REFLECTED = [
  "cloud.google.com/neg",
  "cloud.google.com/neg-status",
  "kubernetes.digitalocean.com/load-balancer-id",
  "ingress.kubernetes.io/backends",
  "ingress.kubernetes.io/forwarding-rule",
  "ingress.kubernetes.io/target-proxy",
  "ingress.kubernetes.io/url-map",
  "metallb.universe.tf/address-pool",
  "metallb.universe.tf/ip-allocated-from-pool",
  "metallb.universe.tf/loadBalancerIPs",
  "loadbalancer.openstack.org/load-balancer-id",
];

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
