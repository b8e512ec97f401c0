import { z } from "zod";

const properties = {
  kubeconfig: z.string().optional().meta({
    description:
      "Content of a kubeconfig file, as text or as an object, or the path of one. Default: the provider's `kubeconfig`, then the KUBECONFIG environment variable and kubectl's own rules.",
    secret: true,
    json: true,
  }),
  context: z.string().optional().meta({
    description:
      "The kubeconfig's context to use. Default: the provider's `context` where its kubeconfig is used, else the kubeconfig's current context.",
  }),
};

/** How to reach one cluster. */
export const clusterArgs = z
  .object(properties)
  .meta({ typeName: "Cluster", cluster: true, description: "How to reach a cluster." });

export type ClusterArgs = z.infer<typeof clusterArgs>;

/** A property that names a cluster; when left out, the provider's configuration and the ordinary loading rules say which. */
export function clusterField(
  description: string,
  otherwise = "as the provider's configuration says, else the KUBECONFIG environment variable and kubectl's own rules",
) {
  return clusterArgs
    .optional()
    .meta({ description: `${description} Default: ${otherwise}.`, typeName: "Cluster", cluster: true });
}
