import { createPrivateKey, createPublicKey } from "node:crypto";
import { DataKeys, WIREGUARD_KEY_LENGTH } from "../api/names.js";

/** What comes before the 32 bytes of an X25519 private key in its PKCS #8 form. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex");

/** The public key of a private one, both base64 of 32 bytes. */
export function wireguardPublicKey(privateKey: string): string {
  const key = Buffer.concat([PKCS8_PREFIX, Buffer.from(privateKey, "base64")]);
  const { x = "" } = createPublicKey(createPrivateKey({ key, format: "der", type: "pkcs8" })).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/** Why the data of a key Secret are no pair of keys; undefined when they are one. */
export function keyPairProblem(data: Readonly<Record<string, string>> | undefined): string | undefined {
  for (const field of [DataKeys.privateKey, DataKeys.publicKey]) {
    const bytes = Buffer.from(data?.[field] ?? "", "base64");
    if (bytes.length === WIREGUARD_KEY_LENGTH) continue;
    const hint = isEncodedKey(bytes.toString("latin1")) ? ": it is base64 encoded twice" : "";
    return `data.${field} must be ${WIREGUARD_KEY_LENGTH} bytes, has ${bytes.length}${hint}`;
  }
  const publicKey = wireguardPublicKey(data?.[DataKeys.privateKey] ?? "");
  if (publicKey === Buffer.from(data?.[DataKeys.publicKey] ?? "", "base64").toString("base64")) return undefined;
  return `data.${DataKeys.publicKey} does not belong to data.${DataKeys.privateKey}; the one that does is ${publicKey}`;
}

/** Whether a text is a key as WireGuard's own tools print it. */
function isEncodedKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=\s*$/.test(text);
}
