import { createHash } from "node:crypto";
import { CommandError, type Run } from "./command.js";
import { CounterSums, type Counts } from "./counter-sums.js";

/** The table of ours for all that the kernel routes, and a gateway's for what it hands on before. Nothing outside these is ever read or written. */
export const TABLE = "ip liqo";
export const FAST_TABLE = "netdev liqo";

/** A complete table as nftables text: replaced in one transaction, so that there is no moment without rules. */
export function tableText(body: readonly string[], table: string = TABLE): string {
  return [
    `add table ${table}`,
    `delete table ${table}`,
    `table ${table} {`,
    ...body.map((line) => `  ${line}`),
    "}",
    "",
  ].join("\n");
}

/** An anonymous set: `{ a, b }`. Ranges within others are left out, as overlapping elements are an error. */
export function setText(elements: readonly string[]): string {
  return `{ ${elements.join(", ")} }`;
}

/** What is in a hurry when a table is written is over by then. */
const SETTLED_MS = 1_000;

/** Keeps the table as it should be: writes it when its text has changed or when somebody else has changed it. */
export class NftablesTable {
  private text?: string;
  /** Of the table as it was soon after it was written: taken a moment later, or at the next look, as whoever writes is in a hurry. */
  private fingerprint?: string;
  private later?: NodeJS.Timeout;
  private readonly sums = new CounterSums();

  constructor(
    private readonly run: Run,
    private readonly table: string = TABLE,
  ) {}

  /** Resolves to whether the table was written. */
  async apply(text: string): Promise<boolean> {
    if (this.text === text && (await this.isUntouched())) return false;
    // What it has counted goes with it.
    if (this.text !== undefined && this.text !== text) await this.look().catch(() => undefined);
    this.text = undefined;
    await this.run("nft", ["-f", "-"], text);
    this.text = text;
    this.fingerprint = undefined;
    // What somebody changes before the next look would else be taken for what was written.
    clearTimeout(this.later);
    this.later = setTimeout(() => void this.isUntouched().catch(() => undefined), SETTLED_MS).unref();
    return true;
  }

  /** Removes the table, if it is there. */
  async remove(): Promise<void> {
    this.text = undefined;
    await this.run("nft", ["-f", "-"], `add table ${this.table}\ndelete table ${this.table}\n`);
  }

  async exists(): Promise<boolean> {
    return (await this.list()) !== undefined;
  }

  /** The table's named counters, in packets; they go on where the table is written anew, for as long as the process is there. */
  async counters(): Promise<Record<string, number>> {
    await this.look();
    return this.sums.totals();
  }

  private async isUntouched(): Promise<boolean> {
    const written = this.text;
    const listing = await this.look();
    // Written anew meanwhile: this is not told of that.
    if (listing === undefined || this.text !== written) return false;
    const fingerprint = rulesFingerprint(listing);
    this.fingerprint ??= fingerprint;
    return this.fingerprint === fingerprint;
  }

  /** The table's listing, of which the counts are remembered. */
  private async look(): Promise<string | undefined> {
    const text = await this.list();
    if (text !== undefined) this.sums.observe(countsOf(text));
    return text;
  }

  private async list(): Promise<string | undefined> {
    try {
      return await this.run("nft", ["-j", "list", "table", ...this.table.split(" ")]);
    } catch (error) {
      if (error instanceof CommandError && error.standardError.includes("No such file")) return undefined;
      throw error;
    }
  }
}

interface Listing {
  nftables: { table?: { handle?: number }; counter?: { name: string; packets: number } }[];
}

/** The named counters in a table's JSON listing. */
export function countsOf(listing: string): Counts {
  const { nftables } = JSON.parse(listing) as Listing;
  const [table] = nftables.flatMap(({ table }) => table?.handle ?? []);
  const packets = nftables.flatMap(({ counter }) => (counter ? [[counter.name, counter.packets] as const] : []));
  return { table: table ?? 0, packets: Object.fromEntries(packets) };
}

/** What identifies the rules of a JSON listing: everything but handles and counts. */
export function rulesFingerprint(listing: string): string {
  const stable = listing.replace(/"(handle|packets|bytes)": ?\d+/g, '"$1":0');
  return createHash("sha256").update(stable).digest("hex");
}
