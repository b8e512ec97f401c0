import { createPublicKey, sign } from "node:crypto";
import { Tag, encode, encodeBitString, encodeOid } from "../../agent/crypto/der.js";
import { encodePem } from "../../agent/crypto/pem.js";

const TYPES = { CN: "2.5.4.3", O: "2.5.4.10", OU: "2.5.4.11" } as const;
const ED25519 = "1.3.101.112";

/** One of these may hold several attributes. */
export type RelativeName = (readonly [type: keyof typeof TYPES, value: string])[];

/** A request, validly signed by an Ed25519 key (PEM), for whatever subject. */
export function requestFor(subject: RelativeName[], privateKeyPem: string): string {
  const names = subject.map((attributes) =>
    encode(Tag.set, ...attributes.map(([type, value]) => attribute(TYPES[type], value))),
  );
  const publicKey = createPublicKey(privateKeyPem).export({ type: "spki", format: "der" });
  const version = encode(Tag.integer, Buffer.from([0]));
  const info = encode(Tag.sequence, version, encode(Tag.sequence, ...names), publicKey, encode(Tag.context0));
  const signature = encodeBitString(sign(null, info, privateKeyPem));
  const algorithm = encode(Tag.sequence, encodeOid(ED25519));
  return encodePem("CERTIFICATE REQUEST", encode(Tag.sequence, info, algorithm, signature));
}

function attribute(type: string, value: string): Buffer {
  return encode(Tag.sequence, encodeOid(type), encode(Tag.utf8String, Buffer.from(value)));
}
