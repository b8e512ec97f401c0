import {
  cidrContains,
  cidrsOverlap,
  canonicalCidr,
  cidrSize,
  nthAddress,
  parseCidr,
  splitCidr,
} from "../../../api/index.js";

/** A range that some Network holds. */
export interface HeldRange {
  cidr: string;
  /** Shared ranges may overlap each other. */
  shared: boolean;
}

export interface RangeRequest {
  cidr: string;
  /** This range or none. */
  immutable: boolean;
  shared: boolean;
}

/**
 * Chooses the range of a Network (network specification, §2). Immutable ranges are taken as they are; others too where
 * nothing stands against it, else the first free block of the same size, so that blocks pack next to used ones.
 *
 * @throws Error when there is no such range, with the reason
 */
export function chooseRange(request: RangeRequest, held: readonly HeldRange[], pools: readonly string[]): string {
  const cidr = canonicalCidr(request.cidr);
  const isPooled = pools.some((pool) => cidrContains(pool, cidr));
  if (request.immutable) return immutableRange(cidr, request.shared, isPooled, held, pools);
  const taken = held.map((range) => range.cidr);
  if (isPooled && !taken.some((other) => cidrsOverlap(cidr, other))) return cidr;
  const { prefix } = parseCidr(cidr);
  for (const pool of pools) {
    const block = freeBlock(pool, prefix, taken);
    if (block) return block;
  }
  throw new Error(`no free range of size /${prefix} in ${pools.join(", ")} for ${cidr}`);
}

function immutableRange(
  cidr: string,
  shared: boolean,
  isPooled: boolean,
  held: readonly HeldRange[],
  pools: readonly string[],
): string {
  const conflict = held.find((other) => cidrsOverlap(cidr, other.cidr) && !(shared && other.shared));
  if (conflict) throw new Error(`range ${cidr} overlaps ${conflict.cidr}, which is in use, and must not be changed`);
  // Nothing is ever chosen outside the pools, so that a shared range needs no place there.
  if (!isPooled && !shared) throw new Error(`range ${cidr} is outside the pools ${pools.join(", ")}`);
  return cidr;
}

/** Descends first into halves that are in use already. */
function freeBlock(block: string, prefix: number, taken: readonly string[]): string | undefined {
  const within = taken.filter((range) => cidrsOverlap(block, range));
  const own = parseCidr(block).prefix;
  if (own > prefix || within.some((range) => cidrContains(range, block))) return undefined;
  if (within.length === 0) return canonicalCidr(`${block.split("/")[0]}/${prefix}`);
  if (own === prefix) return undefined;
  const halves = splitCidr(block);
  const isUsed = (half: string): boolean => within.some((range) => cidrsOverlap(half, range));
  const ordered = [...halves.filter(isUsed), ...halves.filter((half) => !isUsed(half))];
  for (const half of ordered) {
    const found = freeBlock(half, prefix, within);
    if (found) return found;
  }
  return undefined;
}

/**
 * The next free address of a range after the last one given, wrapping round; the first `preAllocated` ones are never given.
 *
 * @throws Error when none is left
 */
export function chooseAddress(cidr: string, preAllocated: number, taken: ReadonlySet<string>, last?: string): string {
  const size = cidrSize(cidr);
  const first = Math.min(preAllocated, size);
  const count = size - first;
  const start = last === undefined ? 0 : Math.max(0, parseAddressIndex(cidr, last) + 1 - first);
  for (let step = 0; step < count && step <= taken.size; step++) {
    const address = nthAddress(cidr, first + ((start + step) % count));
    if (!taken.has(address)) return address;
  }
  throw new Error(`range ${cidr} has no free address left`);
}

function parseAddressIndex(cidr: string, address: string): number {
  return parseCidr(`${address}/32`).base - parseCidr(cidr).base;
}
