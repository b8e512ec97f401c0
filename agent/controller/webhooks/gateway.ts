import {
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  type GatewayClient,
  type GatewayServer,
} from "../../api/index.js";
import { isDeleting } from "../../runtime/index.js";
import { allow, deny, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { othersForPeer, peerLabelProblems } from "./peer-label.js";

type Gateway = GatewayServer | GatewayClient;

/**
 * A gateway says by its label which cluster it leads to, and is the only one that does (network specification, §5.2). What is
 * there is asked of the API server: a gateway that has just been deleted must not stand in the way of the next.
 */
export function gatewayValidator({ client, config }: WebhookContext): AdmissionHandler {
  return async (request) => {
    const { object: gateway, oldObject } = request as AdmissionRequest<Gateway>;
    if (!gateway || isDeleting(gateway) || isSamePeer(gateway, oldObject)) return allow();
    const problems = peerLabelProblems(gateway, config.clusterId);
    if (problems.length > 0) return deny(problems.join("; "), 422);
    const labelSelector = { [Labels.remoteClusterID]: gateway.metadata.labels?.[Labels.remoteClusterID] ?? "" };
    const [servers, clients] = await Promise.all([
      client.list(GatewayServerResource, { labelSelector }),
      client.list(GatewayClientResource, { labelSelector }),
    ]);
    return refusalOfSecond(gateway, [
      ...servers.items.map((item) => ({ ...item, kind: GatewayServerResource.kind })),
      ...clients.items.map((item) => ({ ...item, kind: GatewayClientResource.kind })),
    ]);
  };
}

function isSamePeer(gateway: Gateway, old: Gateway | null | undefined): boolean {
  const label = Labels.remoteClusterID;
  return old !== undefined && old !== null && old.metadata.labels?.[label] === gateway.metadata.labels?.[label];
}

function refusalOfSecond(gateway: Gateway, present: readonly Gateway[]): ReturnType<typeof allow> {
  const [other] = othersForPeer(gateway, present);
  if (!other) return allow();
  const remote = gateway.metadata.labels?.[Labels.remoteClusterID];
  return deny(
    `metadata.labels[${Labels.remoteClusterID}]: cluster ${remote} is linked by ${other.kind} ` +
      `${other.metadata.namespace}/${other.metadata.name} already, and there is one link to a cluster; delete that one first`,
  );
}
