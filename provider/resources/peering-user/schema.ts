import { z } from "zod";
import { clusterField, clusterId, httpsUrl, objectMetadata } from "../../framework/index.js";
import { drift } from "../pair-properties.js";

export const peeringUserInputs = z.object({
  cluster: clusterField("The provider: the cluster that the user may peer with."),
  consumerClusterId: clusterId.meta({ description: "The cluster ID of the consumer that the user peers." }),
  apiServer: httpsUrl.optional().meta({
    description: "URL of the API server for the user's kubeconfig. Default: the one in the kubeconfig used here.",
  }),
  tlsCompatibilityMode: z.boolean().default(false).meta({
    description:
      "Use an RSA key instead of Ed25519, for API servers or proxies that do not know the latter. Default: false.",
  }),
  expirationSeconds: z
    .number()
    .int()
    .min(600)
    .optional()
    .meta({
      description:
        "How long the credential is valid, in seconds, at least 600. Once two thirds have passed, the next `pulumi up` replaces it, and the earlier one ends. " +
        "Default: as long as the cluster signs, usually one year.",
    }),
  ...objectMetadata,
});

export const peeringUserOutputs = z.object({
  providerClusterId: z.string().meta({ description: "The provider's cluster ID." }),
  userName: z.string().meta({ description: "The user's name, as the API server sees it." }),
  tenantNamespace: z.string().meta({ description: "The namespace that the user may work in." }),
  kubeconfig: z.string().meta({
    description:
      "A kubeconfig with the rights that peering needs and no more: the `provider` of the consumer's own program.",
    secret: true,
  }),
  expirationTimestamp: z.string().meta({ description: "When the credential expires (RFC 3339)." }),
  drift,
});

export type PeeringUserInputs = z.output<typeof peeringUserInputs>;
export type PeeringUserOutputs = z.output<typeof peeringUserOutputs>;
