import { z } from "zod";
import { messageOf } from "../../../agent/runtime/kube-error.js";
import { clusterField, objectMetadata } from "../../framework/index.js";
import { drift, forceUnreachable, pairOutputs } from "../pair-properties.js";
import { checkOwnKubeconfig } from "./own-identity-kubeconfig.js";

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

/** An identity that the program brings along, in place of one that the clusters agree upon; shared with Peering. */
export const authzPolicy = z
  .enum(["KeysExchange", "TolerateNoHandshake"])
  .optional()
  .meta({
    description:
      "Where the consumer's identity comes from. A change replaces it, once the ResourceSlices that use it are deleted. Default: KeysExchange.",
    typeName: "AuthzPolicy",
    enumDescriptions: {
      KeysExchange:
        "The clusters make it by a handshake: a nonce, its signature, a certificate that the provider signs.",
      TolerateNoHandshake: "From a kubeconfig that the provider's owner hands out.",
    },
  });
export const ownKubeconfig = z
  .string()
  .superRefine((value, context) => {
    try {
      checkOwnKubeconfig(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: messageOf(error) });
    }
  })
  .optional()
  .meta({
    description:
      "With authzPolicy TolerateNoHandshake: content of the kubeconfig, as text or as an object, by which the consumer's agent acts in its tenant namespace on the provider. It names no files, and " +
      "only such programs as are in the agent's image. One without a proxy goes through the one of proxyURL or inBand. Its credentials are renewed by changing it. Default: none, as the clusters make an identity.",
    secret: true,
    json: true,
  });
export const ownUserName = z
  .string()
  .min(1)
  .optional()
  .meta({
    description:
      "With authzPolicy TolerateNoHandshake: what the provider's API server calls the kubeconfig's user (for certificates their common name), who is bound to liqo-remote-controlplane in " +
      "the tenant namespace. Default: none, as somebody else binds it.",
  });

export const authenticationInputs = z.object({
  consumer: clusterField("The cluster that offloads pods: it is given an identity."),
  provider: clusterField("The cluster that runs them: it gives the identity."),
  ...accessProperties,
  authzPolicy,
  kubeconfig: ownKubeconfig,
  userName: ownUserName,
  ...objectMetadata,
  forceUnreachable,
});

export const authenticationOutputs = z.object({
  ...pairOutputs,
  identityName: z
    .string()
    .meta({ description: "The Identity in the consumer's tenant namespace; empty without a handshake." }),
  kubeconfigSecretName: z
    .string()
    .meta({ description: "The Secret beside it, with the kubeconfig that the consumer's agent uses." }),
  identity: z
    .string()
    .optional()
    .meta({
      description:
        "What that Secret holds, where this program's credentials may read it: the identity, for the provider's tenant namespace alone. The agents renew it; a refresh " +
        "takes up what there is.",
      secret: true,
    }),
  apiServer: z.string().meta({ description: "URL of the provider's API server, as the identity has it." }),
  usedProxyURL: z.string().optional().meta({ description: "The proxy that the identity goes through, if any." }),
  drift,
});

export type AuthenticationInputs = z.output<typeof authenticationInputs>;
export type AuthenticationOutputs = z.output<typeof authenticationOutputs>;
