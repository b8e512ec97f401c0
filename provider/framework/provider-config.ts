import { z } from "zod";
import { chosenAnnotations, chosenLabels } from "./object-metadata.js";

/** The provider's configuration: `pulumi config set liqo:kubeconfig …` or the arguments of an explicit provider. */
export const providerConfig = z.object({
  kubeconfig: z.string().optional().meta({
    description:
      "Content, as text or as an object, or path of the kubeconfig for resources that name none. Default: the KUBECONFIG environment variable and kubectl's own rules.",
    secret: true,
    json: true,
  }),
  context: z.string().optional().meta({ description: "The context of that kubeconfig. Default: its current context." }),
  skipVersionCheck: z
    .boolean()
    .default(false)
    .meta({ description: "Peer agents of different minor versions, which is otherwise refused. Default: false." }),
  globalLabels: chosenLabels.default({}).meta({
    description: "Labels for every object that is created in any cluster. Default: none.",
  }),
  globalAnnotations: chosenAnnotations.default({}).meta({
    description: "Annotations for every object that is created in any cluster. Default: none.",
  }),
  deleteUnreachable: z
    .boolean()
    .default(false)
    .meta({
      description:
        "Clusters that cannot be reached are gone for good: deleting leaves them out, with a warning, and cleans what still answers; a refresh drops resources " +
        "none of whose clusters answers. Default: the environment variable PULUMI_LIQO_DELETE_UNREACHABLE, else false.",
    }),
  skipUpdateUnreachable: z
    .boolean()
    .default(false)
    .meta({
      description:
        "Resources of clusters that cannot be reached stay as they are, with a warning, when they would be refreshed or updated; the next run with the cluster " +
        "there makes up for it. Default: the environment variable PULUMI_LIQO_SKIP_UPDATE_UNREACHABLE, else false.",
    }),
});

export type ProviderConfig = z.output<typeof providerConfig>;
