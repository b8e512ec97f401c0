import { z } from "zod";
import {
  annotationMap,
  clusterField,
  clusterId,
  labelMap,
  labelValue,
  objectMetadata,
  objectName,
  qualifiedName,
  quantities,
} from "../../framework/index.js";
import { drift } from "../pair-properties.js";
import { sliceName } from "../resource-slice/schema.js";

const names = z.array(objectName);

const taint = z
  .object({
    key: qualifiedName.meta({ description: "The taint's key." }),
    value: labelValue.optional().meta({ description: "The taint's value." }),
    effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).meta({
      description: "What it does to pods that do not tolerate it.",
      typeName: "TaintEffect",
      enumDescriptions: {
        NoSchedule: "They are not scheduled there.",
        PreferNoSchedule: "They are scheduled there only where nothing else has room.",
        NoExecute: "They are not scheduled there, and those that run there are evicted.",
      },
    }),
  })
  .meta({ description: "A taint of the node.", typeName: "Taint" });

export const virtualNodeInputs = z.object({
  cluster: clusterField("The consumer: the cluster that gets the node."),
  name: sliceName.meta({ description: "Name of the VirtualNode and of its Node; unique in the cluster." }),
  providerClusterId: clusterId.meta({ description: "The cluster ID of the provider." }),
  resourceSliceName: sliceName.optional().meta({
    description: "The accepted ResourceSlice whose identity the node uses. Either this or kubeconfigSecretName.",
  }),
  kubeconfigSecretName: objectName.optional().meta({
    description:
      "A Secret in the tenant namespace with the kubeconfig that the node uses. Either this or resourceSliceName.",
  }),
  resources: quantities.default({ cpu: "2", memory: "4Gi", pods: "110" }).meta({
    description: "The node's capacity, by Kubernetes quantities. Default: cpu 2, memory 4Gi, pods 110.",
    equality: "quantity",
  }),
  labels: labelMap.optional().meta({ description: "Labels of the node, beside those that every virtual node has." }),
  annotations: annotationMap.optional().meta({ description: "Annotations of the node." }),
  taints: z.array(taint).optional().meta({ description: "Taints of the node, beside that of every virtual node." }),
  nodeSelector: labelMap
    .optional()
    .meta({ description: "Labels of the provider's nodes that the pods may run on. Default: any." }),
  storageClasses: names
    .optional()
    .meta({ description: "The provider's storage classes to offer; the first is the default." }),
  ingressClasses: names
    .optional()
    .meta({ description: "The provider's ingress classes to offer; the first is the default." }),
  loadBalancerClasses: z
    .array(qualifiedName)
    .optional()
    .meta({ description: "The provider's load balancer classes to offer; the first is the default." }),
  runtimeClassName: objectName
    .optional()
    .meta({ description: "The provider's RuntimeClass for the pods. Default: none." }),
  vkOptionsTemplateName: objectName.optional().meta({
    description:
      "The VkOptionsTemplate in the agent's namespace that the node's process is made by. Default: virtual-kubelet-default.",
  }),
  createNode: z
    .boolean()
    .default(true)
    .meta({ description: "Register a Node. Without, only namespaces and their objects are reflected. Default: true." }),
  disableNetworkCheck: z
    .boolean()
    .default(false)
    .meta({ description: "Count the node as ready whatever the network between the clusters. Default: false." }),
  ...objectMetadata,
});

export const virtualNodeOutputs = z.object({
  consumerClusterId: z.string().meta({ description: "The consumer's cluster ID." }),
  tenantNamespace: z.string().meta({ description: "The namespace of the VirtualNode." }),
  nodeName: z.string().optional().meta({ description: "The Node, if there is one." }),
  drift,
});

export type VirtualNodeInputs = z.output<typeof virtualNodeInputs>;
export type VirtualNodeOutputs = z.output<typeof virtualNodeOutputs>;
