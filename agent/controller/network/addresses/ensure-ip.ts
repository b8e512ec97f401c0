import { IPResource, type IP } from "../../../api/index.js";
import type { KubeClient } from "../../../runtime/index.js";

/** Makes an IP that is kept automatically, or corrects it. Its target cannot change: for another one it is made anew. */
export async function ensureIP(
  client: KubeClient,
  present: IP | undefined,
  wanted: Pick<IP, "metadata" | "spec">,
): Promise<void> {
  const { name = "", namespace } = wanted.metadata;
  if (!present) {
    await client.create(IPResource, IPResource.build(wanted));
    return;
  }
  if (present.spec.ip !== wanted.spec.ip) {
    // The next event, the deletion, leads back here.
    if (!present.metadata.deletionTimestamp)
      await client.delete(IPResource, { name, namespace }, { uid: present.metadata.uid });
    return;
  }
  const labels = wanted.metadata.labels ?? {};
  if (Object.entries(labels).some(([key, value]) => present.metadata.labels?.[key] !== value)) {
    await client.mergePatch(IPResource, { name, namespace }, { metadata: { labels } });
  }
}
