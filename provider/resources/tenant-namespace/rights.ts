import { NamespaceResource } from "../../../agent/runtime/index.js";
import { remoteOf, type NeededIn, type NeededRight, type Pair, type Side } from "../../preconditions/index.js";
import { findTenantNamespace, nameFor } from "./find.js";

/** The rights that something needs in the tenant namespaces of a pair, with those to make the namespaces where they are missing. */
export function rightsInPair(
  pair: Pair,
  signal: AbortSignal,
  rightsOf: (side: Side, namespace: string) => NeededRight[] | Promise<NeededRight[]>,
): NeededIn[] {
  return (["consumer", "provider"] as const).map((side) => {
    const { client } = pair[side];
    const remoteId = remoteOf(pair, pair[side]).clusterId;
    const rights = async (): Promise<NeededRight[]> => {
      const found = await findTenantNamespace(client, remoteId, signal);
      const make = found ? [] : [{ type: NamespaceResource, verbs: ["create"] }];
      return [...make, ...(await rightsOf(side, nameFor(found, remoteId)))];
    };
    return { where: side, client, rights };
  });
}
