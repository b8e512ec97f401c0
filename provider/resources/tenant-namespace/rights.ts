import { NamespaceResource } from "../../../agent/runtime/index.js";
import type { NeededIn, NeededRight, Pair } from "../../preconditions/index.js";
import { expectedNamespaces } from "./find.js";

/** The rights that something needs in the tenant namespaces of a pair, with those to make the namespaces where they are missing. */
export async function rightsInPair(
  pair: Pair,
  signal: AbortSignal,
  rightsOf: (side: "consumer" | "provider", namespace: string) => NeededRight[],
): Promise<NeededIn[]> {
  const namespaces = await expectedNamespaces(pair, signal);
  return (["consumer", "provider"] as const).map((side) => ({
    where: side,
    client: pair[side].client,
    rights: [
      ...(namespaces.missing.includes(side) ? [{ type: NamespaceResource, verbs: ["create"] }] : []),
      ...rightsOf(side, namespaces[side]),
    ],
  }));
}
