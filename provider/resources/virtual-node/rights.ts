import { VirtualNodeResource } from "../../../agent/api/index.js";
import { NodeResource, SecretResource } from "../../../agent/runtime/index.js";
import { APPLY, type NeededIn, type Peer } from "../../preconditions/index.js";

/** What a virtual node needs to be allowed in the tenant namespace. */
export function virtualNodeRights({ client }: Peer, namespace: string): NeededIn[] {
  const rights = [
    { type: SecretResource, verbs: ["get"], namespace },
    { type: VirtualNodeResource, verbs: APPLY, namespace },
    { type: NodeResource, verbs: ["get"] },
  ];
  return [{ where: "cluster", client, rights }];
}
