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
    return Buffer.from(data, "base64").toString("base64");
  }
  const file = path.join(keysFolder, DataKeys.privateKey);
  const bytes = await readFile(file);
  if (bytes.length !== WIREGUARD_KEY_LENGTH)
    throw new Error(`private key ${file}: must be ${WIREGUARD_KEY_LENGTH} bytes, has ${bytes.length}`);
  return bytes.toString("base64");
}
