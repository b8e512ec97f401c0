import { NamespaceOffloadingResource, type NamespaceOffloading } from "../../../api/index.js";
import type { DeepPartial, KubeClient } from "../../../runtime/index.js";
import { FIELD_MANAGER } from "../field-manager.js";

/**
 * Makes a NamespaceOffloading, all of whose fields later passes may take back: therefore by server-side apply, which knows no "only if there is none". Where
 * somebody else was quicker, theirs is left as it was.
 *
 * @throws Error if there is one already
 */
export async function createOffloading(
  client: KubeClient,
  desired: DeepPartial<NamespaceOffloading>,
): Promise<NamespaceOffloading> {
  const by = { fieldManager: FIELD_MANAGER };
  const made = await client.apply(NamespaceOffloadingResource, desired, { ...by, force: false });
  const { name, namespace, uid, managedFields = [] } = made.metadata;
  if (managedFields.length === 1) return made;
  await client.apply(NamespaceOffloadingResource, { metadata: { name, namespace, uid } }, by);
  throw new Error(`NamespaceOffloading ${namespace}/${name}: made by somebody else a moment ago, will look again`);
}

/** Gives one that was read before the wanted fields. @throws KubeError of code 409 when it has changed meanwhile, or is another one */
export function updateOffloading(
  client: KubeClient,
  { metadata: { uid, resourceVersion } }: NamespaceOffloading,
  desired: DeepPartial<NamespaceOffloading>,
): Promise<NamespaceOffloading> {
  const metadata = { ...desired.metadata, uid, resourceVersion };
  return client.apply(NamespaceOffloadingResource, { ...desired, metadata }, { fieldManager: FIELD_MANAGER });
}
