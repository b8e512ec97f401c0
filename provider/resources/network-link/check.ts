import { isUnknown, type Failures, type UnknowableProperties } from "../../framework/index.js";
import type { NetworkLinkInputs } from "./schema.js";

type Gateways = Pick<UnknowableProperties<NetworkLinkInputs>, "gatewayServer" | "gatewayClient">;

/** Options that the chosen type of Service knows nothing of, or that say the same thing twice. */
export function checkGateways({ gatewayServer, gatewayClient }: Gateways, failures: Failures): void {
  checkServer(gatewayServer, failures);
  if (gatewayClient === undefined || isUnknown(gatewayClient)) return;
  if (gatewayClient.address !== undefined && gatewayClient.addresses !== undefined) {
    failures.add("gatewayClient.addresses", "either this or gatewayClient.address may be set, not both");
  }
}

function checkServer(gatewayServer: Gateways["gatewayServer"], failures: Failures): void {
  if (gatewayServer === undefined || isUnknown(gatewayServer)) return;
  const { type, nodePort, loadBalancerIP, loadBalancerClass } = gatewayServer;
  if (isUnknown(type)) return;
  if (nodePort !== undefined && type === "ClusterIP") {
    failures.add("gatewayServer.nodePort", "is for type NodePort or LoadBalancer, not ClusterIP");
  }
  if (loadBalancerIP !== undefined && type !== "LoadBalancer") {
    failures.add("gatewayServer.loadBalancerIP", `is for type LoadBalancer, not ${type}`);
  }
  if (loadBalancerClass !== undefined && type !== "LoadBalancer") {
    failures.add("gatewayServer.loadBalancerClass", `is for type LoadBalancer, not ${type}`);
  }
}
