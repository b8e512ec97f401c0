import type { Pod } from "kubernetes-types/core/v1";
import { ConfigurationResource, IPResource, Labels, type IP } from "../../../api/index.js";
import {
  Controller,
  PodResource,
  isDeleting,
  isOwnedBy,
  keyOf,
  nonBlockingOwnerReference,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { ensureIP } from "./ensure-ip.js";

const LABEL_VALUE_MAX_LENGTH = 63;

/**
 * Keeps an IP for each offloaded pod, so that pods of other peers reach it through this cluster (network specification, §4,
 * §11.5). With a single peer nobody is there to ask for it, and a pod costs half as many requests without. Watches offloaded pods
 * and Configurations; owns IPs of the pods' names, which go with them.
 */
export function offloadedPodIPController(context: ControllerContext): Controller {
  const { client, informers, logger } = context;
  const pods = informers.for(PodResource, { labelSelector: `${Labels.shadowPod}=true` });
  const ips = informers.for(IPResource);
  const configurations = informers.for(ConfigurationResource);
  const hasSeveralPeers = (): boolean =>
    new Set(configurations.list().map(({ metadata }) => metadata.labels?.[Labels.remoteClusterID])).size > 1;
  const controller = new Controller({
    name: "offloaded-pod-ip",
    logger,
    reconcile: async (key) => {
      const pod = pods.get(key);
      if (!pod || isDeleting(pod) || !pod.status?.podIP) return;
      const present = ips.get(key);
      // One that is there may be known to a peer that comes back.
      if (!present && !hasSeveralPeers()) return;
      // An IP of that name which somebody made is theirs.
      if (present && !isOwnedBy(present, pod)) return;
      await ensureIP(client, present, podIP(pod, pod.status.podIP));
    },
  });
  controller.watch(pods);
  controller.watch(ips, (ip) => (pods.get(keyOf(ip)) ? [keyOf(ip)] : []));
  controller.watch(configurations, (_, { type }) => (type === "updated" ? [] : pods.list().map(keyOf)));
  return controller;
}

function podIP(pod: Pod, ip: string): Pick<IP, "metadata" | "spec"> {
  const { name = "", namespace = "" } = pod.metadata ?? {};
  const labels: Record<string, string> = { [Labels.offloadingPodNamespace]: namespace };
  if (name.length <= LABEL_VALUE_MAX_LENGTH) labels[Labels.offloadingPodName] = name;
  return {
    metadata: { name, namespace, labels, ownerReferences: [nonBlockingOwnerReference(PodResource, pod)] },
    spec: { ip },
  };
}
