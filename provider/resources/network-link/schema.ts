import { z } from "zod";
import { WgGatewayClientTemplateResource, WgGatewayServerTemplateResource } from "../../../agent/api/index.js";
import {
  annotationMap,
  apiVersion,
  clusterField,
  dnsLabel,
  host,
  ipAddress,
  kind,
  labelMap,
  objectMetadata,
  objectName,
  port,
  qualifiedName,
} from "../../framework/index.js";
import { drift, forceUnreachable, pairOutputs } from "../pair-properties.js";

/** What the command line of Liqo assumes, too. */
export const DEFAULT_WIREGUARD_PORT = 51840;
export const DEFAULT_MTU = 1340;
/** The smallest IPv6 MTU, and jumbo frames. */
const MTU_MIN = 1280;
const MTU_MAX = 9000;

/** The kinds of templates that the agent brings. */
export const TEMPLATE_API_VERSION = WgGatewayServerTemplateResource.apiVersion;
export const TEMPLATE_KINDS = {
  server: WgGatewayServerTemplateResource.kind,
  client: WgGatewayClientTemplateResource.kind,
} as const;

const location = z.enum(["Provider", "Consumer"]);
const serviceType = z.enum(["LoadBalancer", "NodePort", "ClusterIP"]);

const template = (end: "server" | "client") => ({
  templateName: objectName
    .default(`wireguard-${end}`)
    .meta({ description: `The template of the gateway ${end}. Default: wireguard-${end}.` }),
  templateNamespace: dnsLabel
    .optional()
    .meta({ description: "The template's namespace. Default: the one the agent is installed in." }),
  templateKind: kind.optional().meta({
    description:
      "The template's kind: one of your own, whose CustomResourceDefinition has the label `networking.liqo.io/gatewaytemplate=true`. " +
      `Default: ${TEMPLATE_KINDS[end]}.`,
  }),
  templateApiVersion: apiVersion
    .optional()
    .meta({ description: `The API group and version of that kind. Default: ${TEMPLATE_API_VERSION}.` }),
});

const secretRef = z
  .object({ name: objectName.meta({ description: "The Secret's name." }) })
  .optional()
  .meta({
    description:
      "A Secret with WireGuard keys of your own, in the tenant namespace: `privateKey` and `publicKey`, 32 bytes each. They stay yours: keyRotationTrigger " +
      "makes no others, but takes up those that you have put there. Default: the agent makes keys.",
    typeName: "SecretReference",
  });

export const gatewayServer = z.object({
  type: serviceType.default("LoadBalancer").meta({
    description: "The type of the Service that the other cluster reaches the gateway by. Default: LoadBalancer.",
    typeName: "GatewayServiceType",
    enumDescriptions: {
      LoadBalancer: "An address from the cluster's load balancer.",
      NodePort: "A UDP port on the cluster's nodes.",
      ClusterIP: "Reachable only where the clusters share a network for Services.",
    },
  }),
  port: port
    .default(DEFAULT_WIREGUARD_PORT)
    .meta({ description: `The Service's UDP port. Default: ${DEFAULT_WIREGUARD_PORT}.` }),
  nodePort: port
    .optional()
    .meta({ description: "A fixed UDP port on the nodes, for type NodePort. Default: the cluster chooses." }),
  loadBalancerIP: ipAddress
    .optional()
    .meta({ description: "A fixed address, for type LoadBalancer. Default: the load balancer chooses." }),
  loadBalancerClass: qualifiedName.optional().meta({
    description:
      "Which load balancer serves the Service, for type LoadBalancer, where the server's cluster has the agent of this package; elsewhere a template of your " +
      "own names it. Another class makes the Service anew, with another address. Default: the cluster's default load balancer.",
  }),
  serviceLabels: labelMap
    .optional()
    .meta({ description: "Labels for the Service, beside those of the template. Default: none." }),
  serviceAnnotations: annotationMap.optional().meta({
    description: "Annotations for the Service, such as those that a cloud's load balancer is set up by. Default: none.",
  }),
  secretRef,
  ...template("server"),
});

export const gatewayClient = z.object({
  address: host.optional().meta({
    description:
      "Where the client finds the server, an IP address or a DNS name: for a NAT or proxy in between. Default: the server's own endpoint.",
  }),
  addresses: z.array(host).min(1).optional().meta({
    description:
      "The same where there are several: the client tries them one after the other. Either this or `address`. Default: the server's own endpoint.",
  }),
  port: port.optional().meta({ description: "The port at that address. Default: the server's own." }),
  secretRef,
  ...template("client"),
});

/** How the link is set up; shared with Peering. */
export const linkProperties = {
  gatewayServerLocation: location.default("Provider").meta({
    description:
      "Which cluster runs the gateway server; one UDP port of it must be reachable from the other. Default: Provider.",
    typeName: "GatewayServerLocation",
    enumDescriptions: { Provider: "The cluster that runs the pods.", Consumer: "The cluster that offloads." },
  }),
  gatewayServer: gatewayServer.optional().meta({
    description: "The server end of the tunnel. Default: a Service of type LoadBalancer.",
    typeName: "GatewayServer",
  }),
  gatewayClient: gatewayClient.optional().meta({
    description: "The client end of the tunnel. Default: it looks for the server where that is.",
    typeName: "GatewayClient",
  }),
  mtu: z
    .int()
    .min(MTU_MIN)
    .max(MTU_MAX)
    .default(DEFAULT_MTU)
    .meta({ description: `The tunnel's largest packet, in bytes, the same at both ends. Default: ${DEFAULT_MTU}.` }),
  keyRotationTrigger: z.string().optional().meta({
    description:
      "Any text, such as a date: whenever it changes, both gateways get new keys, in place; connections through the tunnel outlast that. Default: they keep theirs.",
  }),
};

export const networkLinkInputs = z.object({
  consumer: clusterField("The cluster that offloads pods."),
  provider: clusterField("The cluster that runs them."),
  ...linkProperties,
  disableSharingKeys: z.boolean().default(false).meta({
    description:
      "Leave the exchange of the gateways' public keys, and so the connection, to someone else. Default: false.",
  }),
  ...objectMetadata,
  forceUnreachable,
});

const ranges = z
  .object({
    pod: z.array(z.string()).meta({ description: "In place of the remote cluster's pod CIDRs." }),
    external: z.array(z.string()).meta({ description: "In place of the remote cluster's external CIDR." }),
  })
  .meta({ description: "The other cluster's ranges, as this one calls them.", typeName: "RemappedRanges" });

export const remappedCIDRs = z
  .object({
    consumer: ranges,
    provider: ranges,
  })
  .meta({
    description:
      "The ranges by which each cluster reaches the other; they differ from the real ones where those are taken.",
    typeName: "RemappedCIDRs",
  });

export const endpoint = z
  .object({
    addresses: z.array(z.string()).meta({ description: "IP addresses or DNS names." }),
    port: z.int().meta({ description: "UDP port." }),
    protocol: z.string().meta({ description: "Always UDP." }),
  })
  .meta({ description: "Where the gateway server is reached.", typeName: "GatewayEndpoint" });

const connections = z
  .object({
    consumer: z.string().meta({ description: "Seen by the consumer." }),
    provider: z.string().meta({ description: "Seen by the provider." }),
  })
  .meta({ description: "The state of the tunnel: Connected, Connecting or Error.", typeName: "ConnectionStatus" });

export const networkLinkOutputs = z.object({
  ...pairOutputs,
  remappedCIDRs,
  endpoint,
  connections,
  drift,
});

export type NetworkLinkInputs = z.output<typeof networkLinkInputs>;
export type NetworkLinkOutputs = z.output<typeof networkLinkOutputs>;
