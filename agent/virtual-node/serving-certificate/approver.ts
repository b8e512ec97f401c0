import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import { LabelValues, Labels, VirtualNodeResource, type VirtualNode } from "../../api/index.js";
import {
  CertificateSigningRequestResource,
  Controller,
  PodResource,
  kubeTime,
  objectPath,
  type KubeClient,
  type ReconcileResult,
} from "../../runtime/index.js";
import type { AreaSetup } from "../../controller/context.js";
import { judge, virtualNodeOf } from "./approval.js";
import { KUBELET_SERVING_SIGNER } from "./serving-certificate.js";

/** How long an answered request stays, so that who made it can fetch the answer. */
const KEEP_ANSWERED_MS = 5_000;

/**
 * Approves the serving certificates of virtual nodes. Watches: CertificateSigningRequests of the kubelet-serving signer,
 * VirtualNodes, their processes' pods. Owns: those requests that virtual nodes' accounts have made; removes them once answered. Runs in
 * the controller.
 */
export const setupServingCertificateApprover: AreaSetup = ({ client, informers, logger }) => {
  const requests = informers.for(CertificateSigningRequestResource, {
    fieldSelector: `spec.signerName=${KUBELET_SERVING_SIGNER}`,
  });
  const virtualNodes = informers.for(VirtualNodeResource);
  const pods = informers.for(PodResource, {
    labelSelector: `${Labels.offloadingComponent}=${LabelValues.virtualKubeletComponent}`,
  });
  const requestsOf = (name: string | undefined): string[] =>
    requests
      .list()
      .filter(({ metadata }) => metadata?.labels?.[Labels.virtualNode] === name)
      .map(({ metadata }) => metadata?.name ?? "");

  const reconcile = async (name: string): Promise<ReconcileResult | void> => {
    const request = requests.get(name);
    const owner = request && virtualNodeOf(request);
    if (!owner) return;
    const virtualNode = virtualNodes.find(owner.namespace, owner.name);
    if (!virtualNode) return remove(client, request);
    const answeredAt = answerTime(request);
    if (answeredAt !== undefined) {
      const left = answeredAt + KEEP_ANSWERED_MS - Date.now();
      return left > 0 ? { requeueAfterMs: left } : remove(client, request);
    }
    if (request.status?.conditions?.length) return;
    const verdict = judge(request, virtualNode, pods.list());
    // The pod's address is told a moment after it runs; the watch of pods brings us back.
    if (verdict === "wait") return;
    await answer(client, request, verdict.approve ? undefined : verdict.reason);
    logger.info({ request: name, approved: verdict.approve }, "serving certificate request answered");
  };

  return [
    new Controller({ name: "serving-certificate-approver", logger, workers: 1, reconcile })
      .watch(requests)
      .watch(virtualNodes, (virtualNode: VirtualNode) => requestsOf(virtualNode.metadata.name))
      .watch(pods, (pod) => requestsOf(pod.metadata?.labels?.[Labels.virtualNode])),
  ];
};

/** When a certificate was issued or refused, as far as is known; undefined while it is awaited. */
function answerTime({ status }: CertificateSigningRequest): number | undefined {
  const refused = status?.conditions?.some(({ type }) => type === "Denied" || type === "Failed");
  if (!status || (!status.certificate && !refused)) return undefined;
  const times = (status.conditions ?? []).map(({ lastUpdateTime }) => Date.parse(lastUpdateTime ?? ""));
  return Math.max(0, ...times.filter((time) => !Number.isNaN(time)));
}

async function answer(client: KubeClient, request: CertificateSigningRequest, refusal?: string): Promise<void> {
  const name = request.metadata?.name ?? "";
  const time = kubeTime();
  const condition = {
    type: refusal === undefined ? "Approved" : "Denied",
    status: "True",
    reason: refusal === undefined ? "VirtualNodeServingCertificate" : "NotAllowed",
    message: refusal ?? "asked for by the virtual node's own account, for its Node's name and its pod's address",
    lastUpdateTime: time,
    lastTransitionTime: time,
  };
  const conditions = [...(request.status?.conditions ?? []), condition];
  const path = objectPath(CertificateSigningRequestResource, { name }, "approval");
  const body = { ...request, status: { ...request.status, conditions } };
  await client.request("PUT", path, { body, subject: `CertificateSigningRequest ${name}` });
}

async function remove(client: KubeClient, request: CertificateSigningRequest): Promise<void> {
  const { name = "", uid } = request.metadata ?? {};
  await client.delete(CertificateSigningRequestResource, { name }, { uid });
}
