import { z } from "zod";

export const health = z.enum(["Healthy", "Unhealthy", "Disabled", "Unknown"]).meta({
  typeName: "ModuleStatus",
  enumDescriptions: {
    Healthy: "In use, and nothing is wrong.",
    Unhealthy: "In use, and something is wrong.",
    Disabled: "Not in use.",
    Unknown: "The credentials may not see it.",
  },
});
const role = z.enum(["Consumer", "Provider", "ConsumerAndProvider", "Unknown"]).meta({
  typeName: "PeerRole",
  enumDescriptions: {
    Consumer: "The peer uses resources of the asked cluster.",
    Provider: "The asked cluster uses resources of the peer.",
    ConsumerAndProvider: "Both.",
    Unknown: "They are only connected.",
  },
});
export const alerts = z.array(z.string()).optional().meta({ description: "What is wrong." });
export const notVisible = z.array(z.string()).optional().meta({
  description: "What the credentials may not see, in words; absent where they see everything.",
});
export const amounts = z.record(z.string(), z.string()).meta({ description: "Amounts by resource." });

const podState = z
  .object({
    status: z
      .string()
      .meta({ description: "The pod's phase; `NoPods` or `ScaledToZero` of a Deployment or DaemonSet without pods." }),
    readyContainers: z.int().meta({ description: "Containers that are ready." }),
    totalContainers: z.int().meta({ description: "All containers." }),
    restarts: z.int().meta({ description: "Restarts of all containers." }),
  })
  .meta({ typeName: "PodState", description: "A pod of the agent that is not healthy." });

export const clusterInfo = z.object({
  health: z
    .object({
      healthy: z.boolean().optional().meta({
        description: "Whether all pods of the agent are ready; absent where the credentials may not see them.",
      }),
      unhealthyPods: z
        .record(z.string(), podState)
        .optional()
        .meta({ description: "Pods that are not, and what should have pods and has none, by name." }),
    })
    .meta({ typeName: "InstallationHealth", description: "The state of the agent's pods." }),
  local: z
    .object({
      clusterID: z.string().meta({ description: "The cluster's ID." }),
      version: z.string().meta({ description: "The agent's version." }),
      labels: z.record(z.string(), z.string()).meta({ description: "The cluster's labels." }),
      APIServerAddr: z.string().meta({ description: "Where peers reach its API server." }),
    })
    .meta({ typeName: "LocalCluster", description: "The cluster itself." }),
  network: z
    .object({
      podCIDRs: z.array(z.string()).meta({ description: "Ranges of pods." }),
      serviceCIDR: z.string().meta({ description: "Range of Services." }),
      externalCIDR: z.string().meta({ description: "Range of addresses lent to things that are no pods." }),
      internalCIDR: z.string().meta({ description: "Range of links between nodes and gateways." }),
    })
    .optional()
    .meta({ typeName: "ClusterRanges", description: "The cluster's ranges; absent when networking is off." }),
  peerings: z
    .object({
      peers: z
        .array(
          z
            .object({
              clusterID: z.string().meta({ description: "The peer's ID." }),
              role: role.meta({ description: "What the peer is to the asked cluster.", typeName: "PeerRole" }),
              networkingStatus: health.meta({ description: "State of the network.", typeName: "ModuleStatus" }),
              authenticationStatus: health.meta({ description: "State of authentication.", typeName: "ModuleStatus" }),
              offloadingStatus: health.meta({ description: "State of offloading.", typeName: "ModuleStatus" }),
            })
            .meta({ typeName: "PeerSummary", description: "One peer in short." }),
        )
        .meta({ description: "All peers." }),
    })
    .meta({ typeName: "Peerings", description: "The cluster's peerings." }),
  notVisible,
});

export type ClusterInfo = z.output<typeof clusterInfo>;

const ranges = z
  .object({
    pod: z.array(z.string()).meta({ description: "Ranges of pods." }),
    external: z.array(z.string()).meta({ description: "Ranges of lent addresses." }),
  })
  .meta({ typeName: "PeerRanges", description: "A peer's ranges." });

export const peerInfo = z
  .object({
    info: z
      .object({
        clusterID: z.string().meta({ description: "The peer's ID." }),
        role: role.meta({ description: "What the peer is to the asked cluster.", typeName: "PeerRole" }),
      })
      .meta({ typeName: "PeerIdentity", description: "Who the peer is." }),
    network: z
      .object({
        status: health.meta({ description: "State of the network.", typeName: "ModuleStatus" }),
        alerts,
        CIDRs: z
          .object({
            remote: ranges.optional().meta({ description: "As the peer itself calls them.", typeName: "PeerRanges" }),
            remapped: ranges
              .optional()
              .meta({ description: "As the asked cluster calls them, where that differs.", typeName: "PeerRanges" }),
          })
          .meta({ typeName: "PeerCidrs", description: "The peer's ranges." }),
        gateway: z
          .object({
            address: z.array(z.string()).meta({ description: "The tunnel's server addresses." }),
            port: z.int().optional().meta({ description: "The tunnel's server port." }),
            role: z.enum(["Server", "Client"]).meta({
              description: "The asked cluster's part.",
              typeName: "GatewayRole",
              enumDescriptions: { Server: "The peer's gateway calls this one.", Client: "This one calls the peer's." },
            }),
          })
          .optional()
          .meta({ typeName: "PeerGateway", description: "The gateway towards the peer." }),
      })
      .meta({ typeName: "PeerNetwork", description: "The network between the two." }),
    authentication: z
      .object({
        status: health.meta({ description: "State of authentication.", typeName: "ModuleStatus" }),
        alerts,
        APIServerAddr: z
          .string()
          .meta({ description: "Where the peer's API server is reached; empty where it is not called." }),
        resourceSlices: z
          .array(
            z
              .object({
                name: z.string().meta({ description: "The slice's name." }),
                action: z.enum(["Consuming", "Providing"]).meta({
                  description: "What the asked cluster does with it.",
                  typeName: "SliceAction",
                  enumDescriptions: { Consuming: "It uses the peer's resources.", Providing: "It lends its own." },
                }),
                accepted: z
                  .boolean()
                  .meta({ description: "Whether the provider has accepted both its identity and its resources." }),
                alerts,
                resources: amounts,
              })
              .meta({ typeName: "SliceSummary", description: "One slice." }),
          )
          .meta({ description: "Slices in both directions." }),
      })
      .meta({ typeName: "PeerAuthentication", description: "Identities and slices." }),
    offloading: z
      .object({
        status: health.meta({ description: "State of offloading.", typeName: "ModuleStatus" }),
        alerts,
        virtualNodes: z
          .array(
            z
              .object({
                name: z.string().meta({ description: "The virtual node's name." }),
                status: health.meta({ description: "State of the node.", typeName: "ModuleStatus" }),
                secret: z.string().meta({ description: "The Secret with its identity." }),
                resourceSlice: z.string().optional().meta({ description: "The slice it stands on." }),
                resources: amounts,
              })
              .meta({ typeName: "VirtualNodeSummary", description: "One virtual node." }),
          )
          .meta({ description: "Virtual nodes of the peer." }),
      })
      .meta({ typeName: "PeerOffloading", description: "Virtual nodes." }),
    notVisible,
  })
  .meta({ typeName: "PeerInfo", description: "One peer in full." });

export type PeerInfo = z.output<typeof peerInfo>;
