/**
 * The few pieces of DER (ITU-T X.690) that certificate requests need, written out so that the same key and subject always give the same
 * bytes: a provider compares requests byte for byte (control plane specification, §4).
 */

export const Tag = {
  integer: 0x02,
  bitString: 0x03,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  printableString: 0x13,
  /** The attributes of a certificate request. */
  context0: 0xa0,
} as const;

export interface DerValue {
  tag: number;
  content: Buffer;
  /** The whole element with tag and length. */
  raw: Buffer;
}

export function encode(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content]);
}

export function encodeOid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap(base128);
  return encode(Tag.objectIdentifier, Buffer.from(bytes));
}

/** The bits of a whole number of bytes. */
export function encodeBitString(bytes: Uint8Array): Buffer {
  return encode(Tag.bitString, Buffer.from([0]), bytes);
}

/**
 * Reads the elements of a sequence's or set's content.
 *
 * @throws Error when the bytes are no well-formed DER of definite length
 */
export function decodeAll(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const value = decodeAt(bytes, offset);
    values.push(value);
    offset += value.raw.length;
  }
  return values;
}

/** Reads the one element that the bytes must consist of. */
export function decodeOne(bytes: Buffer): DerValue {
  const value = decodeAt(bytes, 0);
  if (value.raw.length !== bytes.length) throw new Error("DER: bytes after the end");
  return value;
}

export function decodeOid(value: DerValue): string {
  const numbers: number[] = [];
  let current = 0;
  for (const byte of value.content) {
    current = current * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      numbers.push(current);
      current = 0;
    }
  }
  const [first = 0, ...rest] = numbers;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...rest].join(".");
}

function decodeAt(bytes: Buffer, offset: number): DerValue {
  const tag = bytes[offset];
  const first = bytes[offset + 1];
  if (tag === undefined || first === undefined) throw new Error("DER: truncated");
  let length = first;
  let start = offset + 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4 || start + count > bytes.length) throw new Error("DER: length not readable");
    length = bytes.readUIntBE(start, count);
    start += count;
  }
  if (start + length > bytes.length) throw new Error("DER: truncated");
  return { tag, content: bytes.subarray(start, start + length), raw: bytes.subarray(offset, start + length) };
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, "hex");
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift((rest & 0x7f) | 0x80);
  }
  return bytes;
}
