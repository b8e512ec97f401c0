import { z } from "zod";

/** The provider's configuration: `pulumi config set liqo:kubeconfig …` or the arguments of an explicit provider. */
export const providerConfig = z.object({
  kubeconfig: z.string().optional().meta({
    description:
      "Content or path of the kubeconfig for resources that name none. Default: the KUBECONFIG environment variable and kubectl's own rules.",
    secret: true,
  }),
  context: z.string().optional().meta({ description: "The context of that kubeconfig. Default: its current context." }),
  skipVersionCheck: z
    .boolean()
    .default(false)
    .meta({ description: "Peer agents of different minor versions, which is otherwise refused. Default: false." }),
});

export type ProviderConfig = z.output<typeof providerConfig>;
