import { z } from "zod";
import { clusterField, objectMetadata } from "../../framework/index.js";
import { drift, forceUnreachable, pairOutputs } from "../pair-properties.js";

/** How the consumer reaches the provider's API server; shared with Peering. */
export const accessProperties = {
  inBand: z.boolean().default(false).meta({
    description:
      "Reach the provider's API server through the tunnel, where the consumer cannot reach it directly. Needs a NetworkLink that is connected. Default: false.",
  }),
  proxyURL: z.string().optional().meta({
    description: "An HTTP proxy (CONNECT) through which the consumer reaches the provider's API server. Default: none.",
  }),
  tenantCondition: z
    .enum(["Active", "Cordoned", "Drained"])
    .optional()
    .meta({
      description: "What the provider lets the consumer do. Left out, it stays as it is; a new consumer is Active.",
      typeName: "TenantCondition",
      enumDescriptions: {
        Active: "Ask for resources and use them.",
        Cordoned: "Use what was granted; nothing new is accepted.",
        Drained: "Nothing: access is revoked and what was offloaded is removed.",
      },
    }),
};

export const authenticationInputs = z.object({
  consumer: clusterField("The cluster that offloads pods: it is given an identity."),
  provider: clusterField("The cluster that runs them: it gives the identity."),
  ...accessProperties,
  ...objectMetadata,
  forceUnreachable,
});

export const authenticationOutputs = z.object({
  ...pairOutputs,
  identityName: z.string().meta({ description: "The Identity in the consumer's tenant namespace." }),
  kubeconfigSecretName: z
    .string()
    .meta({ description: "The Secret beside it, with the kubeconfig that the consumer's agent uses." }),
  apiServer: z.string().meta({ description: "URL of the provider's API server, as the identity has it." }),
  usedProxyURL: z.string().optional().meta({ description: "The proxy that the identity goes through, if any." }),
  drift,
});

export type AuthenticationInputs = z.output<typeof authenticationInputs>;
export type AuthenticationOutputs = z.output<typeof authenticationOutputs>;
