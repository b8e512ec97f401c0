import { z } from "zod";
import { cidr, clusterField, clusterId, dnsLabel, port } from "../../framework/index.js";
import { agentInputs } from "../../resources/agent/schema.js";
import { authenticationInputs } from "../../resources/authentication/schema.js";
import { namespaceOffloadingInputs } from "../../resources/namespace-offloading/schema.js";
import { networkLinkInputs } from "../../resources/network-link/schema.js";
import { resourceSliceInputs } from "../../resources/resource-slice/schema.js";
import { virtualNodeInputs } from "../../resources/virtual-node/schema.js";

/** 32 bytes as base64. */
const wireguardKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, "must be the 32 bytes of a WireGuard key as base64");

const keys = z
  .object({
    publicKey: wireguardKey.meta({ description: "The public key, base64 of 32 bytes." }),
    privateKey: wireguardKey.optional().meta({
      description:
        "The private key, base64 of 32 bytes. With it, the key Secret is rendered and the gateway refers to it. Default: the agent makes a pair.",
      secret: true,
    }),
  })
  .meta({ description: "The WireGuard keys of a cluster's gateway.", typeName: "GatewayKeys" });

const name = (what: string, fallback: string) =>
  dnsLabel.optional().meta({ description: `Name of the ${what}. Default: ${fallback}.` });

const REMOTE = "the other cluster's ID";

const names = z
  .object({
    configuration: name("Configuration", REMOTE),
    keySecret: name("Secret with the gateway's keys", `gw- and ${REMOTE}`),
    publicKey: name("PublicKey", REMOTE),
    gateway: name("GatewayServer or GatewayClient", REMOTE),
    tenant: name("Tenant (on a provider)", REMOTE),
    identity: name("Secret with the identity (on a consumer)", `kubeconfig-controlplane- and ${REMOTE}`),
  })
  .meta({
    description: "Names of objects. Labels decide what an object is for, names are free.",
    typeName: "ManifestNames",
  });

/** The installation itself; its cluster is known by the side that it is given for. */
export const renderedAgent = agentInputs.omit({ cluster: true, clusterId: true, forceDelete: true });

const side = z
  .object({
    cluster: clusterField(
      "A cluster to read from what is left out here: its ID, ranges, tenant namespace, endpoint and public key. It is only read.",
      "none is asked",
    ),
    clusterId: clusterId.optional().meta({ description: "The cluster's ID. Default: as the cluster tells." }),
    agent: renderedAgent
      .optional()
      .meta({ description: "Render an installation of the agent, too. Default: none.", typeName: "AgentManifests" }),
    agentNamespace: dnsLabel.optional().meta({ description: "Where the agent is installed. Default: liqo." }),
    tenantNamespace: dnsLabel
      .optional()
      .meta({ description: "The namespace for the other cluster. Default: liqo-tenant- and the other cluster's ID." }),
    podCIDRs: z
      .array(cidr)
      .min(1)
      .optional()
      .meta({ description: "The ranges of the cluster's pods. Default: the agent's podCIDRs." }),
    externalCIDR: cidr.optional().meta({
      description:
        "The range that the cluster lends to things that are no pods. Default: the agent's, else 10.70.0.0/16.",
    }),
    keys: keys.optional().meta({
      description: "The WireGuard keys of the cluster's gateway. Default: the agent makes them.",
      typeName: "GatewayKeys",
    }),
    names: names.optional().meta({
      description:
        "Names of objects. Labels decide what an object is for, names are free. Default: as Liqo calls them.",
      typeName: "ManifestNames",
    }),
  })
  .meta({ description: "One cluster of those to render for.", typeName: "ManifestCluster" });

const LINK_ONLY_IN_PULUMI = {
  consumer: true,
  provider: true,
  forceUnreachable: true,
  keyRotationTrigger: true,
} as const;

const link = networkLinkInputs.omit(LINK_ONLY_IN_PULUMI).extend({
  endpoint: z
    .object({
      addresses: z.array(z.string()).min(1).meta({ description: "IP addresses or DNS names." }),
      port: port.optional().meta({ description: "UDP port. Default: the server's nodePort, else its port." }),
    })
    .optional()
    .meta({
      description:
        "Where the gateway server will be reached. Needed for the GatewayClient, unless `gatewayClient.address` or `.addresses` is given or the server's cluster tells. Default: as it tells.",
      typeName: "ExpectedEndpoint",
    }),
});

const base64 = (description: string) => z.base64("must be base64").meta({ description });

const handshake = z
  .object({
    nonce: base64("The provider's nonce, as its Secret holds it (base64). Default: not there yet.").optional(),
    publicKey: base64("The consumer's public key (PEM as base64). Default: not known yet.").optional(),
    csr: base64("The consumer's certificate request (PEM as base64). Default: not known yet.").optional(),
    signature: base64("The consumer's signature of the nonce (base64). Default: not there yet.").optional(),
    authParams: z
      .object({
        ca: base64(
          "The provider's CA (PEM as base64). Default: none, as for certificates that are publicly trusted.",
        ).optional(),
        signedCRT: base64("The certificate that the provider has issued (PEM as base64)."),
        apiServer: z.url("must be a URL").meta({ description: "URL of the provider's API server." }),
        proxyURL: z.string().optional().meta({ description: "A proxy on the way to it. Default: none." }),
      })
      .optional()
      .meta({
        description: "What the provider's Tenant answers, in `status.authParams`. Default: not there yet.",
        typeName: "AuthParams",
      }),
  })
  .meta({
    description:
      "What the handshake between the agents has brought so far; each step's manifest needs that of the step before.",
    typeName: "Handshake",
  });

const AUTHENTICATION_ONLY_IN_PULUMI = {
  consumer: true,
  provider: true,
  authzPolicy: true,
  forceUnreachable: true,
} as const;

const authentication = authenticationInputs.omit(AUTHENTICATION_ONLY_IN_PULUMI).extend({
  userName: z.string().min(1).optional().meta({
    description:
      "The user that the consumer's credentials name on the provider (for certificates their common name): access without a handshake, by credentials of your own. Default: access by the handshake.",
  }),
  kubeconfig: z.string().min(1).optional().meta({
    description: "Content of a kubeconfig with those credentials, for the consumer. Default: none.",
    secret: true,
  }),
  handshake: handshake.optional().meta({
    description:
      "What the handshake between the agents has brought so far; each step's manifest needs that of the step before. Default: nothing yet.",
    typeName: "Handshake",
  }),
});

const slice = resourceSliceInputs
  .omit({ consumer: true, provider: true, forceUnreachable: true })
  .meta({ description: "A ResourceSlice.", typeName: "ResourceSliceManifest" });
const node = virtualNodeInputs
  .omit({ cluster: true, providerClusterId: true })
  .meta({ description: "A further virtual node.", typeName: "VirtualNodeManifest" });
const offloading = namespaceOffloadingInputs
  .omit({ cluster: true })
  .meta({ description: "A namespace extended over virtual nodes.", typeName: "NamespaceOffloadingManifest" });

export const renderInputs = z.object({
  consumer: side.optional().meta({
    description: "The cluster that offloads pods. Default: nothing is rendered for it.",
    typeName: "ManifestCluster",
  }),
  provider: side.optional().meta({
    description: "The cluster that runs them. Default: nothing is rendered for it.",
    typeName: "ManifestCluster",
  }),
  networkLink: link.optional().meta({
    description: "The network between them, as of NetworkLink. Default: none.",
    typeName: "NetworkLinkManifests",
  }),
  authentication: authentication.optional().meta({
    description: "The consumer's access, as of Authentication. Default: none.",
    typeName: "AuthenticationManifests",
  }),
  resourceSlices: z.array(slice).default([]).meta({ description: "Slices to ask for. Default: none." }),
  virtualNodes: z.array(node).default([]).meta({ description: "Further virtual nodes. Default: none." }),
  namespaceOffloadings: z.array(offloading).default([]).meta({ description: "Namespaces to extend. Default: none." }),
});

const rendered = z
  .object({
    clusterId: z.string().meta({ description: "The cluster's ID." }),
    manifests: z
      .array(z.unknown())
      .meta({ description: "The objects, in an order in which they can be applied; Secrets with content apart." }),
    yaml: z.string().meta({ description: "The same as YAML documents." }),
    secretManifests: z.array(z.unknown()).meta({
      description: "Secrets that hold keys or credentials; to be sealed before they go anywhere.",
      secret: true,
    }),
    secretYaml: z.string().meta({ description: "The same as YAML documents.", secret: true }),
  })
  .meta({ description: "What to apply in one cluster.", typeName: "RenderedManifests" });

export const renderOutputs = z.object({
  consumer: rendered.optional().meta({ description: "For the consumer.", typeName: "RenderedManifests" }),
  provider: rendered.optional().meta({ description: "For the provider.", typeName: "RenderedManifests" }),
  notes: z.array(z.string()).meta({
    description: "What could not be rendered yet, why, and where to find what is missing. Empty when nothing is.",
  }),
});

export type RenderInputs = z.output<typeof renderInputs>;
export type RenderOutputs = z.output<typeof renderOutputs>;
export type SideInputs = z.output<typeof side>;
export type LinkInputs = z.output<typeof link>;
export type AuthenticationManifestInputs = z.output<typeof authentication>;
