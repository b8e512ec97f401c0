import { generateKeyPairSync } from "node:crypto";
import type { Secret } from "kubernetes-types/core/v1";
import { Labels, gatewayResourceName } from "../../../api/index.js";
import { keyPairProblem } from "../../../crypto/wireguard-keys.js";

/** Selects key Secrets (network specification, §5.5). */
export const KEY_SECRET_SELECTOR = `${Labels.gatewayResource}=true`;

/**
 * The name of a gateway's key Secret: the one that its spec names, else the only one with the labels of its remote cluster, else
 * the one that will be made. The keys that another gateway leaves go with that one.
 *
 * @param isLeft whether a Secret's owner is gone or about to go
 * @throws Error when several have the labels
 */
export function keySecretName(
  gateway: { name: string; secretRef?: string; remoteClusterID: string },
  labelled: readonly Secret[],
  isLeft: (secret: Secret) => boolean = () => false,
): string {
  if (gateway.secretRef) return gateway.secretRef;
  const generated = gatewayResourceName(gateway.name);
  const matching = labelled.filter(
    (secret) =>
      secret.metadata?.labels?.[Labels.remoteClusterID] === gateway.remoteClusterID &&
      (secret.metadata.name === generated || !isLeft(secret)),
  );
  if (matching.length > 1) {
    const names = matching.map(({ metadata }) => metadata?.name).join(", ");
    throw new Error(`several key Secrets for cluster ${gateway.remoteClusterID}: ${names}; name one in spec.secretRef`);
  }
  return matching[0]?.metadata?.name ?? generated;
}

/** Why a Secret cannot serve as a gateway's keys; undefined when it can. */
export function keySecretProblem(secret: Secret, remoteClusterID: string): string | undefined {
  const problem = keyPairProblem(secret.data);
  if (problem) return problem;
  const owner = secret.metadata?.labels?.[Labels.remoteClusterID];
  if (owner !== undefined && owner !== remoteClusterID)
    return `its label says cluster ${owner}, not ${remoteClusterID}`;
  return undefined;
}

export function keySecretLabels(remoteClusterID: string): Record<string, string> {
  return { [Labels.gatewayResource]: "true", [Labels.remoteClusterID]: remoteClusterID };
}

/** A new WireGuard key pair as Secret data: base64 of 32 raw bytes each. */
export function newKeyPair(): { privateKey: string; publicKey: string } {
  const { d = "", x = "" } = generateKeyPairSync("x25519").privateKey.export({ format: "jwk" });
  const privateKey = Buffer.from(d, "base64url");
  // The clamped form, as WireGuard's own tools write it; the public key is the same.
  privateKey[0] = (privateKey[0] ?? 0) & 248;
  privateKey[31] = ((privateKey[31] ?? 0) & 127) | 64;
  return { privateKey: privateKey.toString("base64"), publicKey: Buffer.from(x, "base64url").toString("base64") };
}
