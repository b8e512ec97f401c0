import { z } from "zod";
import { clusterField, objectMetadata, quantities, quantity } from "../../framework/index.js";
import { accessProperties } from "../authentication/schema.js";
import { endpoint, linkProperties, remappedCIDRs } from "../network-link/schema.js";
import { forceUnreachable, pairOutputs } from "../pair-properties.js";
import { sliceName } from "../resource-slice/schema.js";

const amount = (resource: string) =>
  quantity
    .optional()
    .meta({ description: `How much ${resource} to ask for, as a Kubernetes quantity.`, equality: "quantity" });

export const peeringInputs = z.object({
  consumer: clusterField("The cluster that offloads pods."),
  provider: clusterField("The cluster that runs them."),
  bidirectional: z.boolean().default(false).meta({
    description: "Peer in the other direction, too: each cluster is then consumer and provider. Default: false.",
  }),
  networkingDisabled: z.boolean().default(false).meta({
    description: "Make no network between the clusters: pods reach each other only if they do already. Default: false.",
  }),
  ...linkProperties,
  inBand: accessProperties.inBand,
  proxyURL: accessProperties.proxyURL,
  createResourceSlice: z
    .boolean()
    .default(true)
    .meta({ description: "Ask for resources. Without, ResourceSlices can be made beside. Default: true." }),
  createVirtualNode: z
    .boolean()
    .default(true)
    .meta({ description: "Make a virtual node of the resources granted. Default: true." }),
  resourceSliceName: sliceName
    .optional()
    .meta({ description: "Name of the ResourceSlice and of the virtual node. Default: the provider's cluster ID." }),
  resourceSliceClass: z
    .string()
    .default("default")
    .meta({ description: "The class of the ResourceSlice. Default: default." }),
  cpu: amount("CPU"),
  memory: amount("memory"),
  pods: amount("room for pods"),
  resources: quantities.optional().meta({
    description: "Further resources to ask for, by name; cpu, memory and pods given apart win.",
    equality: "quantity",
  }),
  ...objectMetadata,
  forceUnreachable,
});

export const peeringOutputs = z.object({
  ...pairOutputs,
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
});

export type PeeringInputs = z.output<typeof peeringInputs>;
