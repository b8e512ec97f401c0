import type { Pod } from "kubernetes-types/core/v1";
import { IPResource, Labels, type IP } from "../../../api/index.js";
import { Controller, PodResource, isDeleting, ownerReference } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { ensureIP } from "./ensure-ip.js";

const LABEL_VALUE_MAX_LENGTH = 63;

/**
 * Keeps an IP for each offloaded pod, so that pods of other peers reach it through this cluster (network specification, §4,
 * §11.5). Watches offloaded pods; owns IPs of their names, which go with them.
 */
export function offloadedPodIPController(context: ControllerContext): Controller {
  const { client, informers, logger } = context;
  const pods = informers.for(PodResource, { labelSelector: `${Labels.shadowPod}=true` });
  const ips = informers.for(IPResource);
  const controller = new Controller({
    name: "offloaded-pod-ip",
    logger,
    reconcile: async (key) => {
      const pod = pods.get(key);
      if (!pod || isDeleting(pod) || !pod.status?.podIP) return;
      const present = ips.get(key);
      // An IP of that name which somebody made is theirs.
      if (present && !present.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata?.uid)) return;
      await ensureIP(client, present, podIP(pod, pod.status.podIP));
    },
  });
  controller.watch(pods);
  controller.watch(ips, (ip) =>
    pods.get(`${ip.metadata.namespace}/${ip.metadata.name}`) ? [`${ip.metadata.namespace}/${ip.metadata.name}`] : [],
  );
  return controller;
}

function podIP(pod: Pod, ip: string): Pick<IP, "metadata" | "spec"> {
  const { name = "", namespace = "" } = pod.metadata ?? {};
  const labels: Record<string, string> = { [Labels.offloadingPodNamespace]: namespace };
  if (name.length <= LABEL_VALUE_MAX_LENGTH) labels[Labels.offloadingPodName] = name;
  return { metadata: { name, namespace, labels, ownerReferences: [ownerReference(PodResource, pod)] }, spec: { ip } };
}
