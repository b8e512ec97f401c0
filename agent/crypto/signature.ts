import { sign, verify, type KeyObject } from "node:crypto";

/**
 * Signs as Liqo does: Ed25519 over the bytes themselves, RSA by PKCS#1 v1.5 over SHA-256, ECDSA in ASN.1 over a hash (control plane
 * specification, §2).
 */
export function signBytes(privateKey: KeyObject, bytes: Uint8Array, ecdsaHash = "sha256"): Buffer {
  return sign(hashFor(privateKey, ecdsaHash), bytes, privateKey);
}

/** Whether the signature over the bytes was made by the holder of the public key. Never throws: what cannot be verified is not valid. */
export function verifyBytes(
  publicKey: KeyObject,
  bytes: Uint8Array,
  signature: Uint8Array,
  ecdsaHash = "sha256",
): boolean {
  try {
    return verify(hashFor(publicKey, ecdsaHash), bytes, publicKey, signature);
  } catch {
    return false;
  }
}

function hashFor(key: KeyObject, ecdsaHash: string): string | null {
  const type = key.asymmetricKeyType ?? "(unknown)";
  if (type === "ed25519") return null;
  if (type === "rsa") return "sha256";
  if (type === "ec") return ecdsaHash;
  throw new Error(`keys of type ${type} are not supported: use Ed25519, RSA or ECDSA`);
}
