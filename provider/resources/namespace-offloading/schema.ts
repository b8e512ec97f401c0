import { z } from "zod";
import { API_SERVER_SUPPORT, isEvictionDelay } from "../../../agent/api/annotations.js";
import { clusterField, dnsLabel, objectMetadata, textThat } from "../../framework/index.js";
import { drift } from "../pair-properties.js";

const requirement = z
  .object({
    key: z.string().meta({ description: "The label's key, or the field's name." }),
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]).meta({
      description: "How values are compared.",
      typeName: "NodeSelectorOperator",
      enumDescriptions: {
        In: "The label is one of the values.",
        NotIn: "The label is none of the values, or is not there.",
        Exists: "The label is there; values must be left out.",
        DoesNotExist: "The label is not there; values must be left out.",
        Gt: "The label is a whole number greater than the one value.",
        Lt: "The label is a whole number less than the one value.",
      },
    }),
    values: z
      .array(z.string())
      .optional()
      .meta({ description: "What it is compared with. Default: nothing, for Exists and DoesNotExist." }),
  })
  .meta({ description: "One requirement.", typeName: "NodeSelectorRequirement" });

/** A core NodeSelectorTerm. */
export const nodeSelectorTerm = z
  .object({
    matchExpressions: z
      .array(requirement)
      .optional()
      .meta({ description: "About the node's labels; all must hold. Default: none." }),
    matchFields: z
      .array(requirement)
      .optional()
      .meta({ description: "About the node's fields; all must hold. Default: none." }),
  })
  .meta({ description: "A term; one of them must hold.", typeName: "NodeSelectorTerm" });

const clusterSelector = z.object({
  nodeSelectorTerms: z.array(nodeSelectorTerm).default([]).meta({
    description:
      "Terms over the labels of virtual nodes, of which one must hold; without any, all clusters. Default: none.",
  }),
});

/** Numbers are taken as text. */
const evictionDelay = textThat(isEvictionDelay, 'neither whole seconds, from "0" to "999999999", nor "never"');

export const namespaceOffloadingInputs = z.object({
  cluster: clusterField("The consumer: the cluster that has the namespace."),
  namespace: dnsLabel.meta({ description: "The namespace to extend." }),
  createNamespace: z.boolean().default(false).meta({
    description:
      "Create the namespace if it is not there. It is deleted with this resource then, unless something of yours is left in it. Default: false.",
  }),
  namespaceMappingStrategy: z
    .enum(["DefaultName", "EnforceSameName", "SelectedName"])
    .default("DefaultName")
    .meta({
      description: "How the namespace is called on the providers. Default: DefaultName.",
      typeName: "NamespaceMappingStrategy",
      enumDescriptions: {
        DefaultName: "The namespace's name followed by the consumer's cluster ID.",
        EnforceSameName: "The same name. A provider that has a namespace of this name is left out.",
        SelectedName: "The name in remoteNamespaceName.",
      },
    }),
  remoteNamespaceName: dnsLabel
    .optional()
    .meta({ description: "The name on the providers, which SelectedName needs. Default: none." }),
  podOffloadingStrategy: z
    .enum(["LocalAndRemote", "Local", "Remote"])
    .default("LocalAndRemote")
    .meta({
      description: "Where the namespace's new pods may run. Default: LocalAndRemote.",
      typeName: "PodOffloadingStrategy",
      enumDescriptions: {
        LocalAndRemote: "On ordinary and on virtual nodes.",
        Local: "On ordinary nodes only; Services and the like are extended all the same.",
        Remote: "On virtual nodes only.",
      },
    }),
  clusterSelector: clusterSelector.optional().meta({
    description: "Which providers the namespace is extended to, by the labels of their virtual nodes. Default: all.",
    typeName: "ClusterSelector",
  }),
  evictionAfterDisconnect: evictionDelay.optional().meta({
    description:
      'Seconds, as "30", after which the namespace\'s new pods are made anew elsewhere when their provider is out of reach, or "never". Tolerations of a pod\'s own come first. Default: as of any node, 300.',
  }),
  evictionAfterUnschedulable: evictionDelay.optional().meta({
    description:
      'Seconds, as "30", after which the namespace\'s pods are evicted that their provider has no room for or refuses, so that their controllers make others, or "never". Default: never.',
  }),
  deleteRemoteVolumes: z
    .boolean()
    .optional()
    .meta({
      description:
        "Agree that data of the namespace's claims at providers is deleted with the namespaces there. Without, what would delete any is refused. " +
        "It must be in the cluster before the resource is deleted or replaced: set it and run `pulumi up` first. Default: false.",
    }),
  apiServerSupport: z
    .enum(API_SERVER_SUPPORT)
    .optional()
    .meta({
      description:
        "Which API server the namespace's new pods ask with their service accounts, where a pod does not say it itself. Default: the consumer's, with its tokens.",
      typeName: "ApiServerSupport",
      enumDescriptions: {
        remote: "The provider's, by a service account there.",
        disabled: "None: no tokens are lent.",
      },
    }),
  ...objectMetadata,
});

export const namespaceOffloadingOutputs = z.object({
  consumerClusterId: z.string().meta({ description: "The consumer's cluster ID." }),
  remoteNamespace: z.string().meta({ description: "The namespace's name on the providers." }),
  providers: z
    .array(z.string())
    .meta({ description: "Cluster IDs of the providers that have the namespace.", equality: "set" }),
  offloadingPhase: z.string().meta({ description: "Ready, or NoClusterSelected when no virtual node fits." }),
  drift,
});

export type NamespaceOffloadingInputs = z.output<typeof namespaceOffloadingInputs>;
export type NamespaceOffloadingOutputs = z.output<typeof namespaceOffloadingOutputs>;
