import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, WIREGUARD_KEY_LENGTH } from "../api/names.js";

/**
 * The gateway's private key as base64 text: from the watched Secret, so that a new key counts at once (the kubelet takes up to a minute to renew
 * mounted files), else from the mounted file.
 *
 * @throws Error when it is no key
 */
export async function privateKeyOf(secret: Secret | undefined, keysFolder: string): Promise<string> {
  const data = secret?.data?.[DataKeys.privateKey];
  if (data !== undefined) {
    return checked(
      Buffer.from(data, "base64"),
      `data.${DataKeys.privateKey} of Secret ${secret?.metadata?.name ?? ""}`,
    );
  }
  const file = path.join(keysFolder, DataKeys.privateKey);
  return checked(await readFile(file), `private key ${file}`);
}

function checked(bytes: Buffer, what: string): string {
  if (bytes.length !== WIREGUARD_KEY_LENGTH)
    throw new Error(`${what}: must be ${WIREGUARD_KEY_LENGTH} bytes, has ${bytes.length}`);
  return bytes.toString("base64");
}
