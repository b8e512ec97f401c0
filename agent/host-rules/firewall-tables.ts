import { CommandError, rulesFingerprint, type Run } from "../net/index.js";
import { withMemoryFile } from "../net/memory-file.js";
import { OWNER_MARK, removalCommands, type NftJson, type TableName } from "./firewall-json.js";
import { refusalText } from "./refusal.js";

/** A table that a FirewallConfiguration asks for. */
export interface WantedTable {
  id: TableName;
  commands: NftJson[];
}

interface Listing {
  nftables: { table?: TableName; counter?: { family: string; table: string; name: string } }[];
}

/**
 * The tables of nftables that come from FirewallConfigurations: each is replaced in one transaction, when what is asked for has changed or
 * somebody else has changed it. Which are ours the kernel tells, by a mark within them; others are left alone.
 */
export class FirewallTables {
  /** What each table was made from, and what it looked like soon afterwards. */
  private readonly written = new Map<string, { text: string; fingerprint?: string }>();

  /** @param tell is told of each change that was made */
  constructor(
    private readonly run: Run,
    private readonly tell: (change: string) => void = () => undefined,
  ) {}

  /** Brings the host to these tables and no others. Resolves to what stood in the way, by table. */
  async apply(wanted: ReadonlyMap<string, WantedTable>): Promise<Map<string, string>> {
    const ours = await this.owned();
    const problems = new Map<string, string>();
    for (const [key, id] of ours) {
      if (wanted.has(key)) continue;
      await this.nft(removalCommands(id));
      this.tell(`delete table ${key}`);
      this.written.delete(key);
    }
    const taken = wanted.size > 0 ? await this.tables() : new Set<string>();
    for (const [key, table] of wanted) {
      const isForeign = taken.has(key) && !ours.has(key);
      const problem = isForeign ? `table ${key} is there already, and is not ours` : await this.write(key, table);
      if (problem !== undefined) problems.set(key, problem);
    }
    return problems;
  }

  /** Resolves to why the kernel refuses the table. */
  private async write(key: string, { id, commands }: WantedTable): Promise<string | undefined> {
    const text = JSON.stringify(commands);
    if (this.written.get(key)?.text === text && (await this.isUntouched(key, id))) return undefined;
    this.written.delete(key);
    try {
      await this.nft(commands);
    } catch (error) {
      if (error instanceof CommandError) return refusalText(error);
      throw error;
    }
    this.written.set(key, { text });
    this.tell(`table ${key}`);
    return undefined;
  }

  private async isUntouched(key: string, id: TableName): Promise<boolean> {
    const entry = this.written.get(key);
    const listing = await this.list([{ list: { table: id } }]);
    if (!entry || listing === undefined) return false;
    const fingerprint = rulesFingerprint(listing);
    entry.fingerprint ??= fingerprint;
    return entry.fingerprint === fingerprint;
  }

  private async owned(): Promise<Map<string, TableName>> {
    const { nftables } = await this.query([{ list: { counters: null } }]);
    const ids = nftables.flatMap(({ counter }) =>
      counter?.name === OWNER_MARK ? [{ family: counter.family, name: counter.table }] : [],
    );
    return new Map(ids.map((id) => [tableKey(id), id]));
  }

  private async tables(): Promise<Set<string>> {
    const { nftables } = await this.query([{ list: { tables: null } }]);
    return new Set(nftables.flatMap(({ table }) => (table ? [tableKey(table)] : [])));
  }

  private async query(commands: NftJson[]): Promise<Listing> {
    return JSON.parse((await this.list(commands)) ?? '{"nftables":[]}') as Listing;
  }

  private async list(commands: NftJson[]): Promise<string | undefined> {
    try {
      return await this.nft(commands);
    } catch (error) {
      if (error instanceof CommandError && error.standardError.includes("No such file")) return undefined;
      throw error;
    }
  }

  /** By a file, as nft opens JSON from its standard input by name, which a socket, Node's way to pass input, does not allow. */
  private nft(commands: NftJson[]): Promise<string> {
    return withMemoryFile(JSON.stringify({ nftables: commands }), (file) => this.run("nft", ["-j", "-f", file]));
  }
}

export function tableKey({ family, name }: TableName): string {
  return `${family} ${name}`;
}
