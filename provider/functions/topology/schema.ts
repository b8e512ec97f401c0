import { z } from "zod";
import { clusterArgs } from "../../framework/index.js";
import { alerts, amounts, health, notVisible } from "../info-schema.js";

const status = health.meta({ description: "Its state.", typeName: "ModuleStatus" });

const topologyCluster = z
  .object({
    clusterID: z.string().meta({ description: "The cluster's ID; the kubeconfig's context where it did not answer." }),
    asked: z.boolean().meta({ description: "Whether it was asked; the others are known from their peers only." }),
    error: z.string().optional().meta({ description: "Why it could not be asked." }),
    version: z.string().optional().meta({ description: "The agent's version." }),
    healthy: z.boolean().optional().meta({ description: "Whether all pods of the agent are ready." }),
    APIServerAddr: z.string().optional().meta({ description: "Where peers reach its API server." }),
    labels: z.record(z.string(), z.string()).optional().meta({ description: "The cluster's labels." }),
    podCIDRs: z.array(z.string()).optional().meta({ description: "Ranges of its pods." }),
    notVisible,
  })
  .meta({ description: "A cluster.", typeName: "TopologyCluster" });

const topologyLink = z
  .object({
    clusters: z.array(z.string()).meta({ description: "IDs of the two clusters, in the order of the alphabet." }),
    status,
    server: z.string().optional().meta({ description: "The cluster that has the gateway server." }),
    roundTripMilliseconds: z
      .number()
      .optional()
      .meta({ description: "Round-trip time between the gateways, in milliseconds; absent while not connected." }),
    alerts,
  })
  .meta({ description: "A network between two clusters.", typeName: "TopologyLink" });

const topologyNode = z
  .object({
    name: z.string().meta({ description: "The virtual node, or where only the provider was asked the slice." }),
    status,
    granted: amounts.meta({ description: "What the provider has granted, by resource." }),
    used: amounts.meta({ description: "What pods there ask for, by resource, as the scheduler counts." }),
  })
  .meta({ description: "Granted resources, as a node.", typeName: "TopologyNode" });

const topologyPeering = z
  .object({
    consumer: z.string().meta({ description: "ID of the cluster that offloads pods." }),
    provider: z.string().meta({ description: "ID of the cluster that runs them." }),
    authenticationStatus: health.meta({ description: "State of authentication.", typeName: "ModuleStatus" }),
    offloadingStatus: health.meta({ description: "State of offloading.", typeName: "ModuleStatus" }),
    virtualNodes: z.array(topologyNode).meta({ description: "What the consumer has of the provider." }),
    alerts,
  })
  .meta({ description: "One direction of a peering.", typeName: "TopologyPeering" });

export const topologyInputs = z.object({
  clusters: z.array(clusterArgs).min(1).meta({ description: "The clusters to ask." }),
});

export const topologyOutputs = z.object({
  clusters: z.array(topologyCluster).meta({ description: "All clusters, asked or known from their peers." }),
  links: z.array(topologyLink).meta({ description: "Networks between them." }),
  peerings: z.array(topologyPeering).meta({ description: "Who uses whose resources." }),
});

export type Topology = z.output<typeof topologyOutputs>;
export type TopologyCluster = z.output<typeof topologyCluster>;
export type TopologyLink = z.output<typeof topologyLink>;
export type TopologyNode = z.output<typeof topologyNode>;
export type TopologyPeering = z.output<typeof topologyPeering>;
