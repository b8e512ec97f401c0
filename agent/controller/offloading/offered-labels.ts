import { Labels } from "../../api/index.js";
import { isLabelKey, isLabelValue } from "../../api/kubernetes-names.js";

/** Domains in which labels mean something to the cluster itself: who may run what on a node, which nodes get outside traffic, whose a node is. */
const RESERVED_DOMAINS = ["kubernetes.io", "k8s.io", "liqo.io"];
/** Of them, what a provider may say of itself: where it is, and what its machines are. */
const DESCRIPTIVE = new Set<string>([
  Labels.provider,
  Labels.region,
  "topology.kubernetes.io/zone",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "node.kubernetes.io/instance-type",
]);
/** Without a domain, but known to mark virtual nodes. */
const RESERVED_NAMES = new Set(["type"]);

/** A provider's labels for its node here, and the keys of those that are not for a provider to set. */
export interface OfferedLabels {
  accepted: Record<string, string>;
  refused: string[];
}

/**
 * Which of the labels that a provider offers become its node's (control plane specification, §11): the provider is not trusted, and a node's
 * labels decide much in this cluster. Users set others in the VirtualNode.
 */
export function offeredLabels(offered: Record<string, string> = {}): OfferedLabels {
  const entries = Object.entries(offered);
  return {
    accepted: Object.fromEntries(entries.filter(([key, value]) => isAcceptable(key, value))),
    refused: entries.filter(([key, value]) => !isAcceptable(key, value)).map(([key]) => key),
  };
}

function isAcceptable(key: string, value: string): boolean {
  return isLabelKey(key) && isLabelValue(value) && (DESCRIPTIVE.has(key) || !isReserved(key));
}

function isReserved(key: string): boolean {
  const [domain = "", name] = key.split("/");
  if (name === undefined) return RESERVED_NAMES.has(key);
  return RESERVED_DOMAINS.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`));
}
