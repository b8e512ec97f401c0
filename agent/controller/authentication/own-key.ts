import {
  certificateKey,
  publicKeyDer,
  publicKeyOf,
  readCertificateRequest,
  readPublicKey,
  type KeyPair,
} from "../../crypto/index.js";
import { decodeBase64 } from "./lookups.js";

/** Whether a certificate (PEM, as base64) was issued for this key pair; undefined when it is none that can be read. */
export function isCertificateOf(keys: KeyPair, certificate: string | undefined): boolean | undefined {
  return certificateKey(decodeBase64(certificate))?.equals(derOf(keys));
}

/** Whether a request (PEM, as base64) is by this key pair; undefined when it is none that can be read. */
export function isRequestBy(keys: KeyPair, csr: string | undefined): boolean | undefined {
  try {
    return readCertificateRequest(decodeBase64(csr).toString("utf8")).publicKey.equals(derOf(keys));
  } catch {
    return undefined;
  }
}

function derOf({ privateKey }: KeyPair): Buffer {
  return publicKeyDer(readPublicKey(Buffer.from(publicKeyOf(privateKey))));
}
