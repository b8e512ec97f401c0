import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";

/** A cluster's key pair as the Secret `authentication-keys` holds it (control plane specification, §2). */
export interface KeyPair {
  /** PEM, PKCS#8. */
  privateKey: string;
  /** PEM, PKIX (SubjectPublicKeyInfo). */
  publicKey: string;
}

/** Ed25519, or RSA for clusters in TLS compatibility mode. */
export type KeyAlgorithm = "Ed25519" | "RSA";

const RSA_BITS = 2048;
const ED25519_RAW_LENGTH = 32;
/** What precedes the 32 raw bytes in the PKIX form of an Ed25519 key. */
const ED25519_PKIX_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

const generate = promisify(generateKeyPair);

export async function makeKeyPair(algorithm: KeyAlgorithm = "Ed25519"): Promise<KeyPair> {
  const { privateKey, publicKey } =
    algorithm === "RSA" ? await generate("rsa", { modulusLength: RSA_BITS }) : await generate("ed25519", {});
  return { privateKey: exportPrivateKey(privateKey), publicKey: exportPublicKey(publicKey) };
}

/** The public key that belongs to a private key (PEM). Throws if the text is no private key; the message holds nothing of it. */
export function publicKeyOf(privateKeyPem: string): string {
  return exportPublicKey(createPublicKey(readPrivateKey(privateKeyPem)));
}

/** Throws an Error without details of the key if it cannot be read. */
export function readPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error("the private key is not a PEM block that can be read");
  }
}

/** Reads a peer's public key: PEM, or the 32 raw bytes of an Ed25519 key (Liqo before 1.0.2). Throws if it is neither. */
export function readPublicKey(bytes: Uint8Array): KeyObject {
  try {
    if (bytes.length === ED25519_RAW_LENGTH) {
      const der = Buffer.concat([ED25519_PKIX_PREFIX, bytes]);
      return createPublicKey({ key: der, format: "der", type: "spki" });
    }
    const text = Buffer.from(bytes).toString("utf8");
    if (!text.trimStart().startsWith("-----BEGIN PUBLIC KEY-----")) throw new Error("no public key");
    return createPublicKey(text);
  } catch {
    throw new Error("the public key is neither a PEM block nor the 32 bytes of an Ed25519 key");
  }
}

/** The PKIX (SubjectPublicKeyInfo) form. */
export function publicKeyDer(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function exportPrivateKey(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function exportPublicKey(key: KeyObject): string {
  return key.export({ type: "spki", format: "pem" }).toString();
}
