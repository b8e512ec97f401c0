import { isQuantity, parseQuantity, quantityToNumber } from "../../agent/api/quantity.js";
import type { TopologyNode } from "../../provider/functions/topology/schema.js";

/** One resource of a virtual node, ready to be shown. */
export interface Amount {
  /** "CPU", "mem", or the resource's own name. */
  label: string;
  /** "1.5/4 Gi"; "4 Gi" where nothing is known of the use. */
  text: string;
  /** 0 to 1; undefined where nothing is known of the use. */
  share?: number;
}

const LABELS: Record<string, string> = { cpu: "CPU", memory: "mem", "ephemeral-storage": "disk" };
const ORDER = ["cpu", "memory", "pods"];

/** A node's resources, the usual ones first; what nothing was granted of is left out. */
export function amountsOf({ granted, used }: Pick<TopologyNode, "granted" | "used">): Amount[] {
  const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  return Object.entries(granted)
    .filter(([, amount]) => isQuantity(amount) && quantityToNumber(amount) > 0)
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([name, amount]) => describe(name, amount, used[name]));
}

function describe(name: string, granted: string, used: string | undefined): Amount {
  const label = LABELS[name] ?? name;
  const { factor, unit } = scaleOf(granted);
  const total = shown(quantityToNumber(granted) / factor);
  const suffix = unit === "" ? "" : ` ${unit}`;
  if (used === undefined || !isQuantity(used)) return { label, text: `${total}${suffix}` };
  const share = Math.min(1, quantityToNumber(used) / quantityToNumber(granted));
  return { label, text: `${shown(quantityToNumber(used) / factor)}/${total}${suffix}`, share };
}

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];

/** The unit in which an amount is read most easily, in the system that it was written in. */
function scaleOf(amount: string): { factor: number; unit: string } {
  const { format } = parseQuantity(amount);
  const [base, units] = format === "BinarySI" ? [1024, BINARY] : [1000, DECIMAL];
  const value = quantityToNumber(amount);
  const power = value < base * 10 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(value) / Math.log(base)));
  return { factor: base ** power, unit: units[power] ?? "" };
}

/** At most one decimal. */
function shown(value: number): string {
  return String(Math.round(value * 10) / 10);
}
