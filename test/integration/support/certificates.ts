import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { generateKeyPairSync, randomBytes, webcrypto } from "node:crypto";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const VALIDITY_MS = 24 * 3600_000;

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  certificate: string;
  key: string;
}

/** A certificate authority that lives as long as the test. */
export interface Authority extends KeyPair {
  /** Issues a certificate, for servers and clients alike. `subject` is a distinguished name such as CN=admin,O=system:masters. */
  issue(subject: string, hosts?: { dns?: string[]; ip?: string[] }): Promise<KeyPair>;
  /** Answers a client's PEM request with a certificate that is valid from now on, for so many seconds. */
  sign(request: string, lifetimeSeconds: number): Promise<string>;
}

export async function createAuthority(name: string): Promise<Authority> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    serialNumber: serial(),
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    certificate: certificate.toString("pem"),
    key: await privatePem(keys.privateKey),
    issue: (subject, hosts = {}) => issue({ certificate, key: keys.privateKey }, subject, hosts),
    sign: (request, lifetimeSeconds) => sign({ certificate, key: keys.privateKey }, request, lifetimeSeconds),
  };
}

/** A private key for tokens of service accounts, in the SEC 1 form: the API server reads no other for elliptic curves. */
export function createSigningKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "sec1", format: "pem" }).toString();
}

interface Issuer {
  certificate: x509.X509Certificate;
  key: webcrypto.CryptoKey;
}

async function issue(issuer: Issuer, subject: string, hosts: { dns?: string[]; ip?: string[] }): Promise<KeyPair> {
  const keys = await generateKeys();
  const names: x509.JsonGeneralNames = [
    ...(hosts.dns ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(hosts.ip ?? []).map((value) => ({ type: "ip" as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    ...leafOf(issuer, subject, keys.publicKey),
    ...validity(),
    extensions: [...leafExtensions(), ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [])],
  });
  return { certificate: certificate.toString("pem"), key: await privatePem(keys.privateKey) };
}

async function sign(issuer: Issuer, request: string, lifetimeSeconds: number): Promise<string> {
  const { subject, publicKey } = new x509.Pkcs10CertificateRequest(request);
  const notBefore = new Date();
  const certificate = await x509.X509CertificateGenerator.create({
    ...leafOf(issuer, subject, publicKey),
    notBefore,
    notAfter: new Date(notBefore.getTime() + lifetimeSeconds * 1000),
    extensions: leafExtensions(),
  });
  return `${certificate.toString("pem")}\n`;
}

function leafOf(issuer: Issuer, subject: string, publicKey: x509.PublicKey | webcrypto.CryptoKey) {
  return {
    serialNumber: serial(),
    subject,
    issuer: issuer.certificate.subject,
    publicKey,
    signingKey: issuer.key,
    signingAlgorithm: ALGORITHM,
  };
}

function leafExtensions(): x509.Extension[] {
  return [
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
  ];
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - 3600_000), notAfter: new Date(now + VALIDITY_MS) };
}

/** A leading 01 keeps the number positive. */
function serial(): string {
  return `01${randomBytes(15).toString("hex")}`;
}
