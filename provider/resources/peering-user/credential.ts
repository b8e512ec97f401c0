import { parse } from "yaml";
import { isRenewalDue, validityOf } from "../../../agent/crypto/index.js";
import type { PeeringUserOutputs } from "./schema.js";

interface Kubeconfig {
  clusters?: { cluster?: Record<string, string> }[];
  users?: { user?: Record<string, string> }[];
}

/** Whether the credential has expired, or will before long: two thirds of its time have passed. */
export function isExpiring({ kubeconfig }: Partial<PeeringUserOutputs>, now = Date.now()): boolean {
  if (!kubeconfig) return false;
  const { users } = parse(kubeconfig) as Kubeconfig;
  const certificate = users?.[0]?.user?.["client-certificate-data"] ?? "";
  const validity = validityOf(Buffer.from(certificate, "base64"));
  return validity !== undefined && isRenewalDue(validity, now);
}

/** The API server's URL that was handed out. */
export function serverOf({ kubeconfig }: Partial<PeeringUserOutputs>): string | undefined {
  if (!kubeconfig) return undefined;
  const { clusters } = parse(kubeconfig) as Kubeconfig;
  return clusters?.[0]?.cluster?.["server"];
}
