import type { Pod } from "kubernetes-types/core/v1";
import { ConfigurationResource, Labels, mapRemoteAddress, type Configuration } from "../../agent/api/index.js";
import { PodResource } from "../../agent/runtime/index.js";
import { until } from "../clusters/support/wait.js";
import type { LabCluster } from "./lab.js";
import { inPod, probeAll, serverContainer, type Target } from "./probe.js";
import { waitFor } from "./wait.js";
import { isReady } from "./workload.js";

const APP = { app: "local" };

/** One server on each node, whose own the pod stays; all are Ready. */
export async function runServers(lab: LabCluster): Promise<Pod[]> {
  for (const { name } of lab.cluster.nodes) {
    const metadata = { name: `local-${name}`, namespace: "default", labels: APP };
    const spec = { nodeName: name, terminationGracePeriodSeconds: 0, containers: [serverContainer()] };
    await lab.client.apply(PodResource, { metadata, spec }, { fieldManager: "test" });
  }
  return serversOf(lab);
}

function serversOf({ client, cluster }: LabCluster): Promise<Pod[]> {
  const options = { namespace: "default", labelSelector: APP, timeoutMs: 120_000, what: "a server Ready on each node" };
  return waitFor(client, PodResource, options, (pods) => {
    const ready = pods.filter((pod) => isReady(pod) && pod.status?.podIP);
    return ready.length === cluster.nodes.length && ready;
  });
}

/**
 * TCP and UDP, small and full-size packets, both ways between the servers of all nodes of two peers. Nodes follow a gateway that has come or
 * moved by themselves, a moment after its tunnel is there: they have half a minute.
 *
 * @throws Error with what is not answered, as "source → target: what"
 */
export async function expectTraffic(a: LabCluster, b: LabCluster): Promise<void> {
  const [atA, atB] = await Promise.all([serversOf(a), serversOf(b)]);
  const [toA, toB] = await Promise.all([podTargets(b, atA, a), podTargets(a, atB, b)]);
  await until(`traffic between ${a.cluster.name} and ${b.cluster.name}, both ways`, 30_000, async () => {
    const ask = (from: LabCluster, pods: readonly Pod[], targets: readonly Target[]): Promise<string[]> =>
      probeAll(
        pods.map((pod) => inPod(from, pod)),
        targets,
      );
    const failures = (await Promise.all([ask(a, atA, toB), ask(b, atB, toA)])).flat();
    if (failures.length > 0) throw new Error(failures.join("; "));
    return true;
  });
}

/** Pods of a peer, by the addresses by which a cluster calls them. */
export async function podTargets(from: LabCluster, pods: readonly Pod[], peer: LabCluster): Promise<Target[]> {
  const configuration = await configurationOf(from, peer);
  return pods.map(({ metadata, status }) => ({
    name: metadata?.name ?? "",
    host: mapRemoteAddress(configuration, status?.podIP ?? ""),
    answer: metadata?.name,
  }));
}

/** A cluster's only Configuration; of several, that for the ID which is the peer's name. */
export async function configurationOf({ client }: LabCluster, { cluster }: LabCluster): Promise<Configuration> {
  const { items } = await client.list(ConfigurationResource);
  const ofPeer = items.find(({ metadata }) => metadata.labels?.[Labels.remoteClusterID] === cluster.name);
  const found = items.length === 1 ? items[0] : ofPeer;
  if (!found) throw new Error(`cluster ${client.cluster}: no Configuration for ${cluster.name}`);
  return found;
}
