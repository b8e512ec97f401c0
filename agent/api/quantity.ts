/** A Kubernetes quantity as objects carry it. */
export type Quantity = string | number;

/** How a quantity is written: with 1024-based suffixes, 1000-based suffixes, or a decimal exponent. */
export type QuantityFormat = "BinarySI" | "DecimalSI" | "DecimalExponent";

/** A quantity's exact value in billionths, the finest that Kubernetes keeps. */
export interface ParsedQuantity {
  nanos: bigint;
  format: QuantityFormat;
}

/** The pattern that Kubernetes puts into schemas; a little wider than what it parses. */
export const QUANTITY_PATTERN =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

const SYNTAX = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]+))?$/;
const NANO = 1_000_000_000n;
const MAX_NANOS = (2n ** 63n - 1n) * NANO;
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** By power of 1000, from 10^-9. */
const DECIMAL_SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/** No exponent beyond this makes a difference: the value is 0, the smallest unit or the largest value. */
const EXPONENT_LIMIT = 400;

/**
 * Reads a quantity exactly. As in Kubernetes, what is finer than a billionth is rounded away from zero and what
 * exceeds 2^63-1 is capped.
 *
 * @throws Error when the value is not a quantity
 */
export function parseQuantity(value: Quantity): ParsedQuantity {
  const match = SYNTAX.exec(String(value));
  if (!match) {
    throw new Error(
      `${JSON.stringify(value)} is not a quantity: write a number with an optional suffix, as in "500m", "4" or "8Gi"`,
    );
  }
  const [, sign, whole = "", fraction = match[4] ?? "", , binary, decimal, exponent] = match;
  const { multiplier, power, format } = scaleOf(binary, decimal, exponent);
  const digits = BigInt(`${whole}${fraction}` || "0");
  const nanos = cap(scaleDecimal(digits * multiplier, power - fraction.length + 9));
  return { nanos: sign === "-" ? -nanos : nanos, format };
}

/** Whether the value is a quantity. */
export function isQuantity(value: unknown): value is Quantity {
  return (typeof value === "string" || typeof value === "number") && SYNTAX.test(String(value));
}

/** Writes the canonical form, as the API server does: "1000m" becomes "1", "1.5Gi" becomes "1536Mi". */
export function formatQuantity({ nanos, format }: ParsedQuantity): string {
  if (nanos === 0n) return "0";
  const sign = nanos < 0n ? "-" : "";
  const absolute = nanos < 0n ? -nanos : nanos;
  const isBinary = format === "BinarySI" && absolute >= 1024n * NANO && absolute % NANO === 0n;
  return sign + (isBinary ? formatBinary(absolute / NANO) : formatDecimal(absolute, format === "DecimalExponent"));
}

/** The canonical form of a quantity. */
export function canonicalQuantity(value: Quantity): string {
  return formatQuantity(parseQuantity(value));
}

/** Negative, zero or positive as a is less than, equal to or greater than b. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  const difference = parseQuantity(a).nanos - parseQuantity(b).nanos;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Whether two quantities have the same value: "1" and "1000m" do. */
export function quantitiesEqual(a: Quantity, b: Quantity): boolean {
  return compareQuantities(a, b) === 0;
}

/** a + b, written in a's format (b's when a is zero). */
export function addQuantities(a: Quantity, b: Quantity): string {
  return combine(a, b, (left, right) => left + right);
}

/** a − b, written in a's format (b's when a is zero). */
export function subtractQuantities(a: Quantity, b: Quantity): string {
  return combine(a, b, (left, right) => left - right);
}

/** The value as a JavaScript number, exact as far as that can be. */
export function quantityToNumber(value: Quantity): number {
  const { nanos } = parseQuantity(value);
  return Number(nanos / NANO) + Number(nanos % NANO) / Number(NANO);
}

function combine(a: Quantity, b: Quantity, operation: (left: bigint, right: bigint) => bigint): string {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  const format = left.nanos === 0n ? right.format : left.format;
  const nanos = operation(left.nanos, right.nanos);
  return formatQuantity({ nanos: nanos < 0n ? -cap(-nanos) : cap(nanos), format });
}

function scaleOf(
  binary: string | undefined,
  decimal: string | undefined,
  exponent: string | undefined,
): { multiplier: bigint; power: number; format: QuantityFormat } {
  if (binary) return { multiplier: 1024n ** BigInt(BINARY_SUFFIXES.indexOf(binary)), power: 0, format: "BinarySI" };
  if (exponent) {
    const power = Math.max(-EXPONENT_LIMIT, Math.min(EXPONENT_LIMIT, Number(exponent)));
    return { multiplier: 1n, power, format: "DecimalExponent" };
  }
  return { multiplier: 1n, power: (DECIMAL_SUFFIXES.indexOf(decimal ?? "") - 3) * 3, format: "DecimalSI" };
}

/** digits × 10^power, rounded up. */
function scaleDecimal(digits: bigint, power: number): bigint {
  if (power >= 0) return digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (digits + divisor - 1n) / divisor;
}

function cap(nanos: bigint): bigint {
  return nanos > MAX_NANOS ? MAX_NANOS : nanos;
}

function formatBinary(value: bigint): string {
  let power = 0;
  while (power < BINARY_SUFFIXES.length - 1 && value % 1024n === 0n) {
    value /= 1024n;
    power += 1;
  }
  return `${value}${BINARY_SUFFIXES[power]}`;
}

function formatDecimal(nanos: bigint, asExponent: boolean): string {
  let power = 0;
  while (power < DECIMAL_SUFFIXES.length - 1 && nanos % 1000n === 0n) {
    nanos /= 1000n;
    power += 1;
  }
  if (!asExponent) return `${nanos}${DECIMAL_SUFFIXES[power]}`;
  return power === 3 ? String(nanos) : `${nanos}e${(power - 3) * 3}`;
}
