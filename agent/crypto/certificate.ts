import { X509Certificate } from "node:crypto";

/** A certificate's time of validity, in milliseconds since 1970. */
export interface Validity {
  notBefore: number;
  notAfter: number;
}

/** Renew when a third of the lifetime is left; look again a little after that point (control plane specification, §10). */
const RENEWAL_FRACTION = 3;
const LOOK_AGAIN_FACTOR = 1.1;
/** Timers cannot wait longer than 24 days. */
const LONGEST_WAIT_MS = 20 * 24 * 3600 * 1000;

/** Undefined when the PEM text is no certificate. */
export function validityOf(certificatePem: string | Uint8Array): Validity | undefined {
  try {
    const certificate = new X509Certificate(certificatePem);
    return { notBefore: Date.parse(certificate.validFrom), notAfter: Date.parse(certificate.validTo) };
  } catch {
    return undefined;
  }
}

/** Of a certificate's subject; undefined when the PEM text is no certificate. */
export function commonNameOf(certificatePem: string | Uint8Array): string | undefined {
  try {
    return /^CN=(.*)$/m.exec(new X509Certificate(certificatePem).subject)?.[1];
  } catch {
    return undefined;
  }
}

/** SubjectPublicKeyInfo (DER) of a PEM certificate; undefined when it is none. */
export function certificateKey(certificatePem: string | Uint8Array): Buffer | undefined {
  try {
    return new X509Certificate(certificatePem).publicKey.export({ type: "spki", format: "der" });
  } catch {
    return undefined;
  }
}

/** Whether it is time to ask for the next one. */
export function isRenewalDue(validity: Validity, now = Date.now()): boolean {
  return now >= renewalTime(validity);
}

/** Milliseconds until the certificate should be looked at again, at least one second. */
export function untilRenewal(validity: Validity, now = Date.now()): number {
  return Math.min(LONGEST_WAIT_MS, Math.max(1_000, (renewalTime(validity) - now) * LOOK_AGAIN_FACTOR));
}

function renewalTime({ notBefore, notAfter }: Validity): number {
  return notAfter - (notAfter - notBefore) / RENEWAL_FRACTION;
}
