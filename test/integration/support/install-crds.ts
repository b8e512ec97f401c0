import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import { CustomResourceDefinitionResource, type KubeClient } from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";

/** The API server accepts them one after another, each in a moment where it has a core for itself; several of these servers may start at once. */
const DEADLINE_MS = 120_000;

/** Applies CRDs and waits until their resources can be used. */
export async function installCrds(client: KubeClient, manifests: CustomResourceDefinition[]): Promise<void> {
  await Promise.all(
    manifests.map((manifest) => client.apply(CustomResourceDefinitionResource, manifest, { fieldManager: "test" })),
  );
  await until("the custom resources' acceptance", DEADLINE_MS, async () => {
    const { items } = await client.list(CustomResourceDefinitionResource);
    const waiting = manifests.filter(({ metadata }) => {
      const crd = items.find((item) => item.metadata?.name === metadata?.name);
      return !crd?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True");
    });
    if (waiting.length > 0)
      throw new Error(`not accepted: ${waiting.map(({ metadata }) => metadata?.name).join(", ")}`);
    await served(client, manifests);
    return true;
  });
}

/** A kind is served a moment after it is accepted. */
async function served(client: KubeClient, manifests: CustomResourceDefinition[]): Promise<void> {
  await Promise.all(
    manifests.map(({ spec }) => {
      const { group, names, versions, scope } = spec;
      const version = versions[0]?.name ?? "";
      const namespaced = scope === "Namespaced";
      return client.list({ group, version, kind: names.kind, plural: names.plural, namespaced });
    }),
  );
}
