import { isIP } from "node:net";
import { z } from "zod";
import { parseStrictCidr } from "../../agent/api/cidr.js";
import { CLUSTER_ID_MAX_LENGTH, isClusterID } from "../../agent/api/cluster-id.js";
import { isDnsLabel, isDnsSubdomain, isLabelKey } from "../../agent/api/kubernetes-names.js";
import { parseQuantity } from "../../agent/api/quantity.js";
import { messageOf } from "../../agent/runtime/kube-error.js";

/** Runs a parser that throws; its message becomes the failure's reason. */
function parsedBy(parse: (value: string) => unknown) {
  return (value: string, context: z.RefinementCtx<string>): void => {
    try {
      parse(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: messageOf(error) });
    }
  };
}

/** An IPv4 range without host bits: "10.0.0.0/16". */
export const cidr = z.string().superRefine(parsedBy(parseStrictCidr)).meta({ equality: "cidr" });

/** A Kubernetes quantity, "4", "500m" or "8Gi"; equal when of the same value. Numbers are taken as text. */
export const quantity = z.string().superRefine(parsedBy(parseQuantity)).meta({ equality: "quantity" });

export const port = z.int().min(1).max(65535);

/** Liqo's rule for cluster IDs; the length keeps `liqo-tenant-<ID>` a valid namespace name. */
export const clusterId = z.string().superRefine((value, context) => {
  if (isClusterID(value)) return;
  context.addIssue({
    code: "custom",
    message: `"${value}" is not a cluster ID: at most ${CLUSTER_ID_MAX_LENGTH} lower-case letters, digits and "-", beginning and ending with a letter or digit`,
  });
});

/** A name of Kubernetes objects that are DNS labels, such as namespaces. */
export const dnsLabel = z.string().superRefine((value, context) => {
  if (isDnsLabel(value)) return;
  context.addIssue({
    code: "custom",
    message: `"${value}" is not a name: at most 63 lower-case letters, digits and "-", beginning and ending with a letter or digit`,
  });
});

/** A text that must pass a test; `what` follows the value in the message. */
export function textThat(isRight: (value: string) => boolean, what: string) {
  return z.string().superRefine((value, context) => {
    if (!isRight(value))
      context.addIssue({ code: "custom", message: `${JSON.stringify(value.slice(0, 60))} is ${what}` });
  });
}

const SUBDOMAIN =
  'not a name: at most 253 lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit';

/** The name of any object in Kubernetes. */
export const objectName = textThat(isDnsSubdomain, SUBDOMAIN);

/** Likewise, or empty for none. */
export const objectNameOrNone = textThat((value) => value === "" || isDnsSubdomain(value), SUBDOMAIN);

/** What Kubernetes says of a name that may have a domain before it, as a label's key. */
export const QUALIFIED_NAME =
  'at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit, optionally after a DNS name and "/"';

/** The group and version of a kind of objects: "networking.liqo.io/v1beta1", "v1". */
export const apiVersion = textThat((value) => {
  const parts = value.split("/");
  const version = parts.at(-1) ?? "";
  return parts.length <= 2 && isDnsLabel(version) && (parts.length === 1 || isDnsSubdomain(parts[0] ?? ""));
}, 'not an API version: a group and a version, as "networking.liqo.io/v1beta1"');

/** A kind of objects: "WgGatewayServerTemplate". */
export const kind = textThat(
  (value) => /^[A-Za-z][-A-Za-z0-9]{0,62}$/.test(value),
  'not a kind: at most 63 letters, digits and "-", beginning with a letter',
);

/** A name of resources, taints and load balancer classes: "cpu", "example.com/gpu". */
export const qualifiedName = textThat(isLabelKey, `not a name: ${QUALIFIED_NAME}`);

/** Resource names to quantities. */
export const quantities = z.record(qualifiedName, quantity);

/** An IP address or a DNS name. */
export const host = textThat(
  (value) => isIP(value) !== 0 || (isDnsSubdomain(value) && !/^[\d.]+$/.test(value)),
  "neither an IP address nor a DNS name",
);

export const ipAddress = textThat((value) => isIP(value) !== 0, "not an IP address");

export const httpsUrl = textThat(
  (value) => URL.canParse(value) && new URL(value).protocol === "https:",
  "not a URL that begins with https://",
);
