import { NamespaceOffloadingResource } from "../../../agent/api/index.js";
import { NamespaceResource } from "../../../agent/runtime/index.js";
import { APPLY, type NeededIn, type Peer } from "../../preconditions/index.js";

/** What offloading a namespace needs to be allowed. */
export function offloadingRights({ client }: Peer, namespace: string, createNamespace: boolean): NeededIn[] {
  const rights = [
    { type: NamespaceOffloadingResource, verbs: APPLY, namespace },
    { type: NamespaceResource, verbs: createNamespace ? ["get", "create"] : ["get"], namespace, name: namespace },
  ];
  return [{ where: "cluster", client, rights }];
}
