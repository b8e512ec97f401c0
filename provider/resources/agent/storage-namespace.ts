import { Names } from "../../../agent/api/names.js";
import { PersistentVolumeClaimResource } from "../../../agent/runtime/core-resources.js";
import type { WaitContext } from "./waiting.js";

/** Data outlives the agent: with a claim in it the storage namespace stays, until a person has looked. Says so when that is the case. */
export async function holdsData(context: WaitContext): Promise<boolean> {
  const { client, signal } = context;
  const namespace = Names.storageNamespace;
  const { items } = await client.list(PersistentVolumeClaimResource, { namespace, signal });
  if (items.length > 0)
    context.status(`namespace ${namespace} stays: it holds the data of ${items.length} persistent volume claims`);
  return items.length > 0;
}
