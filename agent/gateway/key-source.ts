import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, WIREGUARD_KEY_LENGTH } from "../api/names.js";
import { keyPairProblem } from "../crypto/wireguard-keys.js";

/**
 * The gateway's private key as base64 text: from the watched Secret, so that a new key counts at once (the kubelet takes up to a minute to renew
 * mounted files), else from the mounted file. One whose public part is not the Secret's would cut a tunnel that works.
 *
 * @throws Error when it is no key, or half of a pair
 */
export async function privateKeyOf(secret: Secret | undefined, keysFolder: string): Promise<string> {
  const data = secret?.data?.[DataKeys.privateKey];
  if (data !== undefined) {
    const problem = keyPairProblem(secret?.data);
    if (problem) throw new Error(`Secret ${secret?.metadata?.name ?? ""}: ${problem}`);
    return clamped(Buffer.from(data, "base64"));
  }
  const file = path.join(keysFolder, DataKeys.privateKey);
  const bytes = await readFile(file);
  if (bytes.length !== WIREGUARD_KEY_LENGTH)
    throw new Error(`private key ${file}: must be ${WIREGUARD_KEY_LENGTH} bytes, has ${bytes.length}`);
  return clamped(bytes);
}

/** As WireGuard keeps and tells it (RFC 7748, §5): another writing of the same key would be taken for a new one at every look. */
function clamped(key: Buffer): string {
  const copy = Buffer.from(key);
  copy[0] = (copy[0] ?? 0) & 0xf8;
  copy[31] = ((copy[31] ?? 0) & 0x7f) | 0x40;
  return copy.toString("base64");
}
