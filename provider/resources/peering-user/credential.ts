import { parse } from "yaml";
import { commonNameOf, isRenewalDue, validityOf } from "../../../agent/crypto/index.js";
import type { PeeringUserOutputs } from "./schema.js";

interface Kubeconfig {
  clusters?: { cluster?: Record<string, string> }[];
  users?: { user?: Record<string, string> }[];
}

/** Whether the credential has expired, or will before long: two thirds of its time have passed. */
export function isExpiring({ kubeconfig }: Partial<PeeringUserOutputs>, now = Date.now()): boolean {
  if (!kubeconfig) return false;
  const validity = validityOf(certificateIn(kubeconfig));
  return validity !== undefined && isRenewalDue(validity, now);
}

/** Whether the credential is the user's: what broke off midway has a new user, and the credential of the one before. */
export function isOwn({ kubeconfig, userName }: Partial<PeeringUserOutputs>): boolean {
  return kubeconfig !== undefined && commonNameOf(certificateIn(kubeconfig)) === userName;
}

function certificateIn(kubeconfig: string): Buffer {
  const { users } = parse(kubeconfig) as Kubeconfig;
  return Buffer.from(users?.[0]?.user?.["client-certificate-data"] ?? "", "base64");
}

/** The API server's URL that was handed out. */
export function serverOf({ kubeconfig }: Partial<PeeringUserOutputs>): string | undefined {
  if (!kubeconfig) return undefined;
  const { clusters } = parse(kubeconfig) as Kubeconfig;
  return clusters?.[0]?.cluster?.["server"];
}
