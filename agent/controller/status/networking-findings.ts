import { gatewayResourceName, type Connection, type GatewayClient, type GatewayServer } from "../../api/index.js";
import { findCondition } from "../../runtime/index.js";
import type { ConditionFinding } from "./conditions.js";
import type { PeerView } from "./peer-view.js";

/** Whether there is, or begins to be, a network link to the peer. */
export function isNetworkingInUse(view: PeerView): boolean {
  const { configurations, connections, gatewayServers, gatewayClients } = view;
  return [configurations, connections, gatewayServers, gatewayClients].some((objects) => objects.length > 0);
}

/** The conditions of the networking module while it is in use (control plane specification, §8). */
export function networkingFindings(view: PeerView): ConditionFinding[] {
  const { configurations, gatewayServers, gatewayClients, connections } = view;
  return [
    configurations.length > 0
      ? finding(
          "NetworkConfigurationStatus",
          "Ready",
          "NetworkConfigurationPresence",
          "the network configuration is present",
        )
      : finding("NetworkConfigurationStatus", "NotReady", "NetworkConfigurationMissing", "there is no Configuration"),
    gatewayServers.length + gatewayClients.length > 0
      ? finding("NetworkGatewayPresence", "Ready", "GatewayPresence", "there is a gateway")
      : finding("NetworkGatewayPresence", "NotReady", "GatewayMissing", "there is no GatewayServer or GatewayClient"),
    ...gatewayFinding("NetworkGatewayServerStatus", gatewayServers, view),
    ...gatewayFinding("NetworkGatewayClientStatus", gatewayClients, view),
    connectionFinding(connections),
  ];
}

function gatewayFinding(
  type: "NetworkGatewayServerStatus" | "NetworkGatewayClientStatus",
  gateways: readonly (GatewayServer | GatewayClient)[],
  view: PeerView,
): ConditionFinding[] {
  if (gateways.length === 0) return [];
  const states = gateways.map(({ metadata }) => {
    const name = gatewayResourceName(metadata.name ?? "");
    const { readyReplicas = 0, unavailableReplicas = 0 } =
      view.deployment(metadata.namespace ?? "", name)?.status ?? {};
    return { name, ready: readyReplicas > 0, complete: readyReplicas > 0 && unavailableReplicas === 0 };
  });
  const lacking = (list: typeof states): string => `Deployment ${list.map(({ name }) => name).join(", ")}`;
  const down = states.filter(({ ready }) => !ready);
  const refused = gateways.flatMap(({ metadata, status }) => {
    const verdict = findCondition(status?.conditions, "Accepted");
    return verdict?.status === "False" ? [`${metadata.namespace}/${metadata.name}: ${verdict.message}`] : [];
  });
  // What ran before goes on to run.
  if (refused.length > 0) {
    return [finding(type, down.length > 0 ? "NotReady" : "SomeNotReady", "GatewaysRefused", refused.join("; "))];
  }
  if (down.length > 0) return [finding(type, "NotReady", "GatewaysNotReady", `${lacking(down)} has no ready replica`)];
  const partly = states.filter(({ complete }) => !complete);
  if (partly.length > 0) {
    return [finding(type, "SomeNotReady", "GatewaysSomeNotReady", `${lacking(partly)} has unavailable replicas`)];
  }
  return [finding(type, "Ready", "GatewaysReady", "all replicas are ready")];
}

function connectionFinding(connections: readonly Connection[]): ConditionFinding {
  const type = "NetworkConnectionStatus";
  if (connections.length === 0) return finding(type, "NotReady", "ConnectionMissing", "there is no Connection");
  const values = connections.map(({ status }) => status?.value ?? "Connecting");
  if (values.every((value) => value === "Connected")) {
    return finding(type, "Established", "ConnectionEstablished", "the peer's gateway answers");
  }
  if (values.every((value) => value === "Connected" || value === "Connecting")) {
    return finding(type, "Pending", "ConnectionPending", "waiting for the peer's gateway to answer");
  }
  return finding(type, "Error", "ConnectionError", "the peer's gateway does not answer");
}

function finding(
  type: ConditionFinding["type"],
  status: ConditionFinding["status"],
  reason: string,
  message: string,
): ConditionFinding {
  return { type, status, reason, message };
}
