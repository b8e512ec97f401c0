import { z } from "zod";
import {
  annotationMap,
  clusterField,
  clusterId,
  dnsLabel,
  labelMap,
  labelValue,
  objectMetadata,
  objectName,
  qualifiedName,
  quantities,
} from "../../framework/index.js";
import { nodeSelectorTerm } from "../namespace-offloading/schema.js";
import { drift } from "../pair-properties.js";
import { sliceName } from "../resource-slice/schema.js";

const names = z.array(objectName);

const taintEffect = z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).meta({
  description: "What it does to pods that do not tolerate it.",
  typeName: "TaintEffect",
  enumDescriptions: {
    NoSchedule: "They are not scheduled there.",
    PreferNoSchedule: "They are scheduled there only where nothing else has room.",
    NoExecute: "They are not scheduled there, and those that run there are evicted.",
  },
});

const taint = z
  .object({
    key: qualifiedName.meta({ description: "The taint's key." }),
    value: labelValue.optional().meta({ description: "The taint's value. Default: none." }),
    effect: taintEffect,
  })
  .meta({ description: "A taint of the node.", typeName: "Taint" });

const toleration = z
  .object({
    key: qualifiedName.optional().meta({ description: "The taint's key. Default: any, with operator Exists." }),
    operator: z
      .enum(["Equal", "Exists"])
      .optional()
      .meta({
        description: "How the taint's value is looked at. Default: Equal.",
        typeName: "TolerationOperator",
        enumDescriptions: { Equal: "It is the same.", Exists: "Any will do; value must be left out." },
      }),
    value: labelValue.optional().meta({ description: "The taint's value, for Equal. Default: none." }),
    effect: taintEffect.optional().meta({ description: "The taint's effect. Default: any." }),
    tolerationSeconds: z
      .int()
      .min(0)
      .optional()
      .meta({ description: "For how many seconds, of a NoExecute taint. Default: for good." }),
  })
  .meta({ description: "A toleration of the pods at the provider.", typeName: "Toleration" });

const nodeAffinity = z.object({
  requiredDuringSchedulingIgnoredDuringExecution: z
    .object({
      nodeSelectorTerms: z
        .array(nodeSelectorTerm)
        .min(1)
        .meta({ description: "Terms over the labels of the provider's nodes, of which one must hold." }),
    })
    .optional()
    .meta({ description: "Which of the provider's nodes will do. Default: any.", typeName: "RequiredNodes" }),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(
      z
        .object({
          weight: z.int().min(1).max(100).meta({ description: "How much it counts, from 1 to 100." }),
          preference: nodeSelectorTerm,
        })
        .meta({ description: "A preference among the provider's nodes.", typeName: "PreferredNodes" }),
    )
    .optional()
    .meta({ description: "Which of the provider's nodes are better than others. Default: none." }),
});

const image = z
  .object({
    names: z.array(z.string().min(1)).min(1).meta({ description: "The names by which the image is known." }),
    sizeBytes: z.int().min(0).optional().meta({ description: "The image's size, in bytes. Default: not told." }),
  })
  .meta({ description: "An image that the provider's nodes have.", typeName: "ContainerImage" });

/** The parts of a Deployment that may be given. */
const DEPLOYMENT = ["metadata", "spec"];

const deployment = z.unknown().superRefine((value, context) => {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject && Object.keys(value).every((key) => DEPLOYMENT.includes(key))) return;
  context.addIssue({
    code: "custom",
    message: 'must be an object with "metadata" and "spec" as a Deployment has them',
  });
});

export const virtualNodeInputs = z.object({
  cluster: clusterField("The consumer: the cluster that gets the node."),
  name: sliceName.meta({ description: "Name of the VirtualNode and of its Node; unique in the cluster." }),
  providerClusterId: clusterId.meta({ description: "The cluster ID of the provider." }),
  resourceSliceName: sliceName.optional().meta({
    description:
      "The accepted ResourceSlice whose identity the node uses. Either this or kubeconfigSecretName must be given. Default: none.",
  }),
  kubeconfigSecretName: objectName.optional().meta({
    description:
      "A Secret in the tenant namespace with the kubeconfig that the node uses. Either this or resourceSliceName must be given. Default: none.",
  }),
  resources: quantities.default({ cpu: "2", memory: "4Gi", pods: "110" }).meta({
    description: "The node's capacity, by Kubernetes quantities. Default: cpu 2, memory 4Gi, pods 110.",
    equality: "quantity",
  }),
  labels: labelMap
    .optional()
    .meta({ description: "Labels of the node, beside those that every virtual node has. Default: none." }),
  annotations: annotationMap.optional().meta({ description: "Annotations of the node. Default: none." }),
  taints: z
    .array(taint)
    .optional()
    .meta({ description: "Taints of the node, beside that of every virtual node. Default: none." }),
  nodeSelector: labelMap
    .optional()
    .meta({ description: "Labels of the provider's nodes that the pods may run on. Default: any." }),
  nodeAffinity: nodeAffinity
    .optional()
    .meta({ description: "Affinity of the pods to nodes of the provider. Default: none.", typeName: "NodeAffinity" }),
  tolerations: z
    .array(toleration)
    .optional()
    .meta({ description: "Tolerations that the pods get at the provider, beside their own. Default: none." }),
  labelsNotReflected: z.array(qualifiedName).optional().meta({
    description: "Keys of labels that stay in the consumer, beside those of the VkOptionsTemplate. Default: none.",
  }),
  annotationsNotReflected: z.array(qualifiedName).optional().meta({
    description: "Keys of annotations that stay in the consumer, beside those of the VkOptionsTemplate. Default: none.",
  }),
  storageClasses: names
    .optional()
    .meta({ description: "The provider's storage classes to offer, the default one first. Default: none." }),
  ingressClasses: names
    .optional()
    .meta({ description: "The provider's ingress classes to offer, the default one first. Default: none." }),
  loadBalancerClasses: z
    .array(qualifiedName)
    .optional()
    .meta({ description: "The provider's load balancer classes to offer, the default one first. Default: none." }),
  runtimeClassName: objectName
    .optional()
    .meta({ description: "The provider's RuntimeClass for the pods. Default: none." }),
  vkOptionsTemplateName: objectName.optional().meta({
    description:
      "The VkOptionsTemplate in the agent's namespace that the node's process is made by. Default: virtual-kubelet-default.",
  }),
  vkOptionsTemplateNamespace: dnsLabel
    .optional()
    .meta({ description: "The VkOptionsTemplate's namespace. Default: the one the agent is installed in." }),
  template: deployment.optional().meta({
    description:
      "What the Deployment of the node's process has beside its own: `metadata` and `spec` as of a Deployment, of which labels, annotations and the pod's template count. " +
      "In the container `virtual-kubelet`, resources, environment, mounts and arguments are added to. Default: nothing beside its own.",
  }),
  images: z.array(image).optional().meta({
    description:
      "Images that the node's status lists, for schedulers that prefer nodes which have a pod's image. Default: none.",
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
