import { z } from "zod";
import { clusterField, objectMetadata, quantities, quantity } from "../../framework/index.js";
import { accessProperties, authzPolicy, ownKubeconfig, ownUserName } from "../authentication/schema.js";
import { endpoint, linkProperties, remappedCIDRs } from "../network-link/schema.js";
import { forceUnreachable, pairOutputs } from "../pair-properties.js";
import { sliceName } from "../resource-slice/schema.js";

const amount = (resource: string, otherwise: string) =>
  quantity.optional().meta({
    description: `How much ${resource} to ask for, as a Kubernetes quantity. Default: ${otherwise}.`,
    equality: "quantity",
  });

const createVirtualNode = z
  .boolean()
  .default(true)
  .meta({ description: "Make a virtual node of the resources granted. Default: true." });
const resourceSliceClass = z
  .string()
  .default("default")
  .meta({ description: "The class of the ResourceSlice. Default: default." });
const amounts = (otherwise: string) => ({
  cpu: amount("CPU", otherwise),
  memory: amount("memory", otherwise),
  pods: amount("room for pods", otherwise),
  resources: quantities.optional().meta({
    description: "Further resources to ask for, by name; cpu, memory and pods given apart win. Default: none.",
    equality: "quantity",
  }),
});
/** Its Agent's `defaultNodeResources`. */
const GRANTED = "what the cluster that is asked grants by itself";

/** An identity that the program brings along. */
const ownIdentity = { authzPolicy, identityKubeconfig: ownKubeconfig, identityUserName: ownUserName };

const additionalResourceSlice = z
  .object({
    name: sliceName.meta({ description: "Name of the ResourceSlice and of its virtual node; unique in the consumer." }),
    resourceSliceClass,
    ...amounts(GRANTED),
    createVirtualNode,
  })
  .meta({ description: "A further request for resources.", typeName: "AdditionalResourceSlice" });

const reverseDirection = z.object({
  createResourceSlice: z
    .boolean()
    .optional()
    .meta({ description: "Ask for resources in that direction. Default: as in the other." }),
  createVirtualNode: z
    .boolean()
    .optional()
    .meta({ description: "Make a virtual node of them. Default: as in the other direction." }),
  resourceSliceName: sliceName
    .optional()
    .meta({ description: "Name of the ResourceSlice and of the virtual node. Default: the consumer's cluster ID." }),
  resourceSliceClass: z
    .string()
    .optional()
    .meta({ description: "The class of the ResourceSlice. Default: as in the other direction." }),
  ...amounts("as in the other direction"),
  tenantCondition: accessProperties.tenantCondition,
  ...ownIdentity,
});

export const peeringInputs = z.object({
  consumer: clusterField("The cluster that offloads pods."),
  provider: clusterField("The cluster that runs them."),
  bidirectional: z.boolean().default(false).meta({
    description: "Peer in the other direction, too: each cluster is then consumer and provider. Default: false.",
  }),
  networkingDisabled: z.boolean().default(false).meta({
    description: "Make no network between the clusters: pods reach each other only if they do already. Default: false.",
  }),
  authenticationDisabled: z.boolean().default(false).meta({
    description:
      "Give the consumer no identity on the provider, and ask for no resources: pods reach each other, and nothing more. Default: false.",
  }),
  ...linkProperties,
  inBand: accessProperties.inBand,
  proxyURL: accessProperties.proxyURL,
  tenantCondition: accessProperties.tenantCondition,
  ...ownIdentity,
  createResourceSlice: z
    .boolean()
    .default(true)
    .meta({ description: "Ask for resources. Without, ResourceSlices can be made beside. Default: true." }),
  createVirtualNode,
  resourceSliceName: sliceName
    .optional()
    .meta({ description: "Name of the ResourceSlice and of the virtual node. Default: the provider's cluster ID." }),
  resourceSliceClass,
  ...amounts(GRANTED),
  additionalResourceSlices: z.array(additionalResourceSlice).optional().meta({
    description:
      "Further ResourceSlices, each with a virtual node of its own: for nodes of different kinds or classes. Default: none.",
  }),
  reverse: reverseDirection.optional().meta({
    description:
      "What the provider asks of the consumer, if bidirectional. Amounts given here take the place of all amounts of the other direction. Default: the same.",
    typeName: "ReverseDirection",
  }),
  ...objectMetadata,
  forceUnreachable,
});

const grantedSlice = z
  .object({
    name: z.string().meta({ description: "The ResourceSlice's name." }),
    virtualNodeName: z.string().optional().meta({ description: "Its virtual node on the consumer." }),
    acceptedResources: z.record(z.string(), z.string()).meta({ description: "What the provider has granted." }),
  })
  .meta({ description: "A further ResourceSlice.", typeName: "GrantedResourceSlice" });

/** A secret because it is one of its Authentication's: components cannot say so in every language. */
const identity = (of: string) =>
  z
    .string()
    .optional()
    .meta({
      description: `${of}, as a kubeconfig, where this program's credentials may read it: a secret, see Authentication.`,
    });

export const peeringOutputs = z.object({
  ...pairOutputs,
  identity: identity("The consumer's identity on the provider"),
  virtualNodeName: z.string().optional().meta({ description: "The virtual node on the consumer." }),
  acceptedResources: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "What the provider has granted." }),
  remappedCIDRs: remappedCIDRs.optional().meta({
    description:
      "The ranges by which each cluster reaches the other; they differ from the real ones where those are taken.",
    typeName: "RemappedCIDRs",
  }),
  endpoint: endpoint
    .optional()
    .meta({ description: "Where the gateway server is reached.", typeName: "GatewayEndpoint" }),
  reverseVirtualNodeName: z
    .string()
    .optional()
    .meta({ description: "The virtual node on the provider, if bidirectional." }),
  reverseAcceptedResources: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "What the consumer has granted the provider, if bidirectional." }),
  reverseIdentity: identity("The provider's identity on the consumer, if bidirectional"),
  additionalSlices: z
    .array(grantedSlice)
    .optional()
    .meta({ description: "What has come of additionalResourceSlices, in their order." }),
});

export type PeeringInputs = z.output<typeof peeringInputs>;
