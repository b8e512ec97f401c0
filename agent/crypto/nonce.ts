import { randomBytes } from "node:crypto";
import { readPrivateKey, readPublicKey } from "./keys.js";
import { signBytes, verifyBytes } from "./signature.js";

const NONCE_BYTES = 64;

/** 64 random bytes as 88 characters of base64: that text is the nonce (control plane specification, §2). */
export function makeNonce(): string {
  return randomBytes(NONCE_BYTES).toString("base64");
}

/** Signs the nonce's characters, not the bytes they stand for. */
export function signNonce(privateKeyPem: string, nonce: Uint8Array): Buffer {
  return signBytes(readPrivateKey(privateKeyPem), nonce);
}

/** Whether the peer signed this nonce. False as well when its key cannot be read. */
export function isNonceSignature(publicKey: Uint8Array, nonce: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verifyBytes(readPublicKey(publicKey), nonce, signature);
  } catch {
    return false;
  }
}
