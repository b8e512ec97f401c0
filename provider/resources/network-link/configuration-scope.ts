import { ConfigurationResource } from "../../../agent/api/index.js";
import { ifVisible } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";

/**
 * Where the Configuration of a remote cluster is looked for: in any namespace, as its label decides and documented manifests name none (network
 * specification, §5.2); by those who may not look everywhere, in the tenant namespace.
 */
export async function configurationScope(
  { client, namespace }: Pick<LinkEnd, "client" | "namespace">,
  signal: AbortSignal,
): Promise<{ namespace?: string }> {
  const all = await ifVisible(client.list(ConfigurationResource, { signal }));
  return all ? {} : { namespace };
}
