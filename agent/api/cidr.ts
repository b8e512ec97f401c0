/** An IPv4 range: its first address as an unsigned 32-bit number, and its prefix length. */
export interface Cidr {
  base: number;
  prefix: number;
}

const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const ADDRESS = new RegExp(`^${OCTET}\\.${OCTET}\\.${OCTET}\\.${OCTET}$`);
/** For schemas: an IPv4 range, host bits or not. */
export const IPV4_CIDR_PATTERN = `^${OCTET}(\\.${OCTET}){3}/(3[0-2]|[12]?[0-9])$`;
const PREFIX = /^(3[0-2]|[12]?[0-9])$/;

/** Reads a dotted address as an unsigned number. @throws Error when it is not one */
export function parseIPv4(text: string): number {
  const match = ADDRESS.exec(text);
  if (!match) throw new Error(`"${text}" is not an IPv4 address such as "10.0.0.1"`);
  return match.slice(1).reduce((value, octet) => value * 256 + Number(octet), 0);
}

export function formatIPv4(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

export function isIPv4(text: string): boolean {
  return ADDRESS.test(text);
}

/** Reads a range and clears its host bits. @throws Error when it is not a range */
export function parseCidr(text: string): Cidr {
  const [address = "", prefix = "", ...rest] = text.split("/");
  if (rest.length > 0 || !PREFIX.test(prefix) || !isIPv4(address)) {
    throw new Error(`"${text}" is not an IPv4 range such as "10.0.0.0/16"`);
  }
  const length = Number(prefix);
  return { base: networkOf(parseIPv4(address), length), prefix: length };
}

/** Reads a range that must be written with its first address. @throws Error naming the right form otherwise */
export function parseStrictCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  const canonical = formatCidr(cidr);
  if (canonical !== text) throw new Error(`"${text}" has host bits set: write "${canonical}"`);
  return cidr;
}

export function formatCidr({ base, prefix }: Cidr): string {
  return `${formatIPv4(base)}/${prefix}`;
}

export function isCidr(text: string): boolean {
  try {
    parseCidr(text);
    return true;
  } catch {
    return false;
  }
}

/** The range without host bits: "10.1.2.3/16" becomes "10.1.0.0/16". */
export function canonicalCidr(text: string): string {
  return formatCidr(parseCidr(text));
}

/** The number of addresses, the network and broadcast addresses included. */
export function cidrSize(cidr: string): number {
  return sizeOf(parseCidr(cidr).prefix);
}

export function cidrContainsAddress(cidr: string, address: string): boolean {
  return containsNumber(parseCidr(cidr), parseIPv4(address));
}

/** Whether the outer range contains or equals the inner one. */
export function cidrContains(outer: string, inner: string): boolean {
  const [a, b] = [parseCidr(outer), parseCidr(inner)];
  return a.prefix <= b.prefix && containsNumber(a, b.base);
}

export function cidrsOverlap(a: string, b: string): boolean {
  return cidrContains(a, b) || cidrContains(b, a);
}

/** The network address: the one that unknown sources are shown as (network specification, §1). */
export function firstAddress(cidr: string): string {
  return formatIPv4(parseCidr(cidr).base);
}

export function lastAddress(cidr: string): string {
  return nthAddress(cidr, cidrSize(cidr) - 1);
}

/** The n-th address, the network address being the 0th. @throws Error beyond the range */
export function nthAddress(cidr: string, n: number): string {
  const { base, prefix } = parseCidr(cidr);
  if (!Number.isInteger(n) || n < 0 || n >= sizeOf(prefix)) {
    throw new Error(`range ${cidr} has ${sizeOf(prefix)} addresses: there is no address number ${n}`);
  }
  return formatIPv4(base + n);
}

/** The position of an address in a range: the opposite of nthAddress. @throws Error outside the range */
export function addressIndex(cidr: string, address: string): number {
  if (!cidrContainsAddress(cidr, address)) throw new Error(`address ${address} is not in range ${cidr}`);
  return parseIPv4(address) - parseCidr(cidr).base;
}

/** Replaces the prefix, keeping host bits. @throws Error when sizes differ or the address is not in `from` */
export function remapAddress(address: string, from: string, to: string): string {
  if (parseCidr(from).prefix !== parseCidr(to).prefix) {
    throw new Error(`ranges ${from} and ${to} differ in size: addresses cannot be mapped one to one`);
  }
  return nthAddress(to, addressIndex(from, address));
}

/** Remaps by the first pair whose first range has the address; outside all of them it stays as it is. */
export function mapAddress(address: string, pairs: Iterable<readonly [from: string, to: string]>): string {
  for (const [from, to] of pairs) {
    if (cidrContainsAddress(from, address)) return remapAddress(address, from, to);
  }
  return address;
}

/** The two halves of a range, lower first. @throws Error for a single address */
export function splitCidr(cidr: string): [string, string] {
  const { base, prefix } = parseCidr(cidr);
  if (prefix === 32) throw new Error(`range ${cidr} is a single address and cannot be split`);
  const half = prefix + 1;
  return [formatCidr({ base, prefix: half }), formatCidr({ base: base + sizeOf(half), prefix: half })];
}

/** All ranges of the given prefix length in a range, in ascending order, made as they are asked for. */
export function* subdivideCidr(cidr: string, prefix: number): Generator<string> {
  const outer = parseCidr(cidr);
  if (!Number.isInteger(prefix) || prefix < outer.prefix || prefix > 32) {
    throw new Error(`range ${cidr} cannot be divided into ranges of prefix length ${prefix}`);
  }
  const end = outer.base + sizeOf(outer.prefix);
  for (let base = outer.base; base < end; base += sizeOf(prefix)) yield formatCidr({ base, prefix });
}

function sizeOf(prefix: number): number {
  return 2 ** (32 - prefix);
}

function networkOf(address: number, prefix: number): number {
  return address - (address % sizeOf(prefix));
}

function containsNumber({ base, prefix }: Cidr, address: number): boolean {
  return networkOf(address, prefix) === base;
}
