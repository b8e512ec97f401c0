import { createPublicKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import {
  Tag,
  decodeAll,
  decodeOid,
  decodeOne,
  encode,
  encodeBitString,
  encodeOid,
  type DerValue,
} from "../../crypto/der.js";
import { decodePem, encodePem } from "../../crypto/pem.js";
import { COMMON_NAME, ORGANIZATION, readAttribute, readSubject, type RequestedSubject } from "../../crypto/subject.js";
import { formatIPv4, isIPv4, parseIPv4 } from "../../api/cidr.js";

/** A kubelet's organization, exactly. */
export const NODES_GROUP = "system:nodes";
export const NODE_USER_PREFIX = "system:node:";

const OCTET_STRING = 0x04;
const UTC_TIME = 0x17;
const EXPLICIT_0 = 0xa0;
const EXPLICIT_3 = 0xa3;
/** Kinds of names that a certificate may be for. */
const NAME_TAGS = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;
const Oid = {
  extensionRequest: "1.2.840.113549.1.9.14",
  alternativeNames: "2.5.29.17",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
} as const;
const SELF_SIGNED_MS = 365 * 24 * 3600 * 1000;

/** What a request for a kubelet's serving certificate says. */
export interface ServingRequest extends RequestedSubject {
  ips: string[];
  dns: string[];
  /** Alternative names of other kinds. */
  otherNames: number;
  /** Extensions other than the alternative names. */
  otherExtensions: number;
}

/** A new ECDSA key on P-256, as any kubelet uses. */
export function makeServingKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** A PEM certificate request of a node, for one address (offloading specification, §7.2). */
export function makeServingRequest(key: KeyObject, nodeName: string, ip: string): string {
  const extensions = encode(Tag.sequence, alternativeNames(ip));
  const requested = encode(Tag.sequence, encodeOid(Oid.extensionRequest), encode(Tag.set, extensions));
  const info = encode(
    Tag.sequence,
    encode(Tag.integer, Buffer.from([0])),
    nodeSubject(nodeName),
    publicKeyOf(key),
    encode(Tag.context0, requested),
  );
  return encodePem("CERTIFICATE REQUEST", signed(info, key));
}

/** A PEM certificate that nobody vouches for, until the cluster has issued one. */
export function makeSelfSigned(key: KeyObject, nodeName: string, ip: string, now = new Date()): string {
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(15)]);
  const usage = encode(
    Tag.sequence,
    encodeOid(Oid.extendedKeyUsage),
    encode(OCTET_STRING, encode(Tag.sequence, encodeOid(Oid.serverAuth))),
  );
  const body = encode(
    Tag.sequence,
    encode(EXPLICIT_0, encode(Tag.integer, Buffer.from([2]))),
    encode(Tag.integer, serial),
    signatureAlgorithm(),
    nodeSubject(nodeName),
    encode(Tag.sequence, utcTime(new Date(now.getTime() - 60_000)), utcTime(new Date(now.getTime() + SELF_SIGNED_MS))),
    nodeSubject(nodeName),
    publicKeyOf(key),
    encode(EXPLICIT_3, encode(Tag.sequence, usage, alternativeNames(ip))),
  );
  return encodePem("CERTIFICATE", signed(body, key));
}

/**
 * Reads a PEM certificate request. Its signature is checked by the API server.
 *
 * @throws Error saying why it cannot be read
 */
export function readServingRequest(pem: string): ServingRequest {
  const [info] = decodeAll(decodeOne(decodePem("CERTIFICATE REQUEST", pem)).content);
  const [, subject, , attributes] = info ? decodeAll(info.content) : [];
  if (!subject) throw new Error("the request has no subject");
  const extensions = attributes ? decodeAll(attributes.content).flatMap(readExtensions) : [];
  const alternatives = extensions.filter(({ oid }) => oid === Oid.alternativeNames).flatMap(({ names: list }) => list);
  const textsOf = (tag: number): string[] =>
    alternatives.filter((name) => name.tag === tag).map(({ content }) => content.toString("latin1"));
  const { ip, dns } = NAME_TAGS;
  return {
    ...readSubject(subject),
    ips: alternatives.filter(({ tag }) => tag === ip).map(({ content }) => ipText(content)),
    dns: textsOf(dns),
    otherNames: alternatives.filter(({ tag }) => tag !== ip && tag !== dns).length,
    otherExtensions: extensions.filter(({ oid }) => oid !== Oid.alternativeNames).length,
  };
}

function readExtensions(attribute: DerValue): { oid: string; names: DerValue[] }[] {
  const { oid, value } = readAttribute(attribute);
  if (oid !== Oid.extensionRequest) return [{ oid, names: [] }];
  return decodeAll(value.content)
    .flatMap(({ content }) => decodeAll(content))
    .map((extension) => {
      const parts = decodeAll(extension.content);
      const [id, ...rest] = parts;
      const octets = rest.at(-1);
      if (!id || octets?.tag !== OCTET_STRING) throw new Error("an extension of the request cannot be read");
      const known = decodeOid(id) === Oid.alternativeNames;
      return { oid: decodeOid(id), names: known ? decodeAll(decodeOne(octets.content).content) : [] };
    });
}

function nodeSubject(nodeName: string): Buffer {
  return encode(
    Tag.sequence,
    attribute(ORGANIZATION, NODES_GROUP),
    attribute(COMMON_NAME, `${NODE_USER_PREFIX}${nodeName}`),
  );
}

function attribute(oid: string, value: string): Buffer {
  return encode(Tag.set, encode(Tag.sequence, encodeOid(oid), encode(Tag.utf8String, Buffer.from(value))));
}

function alternativeNames(ip: string): Buffer {
  const name = encode(NAME_TAGS.ip, ipBytes(ip));
  return encode(Tag.sequence, encodeOid(Oid.alternativeNames), encode(OCTET_STRING, encode(Tag.sequence, name)));
}

function signed(body: Buffer, key: KeyObject): Buffer {
  return encode(Tag.sequence, body, signatureAlgorithm(), encodeBitString(sign("sha256", body, key)));
}

function signatureAlgorithm(): Buffer {
  return encode(Tag.sequence, encodeOid(Oid.ecdsaWithSha256));
}

function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

function utcTime(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]/g, "").slice(2, 14);
  return encode(UTC_TIME, Buffer.from(`${digits}Z`));
}

function ipBytes(ip: string): Buffer {
  if (isIPv4(ip)) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(parseIPv4(ip));
    return bytes;
  }
  return ipv6Bytes(ip);
}

function ipv6Bytes(ip: string): Buffer {
  const [left = "", right] = ip.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const head = groups(left);
  const tail = right === undefined ? [] : groups(right);
  const fill = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  const all = right === undefined ? head : [...head, ...fill, ...tail];
  if (all.length !== 8) throw new Error(`"${ip}" is no IP address`);
  const bytes = Buffer.alloc(16);
  all.forEach((group, index) => bytes.writeUInt16BE(parseInt(group, 16), index * 2));
  return bytes;
}

/** IPv6 in full, without abbreviation. */
function ipText(bytes: Buffer): string {
  if (bytes.length === 4) return formatIPv4(bytes.readUInt32BE());
  return (bytes.toString("hex").match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, "")).join(":");
}

/** Two spellings of one address are equal. */
export function normalizedIP(ip: string): string {
  return ipText(ipBytes(ip));
}
