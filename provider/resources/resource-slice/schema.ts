import { z } from "zod";
import { clusterField, objectMetadata, quantities } from "../../framework/index.js";
import { drift, forceUnreachable, pairOutputs } from "../pair-properties.js";

const NAME_MAX = 50;

/** A slice's name is part of a label value and names the virtual node. */
export const sliceName = z
  .string()
  .max(NAME_MAX)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'must be lower-case letters, digits and "-", beginning and ending with a letter or digit',
  );

export const resourceSliceInputs = z.object({
  consumer: clusterField("The cluster that asks for resources."),
  provider: clusterField("The cluster that grants them."),
  name: sliceName.optional().meta({
    description: `Name of the ResourceSlice, and of the virtual node; at most ${NAME_MAX} characters, unique in the consumer. Default: the provider's cluster ID.`,
  }),
  class: z.string().default("default").meta({
    description:
      "Who decides on the provider: `default`, or a class that a controller of the provider's own is in charge of. Default: default.",
  }),
  resources: quantities.default({}).meta({
    description:
      "What is asked for, such as cpu, memory, pods, ephemeral-storage, by Kubernetes quantities. For what is left out the provider has defaults. Default: nothing in particular.",
    equality: "quantity",
  }),
  createVirtualNode: z
    .boolean()
    .default(true)
    .meta({ description: "Make a virtual node of what is granted. Default: true." }),
  cordoned: z.boolean().default(false).meta({
    description: "Let the provider accept no new pods for this slice; those there keep running. Default: false.",
  }),
  ...objectMetadata,
  forceUnreachable,
});

export const resourceSliceOutputs = z.object({
  ...pairOutputs,
  sliceName: z.string().meta({ description: "The ResourceSlice's name." }),
  acceptedResources: z
    .record(z.string(), z.string())
    .meta({ description: "What the provider has granted.", equality: "quantity" }),
  virtualNodeName: z.string().optional().meta({ description: "The virtual node, if there is one." }),
  drift,
});

export type ResourceSliceInputs = z.output<typeof resourceSliceInputs>;
export type ResourceSliceOutputs = z.output<typeof resourceSliceOutputs>;
