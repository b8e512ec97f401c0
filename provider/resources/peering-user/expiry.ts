import { parse } from "yaml";
import { isRenewalDue, validityOf } from "../../../agent/crypto/index.js";
import type { PeeringUserOutputs } from "./schema.js";

/** Whether the credential has expired, or will before long: two thirds of its time have passed. */
export function isExpiring({ kubeconfig }: Partial<PeeringUserOutputs>, now = Date.now()): boolean {
  if (!kubeconfig) return false;
  const { users } = parse(kubeconfig) as { users?: { user?: Record<string, string> }[] };
  const certificate = users?.[0]?.user?.["client-certificate-data"] ?? "";
  const validity = validityOf(Buffer.from(certificate, "base64"));
  return validity !== undefined && isRenewalDue(validity, now);
}
