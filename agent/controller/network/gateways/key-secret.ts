import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, Labels, WIREGUARD_KEY_LENGTH, gatewayResourceName } from "../../../api/index.js";

/** Selects key Secrets (network specification, §5.5). */
export const KEY_SECRET_SELECTOR = `${Labels.gatewayResource}=true`;

/**
 * The name of a gateway's key Secret: the one that its spec names, else the only one with the labels of its remote cluster, else
 * the one that will be made.
 *
 * @throws Error when several have the labels
 */
export function keySecretName(
  gateway: { name: string; secretRef?: string; remoteClusterID: string },
  labelled: readonly Secret[],
): string {
  if (gateway.secretRef) return gateway.secretRef;
  const matching = labelled.filter(
    ({ metadata }) => metadata?.labels?.[Labels.remoteClusterID] === gateway.remoteClusterID,
  );
  if (matching.length > 1) {
    const names = matching.map(({ metadata }) => metadata?.name).join(", ");
    throw new Error(`several key Secrets for cluster ${gateway.remoteClusterID}: ${names}; name one in spec.secretRef`);
  }
  return matching[0]?.metadata?.name ?? gatewayResourceName(gateway.name);
}

/** Why a Secret cannot serve as a gateway's keys; undefined when it can. */
export function keySecretProblem(secret: Secret, remoteClusterID: string): string | undefined {
  for (const field of [DataKeys.privateKey, DataKeys.publicKey]) {
    const bytes = Buffer.from(secret.data?.[field] ?? "", "base64");
    if (bytes.length === WIREGUARD_KEY_LENGTH) continue;
    const hint = isEncodedKey(bytes.toString("latin1")) ? ": it is base64 encoded twice" : "";
    return `data.${field} must be ${WIREGUARD_KEY_LENGTH} bytes, has ${bytes.length}${hint}`;
  }
  const publicKey = publicKeyOf(secret.data?.[DataKeys.privateKey] ?? "");
  if (publicKey !== Buffer.from(secret.data?.[DataKeys.publicKey] ?? "", "base64").toString("base64"))
    return `data.${DataKeys.publicKey} does not belong to data.${DataKeys.privateKey}; the one that does is ${publicKey}`;
  const owner = secret.metadata?.labels?.[Labels.remoteClusterID];
  if (owner !== undefined && owner !== remoteClusterID)
    return `its label says cluster ${owner}, not ${remoteClusterID}`;
  return undefined;
}

/** What comes before the 32 bytes of an X25519 private key in its PKCS #8 form. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex");

/** The public key of a private one, both base64 of 32 bytes. */
export function publicKeyOf(privateKey: string): string {
  const key = Buffer.concat([PKCS8_PREFIX, Buffer.from(privateKey, "base64")]);
  const { x = "" } = createPublicKey(createPrivateKey({ key, format: "der", type: "pkcs8" })).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/** Whether a text is a key as WireGuard's own tools print it. */
function isEncodedKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=\s*$/.test(text);
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
