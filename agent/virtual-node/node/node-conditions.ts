import type { NodeCondition } from "kubernetes-types/core/v1";
import { compareQuantities, type ForeignCluster, type Quantities } from "../../api/index.js";
import { findCondition, kubeTime } from "../../runtime/index.js";

export interface NodeConditionInputs {
  allocatable: Quantities;
  checkNetwork: boolean;
  networkingEnabled: boolean;
  foreignCluster?: ForeignCluster;
  /** Those the Node has now: other writers' are kept, transition times stand while the status does. */
  present?: NodeCondition[];
  now?: Date;
}

const PRESSURES = [
  ["MemoryPressure", "RemoteClusterHasSufficientMemory", "the provider has sufficient memory"],
  ["DiskPressure", "RemoteClusterHasNoDiskPressure", "the provider has no disk pressure"],
  ["PIDPressure", "RemoteClusterHasNoPIDPressure", "the provider has no PID pressure"],
] as const;

/** The conditions of a virtual Node (offloading specification, §3). */
export function nodeConditions(inputs: NodeConditionInputs): NodeCondition[] {
  const network = inputs.checkNetwork && inputs.networkingEnabled;
  const connected = isNetworkEstablished(inputs.foreignCluster);
  const resources = hasResources(inputs.allocatable);
  const ready = resources && (!network || connected);
  const conditions = [
    readyCondition(ready, resources),
    ...PRESSURES.map(([type, reason, message]) => ({ type, status: "False", reason, message })),
    ...(network ? [networkCondition(connected)] : []),
  ];
  const time = kubeTime(inputs.now);
  const present = inputs.present ?? [];
  const own = conditions.map((condition): NodeCondition => {
    const before = present.find(({ type }) => type === condition.type);
    const unchanged = before?.status === condition.status && before.lastTransitionTime;
    return {
      ...condition,
      lastHeartbeatTime: time,
      lastTransitionTime: unchanged ? before.lastTransitionTime : time,
    };
  });
  return [...own, ...present.filter(({ type }) => !isOwn(type))];
}

/** Whether the lists say the same, heartbeats aside. */
export function sameConditions(a: NodeCondition[] = [], b: NodeCondition[] = []): boolean {
  const text = (list: NodeCondition[]): string =>
    JSON.stringify(
      list
        .map(({ type, status, reason, message }) => [type, status, reason, message])
        .sort(([left = ""], [right = ""]) => (left < right ? -1 : 1)),
    );
  return text(a) === text(b);
}

function readyCondition(ready: boolean, resources: boolean): Omit<NodeCondition, "lastHeartbeatTime"> {
  if (ready) return { type: "Ready", status: "True", reason: "KubeletReady", message: "the virtual node is ready" };
  const message = resources
    ? "the network with the provider is not established"
    : "the provider grants no cpu or no memory";
  return { type: "Ready", status: "False", reason: "KubeletNotReady", message };
}

function networkCondition(connected: boolean): Omit<NodeCondition, "lastHeartbeatTime"> {
  return connected
    ? {
        type: "NetworkUnavailable",
        status: "False",
        reason: "LiqoNetworkingUp",
        message: "the network with the provider is established",
      }
    : {
        type: "NetworkUnavailable",
        status: "True",
        reason: "LiqoNetworkingDown",
        message: "the network with the provider is not established",
      };
}

function isOwn(type: string): boolean {
  return type === "Ready" || type === "NetworkUnavailable" || PRESSURES.some(([pressure]) => pressure === type);
}

function hasResources(allocatable: Quantities): boolean {
  return ["cpu", "memory"].every((name) => compareQuantities(allocatable[name] ?? 0, 0) > 0);
}

function isNetworkEstablished(foreignCluster: ForeignCluster | undefined): boolean {
  const conditions = foreignCluster?.status?.modules.networking.conditions;
  return findCondition(conditions, "NetworkConnectionStatus")?.status === "Established";
}
