import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** What Secret liqo-webhook-certs holds; all PEM. */
export interface WebhookCertificates {
  ca: string;
  certificate: string;
  key: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const CA_DAYS = 3650;
const SERVER_DAYS = 365;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/**
 * Makes a certificate authority and, with it, a server certificate for the given names and addresses. The authority's key is thrown
 * away: the next server certificate gets its own authority, so there is no key that could sign anything else.
 */
export async function makeCertificates(hosts: readonly string[], now = new Date()): Promise<WebhookCertificates> {
  const authority = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const ca = await X509CertificateGenerator.createSelfSigned({
    name: "CN=liqo-webhook-ca",
    serialNumber: serialNumber(),
    notBefore: now,
    notAfter: daysAfter(now, CA_DAYS),
    keys: authority,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.create({
    subject: "CN=liqo-webhook",
    issuer: ca.subject,
    serialNumber: serialNumber(),
    notBefore: now,
    notAfter: daysAfter(now, SERVER_DAYS),
    publicKey: keys.publicKey,
    signingKey: authority.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(hosts.map((host) => ({ type: isAddress(host) ? "ip" : "dns", value: host }))),
    ],
  });
  const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { ca: line(ca.toString("pem")), certificate: line(certificate.toString("pem")), key: line(key) };
}

/** Whether a server certificate names all hosts and has more than a third of its life left. */
export function isServing(certificate: string, hosts: readonly string[], now = new Date()): boolean {
  try {
    const parsed = new X509Certificate(certificate);
    const [from, to] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
    if (now.getTime() >= to - (to - from) / 3) return false;
    return hosts.every((host) => (isAddress(host) ? parsed.checkIP(host) : parsed.checkHost(host)) !== undefined);
  } catch {
    return false;
  }
}

/** The first certificate of a bundle. */
export function firstCertificate(bundle: string): string {
  const end = "-----END CERTIFICATE-----";
  const index = bundle.indexOf(end);
  return index < 0 ? "" : `${bundle.slice(0, index + end.length)}\n`;
}

function isAddress(host: string): boolean {
  return /^[0-9.]+$/.test(host);
}

function daysAfter(date: Date, days: number): Date {
  return new Date(date.getTime() + days * DAY_MS);
}

/** 16 random bytes, the first bit clear, as a serial number is positive. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return Buffer.from(bytes).toString("hex");
}

function line(pem: string): string {
  return pem.endsWith("\n") ? pem : `${pem}\n`;
}
