import { isUnknown, type Failures, type UnknowableProperties } from "../../framework/index.js";
import type { NetworkLinkInputs } from "./schema.js";

/** Options that the chosen type of Service knows nothing of. */
export function checkGateways(
  { gatewayServer }: Pick<UnknowableProperties<NetworkLinkInputs>, "gatewayServer">,
  failures: Failures,
): void {
  if (gatewayServer === undefined || isUnknown(gatewayServer)) return;
  const { type, nodePort, loadBalancerIP } = gatewayServer;
  if (isUnknown(type)) return;
  if (nodePort !== undefined && type === "ClusterIP") {
    failures.add("gatewayServer.nodePort", "is for type NodePort or LoadBalancer, not ClusterIP");
  }
  if (loadBalancerIP !== undefined && type !== "LoadBalancer") {
    failures.add("gatewayServer.loadBalancerIP", `is for type LoadBalancer, not ${type}`);
  }
}
