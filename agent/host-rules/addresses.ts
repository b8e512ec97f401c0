import { isIPv4, isIPv6 } from "node:net";
import { isCidr, parseIPv4 } from "../api/cidr.js";

/** Addresses in nftables' own JSON. */
export type NftAddresses = string | { prefix: { addr: string; len: number } } | { range: [string, string] };

export interface Addresses {
  family: "ip" | "ip6";
  value: NftAddresses;
}

/** Reads an address, a range such as "10.0.0.0/16", or two addresses joined by a dash. Undefined when it is none of these. */
export function parseAddresses(text: string): Addresses | undefined {
  if (text.includes("/")) return parseRange(text);
  const [first = "", last, ...rest] = text.split("-");
  const family = familyOf(first);
  if (!family || rest.length > 0) return undefined;
  if (last === undefined) return { family, value: first };
  const isBackwards = family === "ip" && isIPv4(last) && parseIPv4(last) < parseIPv4(first);
  return familyOf(last) === family && !isBackwards ? { family, value: { range: [first, last] } } : undefined;
}

function parseRange(text: string): Addresses | undefined {
  const [addr = "", length = "", ...rest] = text.split("/");
  const family = familyOf(addr);
  const len = Number(length);
  if (!family || rest.length > 0 || !/^\d{1,3}$/.test(length) || len > (family === "ip" ? 32 : 128)) return undefined;
  if (family === "ip" && !isCidr(text)) return undefined;
  return { family, value: { prefix: { addr, len } } };
}

function familyOf(address: string): "ip" | "ip6" | undefined {
  if (isIPv4(address)) return "ip";
  return isIPv6(address) && !address.includes("%") ? "ip6" : undefined;
}

/** Ports in nftables' own JSON: one, or two joined by a dash. Undefined when the text is neither. */
export function parsePorts(text: string): number | { range: [number, number] } | undefined {
  const ports = text.split("-").map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : NaN));
  const [first = NaN, last] = ports;
  if (ports.length > 2 || ports.some((port) => !(port <= 65_535))) return undefined;
  if (last === undefined) return first;
  return first <= last ? { range: [first, last] } : undefined;
}

/** A number of 32 bits, decimal or "0x…". Undefined when the text is none. */
export function parseMark(text: string): number | undefined {
  const isNumber = /^(0x[0-9a-fA-F]{1,8}|\d{1,10})$/.test(text);
  return isNumber && Number(text) <= 0xff_ff_ff_ff ? Number(text) : undefined;
}

/** What the kernel takes as the name of a network device, and no tool takes for anything else. */
export function isDeviceName(text: string): boolean {
  return /^[A-Za-z0-9_.:@+][A-Za-z0-9_.:@+-]{0,14}$/.test(text);
}
