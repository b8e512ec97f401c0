import type { Connection } from "../../../agent/api/index.js";
import {
  ConnectionResource,
  Labels,
  LabelValues,
  addResourceLists,
  type ResourceList,
} from "../../../agent/api/index.js";
import { canonicalQuantity } from "../../../agent/api/quantity.js";
import { podCost } from "../../../agent/controller/webhooks/pod-cost.js";
import { PodResource, type KubeClient, type ListOptions } from "../../../agent/runtime/index.js";
import type { PeeringUser } from "../../preconditions/told-namespace.js";
import { readInfoAsPeeringUser, readWholeInfo } from "../cluster-info.js";
import type { ClusterInfo, PeerInfo } from "../info-schema.js";
import { readAllPeers, readPeersAsPeeringUser } from "../peer-info.js";
import { asFarAsVisible } from "../peering-user-view.js";

/** What one cluster tells of itself and its peers. */
export interface ClusterView {
  info: ClusterInfo;
  peers: Record<string, PeerInfo>;
  /** By the peer's ID, in milliseconds. */
  roundTrips: Map<string, number>;
  /** Requests of the pods on each virtual node, by its name. */
  usedOnNodes: Map<string, Record<string, string>>;
  /** Requests of the pods that run here for a consumer, by its ID. */
  usedByConsumers: Map<string, Record<string, string>>;
}

/** @throws KubeError when the cluster cannot be asked, Error when it has no agent */
export async function readView(client: KubeClient, signal: AbortSignal): Promise<ClusterView> {
  return asFarAsVisible(client, signal, {
    everything: () => readWholeView(client, signal),
    toPeeringUser: (user) => readViewAsPeeringUser(client, user, signal),
  });
}

/** Pods are hidden from it, and with them what is used. */
async function readViewAsPeeringUser(client: KubeClient, user: PeeringUser, signal: AbortSignal): Promise<ClusterView> {
  const namespace = user.tenantNamespace;
  const [info, peers, connections] = await Promise.all([
    readInfoAsPeeringUser(client, user, signal),
    readPeersAsPeeringUser(client, user, [], signal),
    client.list(ConnectionResource, { namespace, labelSelector: Labels.remoteClusterID, signal }),
  ]);
  const unknown = new Map<string, Record<string, string>>();
  const roundTrips = roundTripsOf(connections.items);
  return { info, peers, roundTrips, usedOnNodes: unknown, usedByConsumers: unknown };
}

async function readWholeView(client: KubeClient, signal: AbortSignal): Promise<ClusterView> {
  const info = await readWholeInfo(client, signal);
  const [peers, connections] = await Promise.all([
    readAllPeers(client, [], signal),
    client.list(ConnectionResource, { labelSelector: Labels.remoteClusterID, signal }),
  ]);
  const all = Object.entries(peers);
  const nodes = all.flatMap(([, { offloading }]) => offloading.virtualNodes.map(({ name }) => name));
  const consumers = all
    .filter(
      ([
        ,
        {
          info: { role },
        },
      ]) => role.startsWith("Consumer"),
    )
    .map(([id]) => id);
  const [usedOnNodes, usedByConsumers] = await Promise.all([
    eachUse(nodes, (name) => requestsOf(client, { fieldSelector: `spec.nodeName=${name}`, signal })),
    eachUse(consumers, (id) => requestsOf(client, { labelSelector: ofConsumer(id), signal })),
  ]);
  return { info, peers, roundTrips: roundTripsOf(connections.items), usedOnNodes, usedByConsumers };
}

async function eachUse<T>(keys: string[], read: (key: string) => Promise<T>): Promise<Map<string, T>> {
  return new Map(await Promise.all(keys.map(async (key) => [key, await read(key)] as const)));
}

function ofConsumer(clusterId: string): string {
  return `${Labels.managedBy}=${LabelValues.shadowPodManager},${Labels.offloadingOrigin}=${clusterId}`;
}

/** Pods that have ended take nothing. */
async function requestsOf(client: KubeClient, options: ListOptions): Promise<Record<string, string>> {
  const { items } = await client.list(PodResource, options);
  const running = items.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  const sum = running.map(({ spec }) => podCost(spec ?? { containers: [] })).reduce<ResourceList>(addResourceLists, {});
  return Object.fromEntries(Object.entries(sum).map(([name, amount]) => [name, canonicalQuantity(amount)]));
}

function roundTripsOf(connections: Connection[]): Map<string, number> {
  const connected = connections.filter(({ status }) => status?.value === "Connected");
  return new Map(
    connected.flatMap(({ metadata, status }) => {
      const milliseconds = parseDuration(status?.latency?.value ?? "");
      return milliseconds === undefined
        ? []
        : [[metadata.labels?.[Labels.remoteClusterID] ?? "", milliseconds] as const];
    }),
  );
}

/** Both of the letters that stand for a millionth. */
const UNITS: Record<string, number> = { ns: 1e-6, us: 1e-3, "\u00b5s": 1e-3, "\u03bcs": 1e-3, ms: 1, s: 1e3, m: 6e4 };

/** Milliseconds of a duration as Go writes it, "1.5ms" or "1m2s"; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|\u00b5s|\u03bcs|ms|s|m)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  const milliseconds = parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (UNITS[unit] ?? 0), 0);
  // To the nanosecond: sums of floating point are longer.
  return Math.round(milliseconds * 1e6) / 1e6;
}
