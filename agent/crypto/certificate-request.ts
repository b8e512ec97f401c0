import { createPublicKey, type KeyObject } from "node:crypto";
import { Names, sliceUserName } from "../api/index.js";
import { Tag, decodeAll, decodeOne, encode, encodeBitString, encodeOid } from "./der.js";
import { publicKeyDer, readPrivateKey, readPublicKey } from "./keys.js";
import { decodePem, encodePem } from "./pem.js";
import { signBytes, verifyBytes } from "./signature.js";
import { COMMON_NAME, ORGANIZATION, readSubject, type RequestedSubject } from "./subject.js";

/** Who a certificate is asked for. */
export interface CertificateSubject {
  commonName: string;
  organization: string;
}

/** What a certificate request says. */
export interface CertificateRequest extends RequestedSubject {
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Buffer;
}

const PEM_LABEL = "CERTIFICATE REQUEST";
/** What Go's encoder takes as PrintableString; any other text becomes UTF8String. */
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

const SIGNATURE_OIDS: Record<string, string> = {
  ed25519: "1.3.101.112",
  rsa: "1.2.840.113549.1.1.11",
  prime256v1: "1.2.840.10045.4.3.2",
  secp384r1: "1.2.840.10045.4.3.3",
  secp521r1: "1.2.840.10045.4.3.4",
};
const ECDSA_HASHES: Record<string, string> = { prime256v1: "sha256", secp384r1: "sha384", secp521r1: "sha512" };

/** The subject of a consumer's control plane identity (control plane specification, §2). */
export function controlPlaneSubject(consumerClusterID: string): CertificateSubject {
  return { commonName: consumerClusterID, organization: Names.controlPlaneGroup };
}

/** The subject of a slice's identity (control plane specification, §6). */
export function sliceSubject(sliceName: string, consumerClusterID: string): CertificateSubject {
  return { commonName: sliceUserName(sliceName, consumerClusterID), organization: consumerClusterID };
}

/**
 * A PEM certificate request without extensions, signed by the key (PEM). The same key and subject give the same bytes, for Ed25519 and RSA:
 * providers rely on it (control plane specification, §4).
 */
export function makeCertificateRequest(subject: CertificateSubject, privateKeyPem: string): string {
  const privateKey = readPrivateKey(privateKeyPem);
  const info = encode(
    Tag.sequence,
    encode(Tag.integer, Buffer.from([0])),
    encode(Tag.sequence, attribute(ORGANIZATION, subject.organization), attribute(COMMON_NAME, subject.commonName)),
    publicKeyDer(createPublicKey(privateKey)),
    encode(Tag.context0),
  );
  const signature = signBytes(privateKey, info, ECDSA_HASHES[curveOf(privateKey)]);
  return encodePem(PEM_LABEL, encode(Tag.sequence, info, signatureAlgorithm(privateKey), encodeBitString(signature)));
}

/**
 * Reads a request that is one PEM block and nothing after it.
 *
 * @throws Error saying why it cannot be read
 */
export function readCertificateRequest(pem: string): CertificateRequest {
  const [info] = decodeAll(decodeOne(decodePem(PEM_LABEL, pem)).content);
  const [, subject, publicKey] = info ? decodeAll(info.content) : [];
  if (!subject || !publicKey) throw new Error("the request has no subject and public key");
  return { ...readSubject(subject), publicKey: publicKey.raw };
}

/**
 * Checks a request against who may ask (control plane specification, §3): the subject, which must say nothing besides, as the API server would sign
 * that as well, and the key if one is given (PEM or raw bytes). The request's own signature is checked by the API server.
 *
 * @throws Error naming what does not match
 */
export function checkCertificateRequest(pem: string, subject: CertificateSubject, publicKey?: Uint8Array): void {
  const request = readCertificateRequest(pem);
  expectOnly("common name", request.commonNames, subject.commonName);
  expectOnly("organization", request.organizations, subject.organization);
  if (request.otherAttributes > 0) throw new Error("its subject says more than a common name and an organization");
  if (publicKey && !publicKeyDer(readPublicKey(publicKey)).equals(request.publicKey)) {
    throw new Error("its public key is not the one the consumer is registered with");
  }
}

function expectOnly(what: string, found: string[], wanted: string): void {
  if (found.length === 1 && found[0] === wanted) return;
  const values = found.map((value) => `"${value}"`).join(" and ") || '""';
  throw new Error(`its ${what} is ${values}, not "${wanted}"${found.length > 1 ? " alone" : ""}`);
}

/** Whether a request is for the subject and the key (PEM or raw bytes), and signed by that key: a certificate can be had for it. Never throws. */
export function isRequestOf(pem: string, subject: CertificateSubject, publicKey: Uint8Array): boolean {
  try {
    checkCertificateRequest(pem, subject, publicKey);
    const [info, , bits] = decodeAll(decodeOne(decodePem(PEM_LABEL, pem)).content);
    const key = readPublicKey(publicKey);
    // A bit string begins with the number of its unused bits.
    const signature = bits?.content.subarray(1);
    return !!info && !!signature && verifyBytes(key, info.raw, signature, ECDSA_HASHES[curveOf(key)]);
  } catch {
    return false;
  }
}

function attribute(oid: string, value: string): Buffer {
  const tag = PRINTABLE.test(value) ? Tag.printableString : Tag.utf8String;
  return encode(Tag.set, encode(Tag.sequence, encodeOid(oid), encode(tag, Buffer.from(value, "utf8"))));
}

function signatureAlgorithm(key: KeyObject): Buffer {
  const oid = SIGNATURE_OIDS[key.asymmetricKeyType === "ec" ? curveOf(key) : (key.asymmetricKeyType ?? "")];
  if (!oid) throw new Error("the key's type has no signature algorithm for certificate requests");
  const parameters = key.asymmetricKeyType === "rsa" ? [encode(Tag.null)] : [];
  return encode(Tag.sequence, encodeOid(oid), ...parameters);
}

function curveOf(key: KeyObject): string {
  return key.asymmetricKeyDetails?.namedCurve ?? "";
}
