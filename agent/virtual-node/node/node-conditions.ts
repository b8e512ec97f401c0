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

/** How long a gateway may take to connect again before the network counts as lost. */
const RECONNECT_MS = 10_000;
const PRESSURES = [
  ["MemoryPressure", "RemoteClusterHasSufficientMemory", "the provider has sufficient memory"],
  ["DiskPressure", "RemoteClusterHasNoDiskPressure", "the provider has no disk pressure"],
  ["PIDPressure", "RemoteClusterHasNoPIDPressure", "the provider has no PID pressure"],
] as const;

/** The conditions of a virtual Node (offloading specification, §3). */
export function nodeConditions(inputs: NodeConditionInputs): NodeCondition[] {
  const network = inputs.checkNetwork && inputs.networkingEnabled;
  const connected = isNetworkEstablished(inputs);
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

/** A gateway that has taken over, or has begun anew, connects in a moment: until it has failed to, the node stays as it was. */
function isNetworkEstablished({ foreignCluster, present, now = new Date() }: NodeConditionInputs): boolean {
  const conditions = foreignCluster?.status?.modules.networking.conditions;
  const { status, lastTransitionTime } = findCondition(conditions, "NetworkConnectionStatus") ?? {};
  if (status !== "Pending" || lastTransitionTime === undefined) return status === "Established";
  const wasUp = present?.some((one) => one.type === "NetworkUnavailable" && one.status === "False") ?? false;
  return wasUp && Math.abs(now.getTime() - Date.parse(lastTransitionTime)) < RECONNECT_MS;
}
