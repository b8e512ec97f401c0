import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import type { Pod } from "kubernetes-types/core/v1";
import { Labels, virtualKubeletAccountName, type VirtualNode } from "../../api/index.js";
import {
  NODES_GROUP,
  NODE_USER_PREFIX,
  normalizedIP,
  readServingRequest,
  type ServingRequest,
} from "./certificate-der.js";
import { KUBELET_SERVING_SIGNER } from "./serving-certificate.js";

const USAGES = ["digital signature", "server auth"];

/** What to do with a request: `wait` until the virtual node's pod shows its address. */
export type Verdict = { approve: true } | { approve: false; reason: string } | "wait";

/** The service account that has made a request, if it was one. */
function requesterOf({ spec }: CertificateSigningRequest): { namespace: string; name: string } | undefined {
  const match = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(spec.username ?? "");
  return match ? { namespace: match[1] ?? "", name: match[2] ?? "" } : undefined;
}

/** The virtual node whose own account has made a request of the kind that virtual nodes make. */
export function virtualNodeOf(request: CertificateSigningRequest): { namespace: string; name: string } | undefined {
  const name = request.metadata?.labels?.[Labels.virtualNode];
  const account = requesterOf(request);
  if (name === undefined || account?.name !== virtualKubeletAccountName(name)) return undefined;
  return request.spec.signerName === KUBELET_SERVING_SIGNER ? { namespace: account.namespace, name } : undefined;
}

/**
 * Whether a request of a virtual node's own account may be approved: exactly its Node's name, exactly an address of one
 * of its pods, and no use but serving (offloading specification, §7.2).
 */
export function judge(request: CertificateSigningRequest, virtualNode: VirtualNode, pods: Pod[]): Verdict {
  const refuse = (reason: string): Verdict => ({ approve: false, reason });
  const usages = [...(request.spec.usages ?? [])].sort();
  if (usages.join() !== USAGES.join()) return refuse(`usages must be ${USAGES.join(", ")}`);
  let content: ServingRequest;
  try {
    content = readServingRequest(Buffer.from(request.spec.request, "base64").toString("utf8"));
  } catch (error) {
    return refuse(error instanceof Error ? error.message : "not readable");
  }
  const expected = `${NODE_USER_PREFIX}${virtualNode.metadata.name}`;
  if (content.commonNames.join() !== expected || content.commonNames.length !== 1) {
    return refuse(`the common name must be ${expected}`);
  }
  if (content.organizations.length !== 1 || content.organizations[0] !== NODES_GROUP || content.otherAttributes > 0) {
    return refuse(`the organization must be ${NODES_GROUP}, and nothing else be in the subject`);
  }
  if (content.dns.length > 0 || content.otherNames > 0 || content.otherExtensions > 0 || content.ips.length === 0) {
    return refuse("the only extension must be alternative names with IP addresses");
  }
  const allowed = pods.filter((pod) => isPodOf(pod, virtualNode)).map(addressesOf);
  const fits = allowed.some((addresses) => content.ips.every((ip) => addresses.includes(ip)));
  return fits ? { approve: true } : "wait";
}

function isPodOf({ metadata, spec }: Pod, { metadata: { name = "", namespace } }: VirtualNode): boolean {
  return (
    metadata?.namespace === namespace &&
    metadata?.labels?.[Labels.virtualNode] === name &&
    spec?.serviceAccountName === virtualKubeletAccountName(name)
  );
}

function addressesOf({ status }: Pod): string[] {
  const addresses = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return addresses.flatMap((address) => (address ? [normalizedIP(address)] : []));
}
