/** How Kubernetes has names and labels written (RFC 1123; API conventions of Kubernetes, "Identifiers and Names"). */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const LABEL_LENGTH = 63;
/** The longest name of an object. */
export const NAME_LENGTH = 253;

/** The name of a namespace, and of other objects that are DNS labels. */
export function isDnsLabel(text: string): boolean {
  return text.length <= LABEL_LENGTH && DNS_LABEL.test(text);
}

export function isDnsSubdomain(text: string): boolean {
  return text.length <= NAME_LENGTH && DNS_SUBDOMAIN.test(text);
}

/** The key of a label or an annotation: a name, or a DNS subdomain, "/" and a name. */
export function isLabelKey(text: string): boolean {
  const [name = "", domain, ...rest] = text.split("/").reverse();
  return rest.length === 0 && isLabelName(name) && (domain === undefined || isDnsSubdomain(domain));
}

export function isLabelValue(text: string): boolean {
  return text === "" || isLabelName(text);
}

function isLabelName(text: string): boolean {
  return text.length <= LABEL_LENGTH && LABEL_NAME.test(text);
}
