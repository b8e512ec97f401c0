import { z } from "zod";
import {
  chosenAnnotations,
  chosenLabels,
  cidr,
  clusterField,
  clusterId,
  dnsLabel,
  labelMap,
  objectName,
  objectNameOrNone,
  qualifiedName,
  quantities,
} from "../../framework/index.js";
import { drift } from "../pair-properties.js";
import { defaultImage } from "./image.js";

export const agentInputs = z.object({
  cluster: clusterField("The cluster to install the agent in."),
  clusterId: clusterId.meta({
    description:
      "The cluster's ID among its peers: at most 51 lower-case letters, digits and `-`. It never changes; another ID replaces the installation.",
  }),
  namespace: dnsLabel.default("liqo").meta({ description: "The agent's own namespace. Default: `liqo`." }),
  podCIDRs: z.array(cidr).min(1).optional().meta({
    description:
      "The ranges of the cluster's pods. Default: read from the cluster (kubeadm's configuration, else the nodes' ranges).",
    equality: "set",
  }),
  serviceCIDR: cidr
    .optional()
    .meta({ description: "The range of the cluster's Services. Default: read from the cluster.", equality: "cidr" }),
  externalCIDR: cidr.optional().meta({
    description:
      "The range of addresses that this cluster lends to things that are no pods of it. Default: 10.70.0.0/16, or another of that size where it is taken.",
    equality: "cidr",
  }),
  internalCIDR: cidr.optional().meta({
    description:
      "The range of the links between nodes and gateways. Default: 10.80.0.0/16, or another of that size where it is taken.",
    equality: "cidr",
  }),
  reservedSubnets: z.array(cidr).default([]).meta({
    description:
      "Ranges in use around the cluster (nodes, VPCs), onto which no remote range is mapped. Addresses that the nodes have by then are kept free in any case; their subnet lets them become more. Default: none.",
    equality: "set",
  }),
  ipamPools: z
    .array(cidr)
    .min(1)
    .default(["10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12"])
    .meta({ description: "The pools that remapped ranges are taken from. Default: the private ranges of RFC 1918." }),
  apiServerAddress: z.string().optional().meta({
    description:
      "Where other clusters reach this cluster's API server: a URL, or host and port. Default: the control-plane node's address and port 6443; the kubeconfig's server where no such node shows (managed clusters).",
  }),
  apiServerCA: z
    .string()
    .optional()
    .meta({ description: "Base64 of the CA that other clusters check it with. Default: the cluster's own." }),
  trustedCA: z.boolean().default(false).meta({
    description: "The API server's certificate is publicly trusted, so that others need no CA. Default: false.",
  }),
  tlsCompatibilityMode: z
    .boolean()
    .default(false)
    .meta({
      description:
        "Make the cluster's own key an RSA key instead of Ed25519, for providers whose API servers or proxies do not know the latter. A key that is there already " +
        "stays until it is rotated (docs/operations.md). Default: false.",
    }),
  clusterLabels: labelMap.default({}).meta({
    description:
      "Labels of this cluster, such as its region and provider; virtual nodes of it carry them, but for those by which a consumer's cluster goes (docs/security.md). Default: none.",
  }),
  networkingEnabled: z
    .boolean()
    .default(true)
    .meta({ description: "Whether pods of peered clusters are connected. Default: true." }),
  apiServerProxy: z.boolean().default(true).meta({
    description:
      "Whether the cluster has the proxy by which consumers reach its API server through their tunnels, which `inBand` needs. It leads nowhere else. Default: true.",
  }),
  defaultNodeResources: quantities.default({ cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "20Gi" }).meta({
    description:
      "What a slice is granted where it names no amount. Default: 4 CPUs, 8Gi of memory, 110 pods, 20Gi of ephemeral storage.",
  }),
  defaultResourceSliceClassEnabled: z.boolean().default(true).meta({
    description:
      "Whether slices of class `default` are granted what they ask for. Without, they wait for a controller of yours, as those of other classes do. Default: true.",
  }),
  resourceEnforcement: z
    .boolean()
    .default(true)
    .meta({ description: "Whether consumers are held to what their slices were granted. Default: true." }),
  defaultLimitsEnforcement: z
    .enum(["None", "Soft", "Hard"])
    .default("None")
    .meta({
      description: "What offloaded pods must state. Default: None.",
      typeName: "LimitsEnforcement",
      enumDescriptions: {
        None: "Nothing.",
        Soft: "Requests of CPU and memory.",
        Hard: "Requests of CPU and memory, and limits equal to the requests.",
      },
    }),
  storageEnabled: z.boolean().default(true).meta({
    description:
      "Whether the cluster has the storage class `liqo`, whose claims may be held by any peered cluster, and offers its own classes to consumers. Default: true.",
  }),
  realStorageClass: objectNameOrNone.default("").meta({
    description:
      "The class behind claims of class `liqo` whose data is in this cluster, consumers' among them. Default: the cluster's default class.",
  }),
  ingressClasses: z
    .array(objectName)
    .default([])
    .meta({ description: "Ingress classes offered to consumers, the default one first. Default: none." }),
  loadBalancerClasses: z
    .array(qualifiedName)
    .default([])
    .meta({ description: "Load balancer classes offered to consumers, the default one first. Default: none." }),
  pingIntervalSeconds: z
    .int()
    .min(0)
    .max(3600)
    .default(15)
    .meta({ description: "Seconds between looks at a peer's API server; 0 switches them off. Default: 15." }),
  pingTimeoutSeconds: z
    .int()
    .min(1)
    .max(300)
    .default(5)
    .meta({ description: "Seconds to wait for its answer. Default: 5." }),
  image: z.string().min(1).default(defaultImage).meta({
    description:
      "The agent's image. Default: `localhost/pulumi-liqo/agent` with this package's version as its tag, which no registry has: it works in clusters whose nodes it was loaded into (kind, test clusters). Elsewhere push the image to a registry of your own, and name it here.",
  }),
  imagePullPolicy: z
    .enum(["Always", "IfNotPresent", "Never"])
    .default("IfNotPresent")
    .meta({ description: "When nodes pull it. Default: IfNotPresent.", typeName: "ImagePullPolicy" }),
  imagePullSecrets: z
    .array(dnsLabel)
    .default([])
    .meta({
      description:
        "Names of pull secrets in the agent's namespace, of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg. The agent keeps copies " +
        "of them in the tenant namespaces, where gateways and virtual nodes run. Default: none.",
    }),
  replicas: z
    .int()
    .min(1)
    .max(9)
    .default(1)
    .meta({ description: "Replicas of the controller, of which one leads. Default: 1." }),
  gatewayReplicas: z.int().min(1).max(9).default(1).meta({
    description:
      "Replicas of each gateway, of which one serves; another takes over within seconds when it ends. Default: 1.",
  }),
  labels: chosenLabels.default({}).meta({
    description: "Labels for every object of the installation, beside the provider's globalLabels. Default: none.",
    beneath: "globalLabels",
  }),
  annotations: chosenAnnotations.default({}).meta({
    description:
      "Annotations for every object of the installation, beside the provider's globalAnnotations. Default: none.",
    beneath: "globalAnnotations",
  }),
  forceDelete: z.boolean().default(false).meta({
    description:
      "Uninstall although peerings exist, and whatever holds their objects; what this cluster lent or used elsewhere is not cleaned up. Default: false.",
  }),
});

export const agentOutputs = z.object({
  clusterId: z.string().meta({ description: "The cluster's ID among its peers." }),
  version: z.string().meta({ description: "The agent's version." }),
  namespace: z.string().meta({ description: "The agent's namespace." }),
  podCIDRs: z.array(z.string()).meta({ description: "The ranges of the cluster's pods." }),
  serviceCIDR: z.string().meta({ description: "The range of the cluster's Services." }),
  externalCIDR: z
    .string()
    .meta({ description: "The range of addresses lent to things that are no pods of it, as allocated." }),
  internalCIDR: z.string().meta({ description: "The range of the links between nodes and gateways, as allocated." }),
  apiServerAddress: z.string().meta({ description: "Where other clusters reach this cluster's API server." }),
  drift,
});

export type AgentInputs = z.output<typeof agentInputs>;
export type AgentOutputs = z.output<typeof agentOutputs>;
