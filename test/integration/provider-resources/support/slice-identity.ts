import { sliceKubeconfigSecretName, tenantNamespaceName } from "../../../../agent/api/index.js";
import { NamespaceResource, SecretResource, type KubeClient } from "../../../../agent/runtime/index.js";

/** Where a consumer's agent keeps the identity of an accepted slice of a provider. */
export function identitySecret(slice: string, provider = "provider"): { name: string; namespace: string } {
  return { name: sliceKubeconfigSecretName(slice), namespace: tenantNamespaceName(provider) };
}

/** What the agent would have made of an accepted slice. */
export async function identityOfSlice(client: KubeClient, slice: string, provider?: string): Promise<void> {
  const metadata = identitySecret(slice, provider);
  await client.apply(NamespaceResource, { metadata: { name: metadata.namespace } }, { fieldManager: "test" });
  await client.apply(SecretResource, { metadata, data: { kubeconfig: "eA==" } }, { fieldManager: "test" });
}
