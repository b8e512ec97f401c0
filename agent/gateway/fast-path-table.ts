import { FAST_TABLE, NftablesTable, tableText, type Run } from "../net/index.js";
import { Lock, messageOf, type Logger } from "../runtime/index.js";
import { fastPathText } from "./fast-path.js";
import type { GatewayState } from "./state.js";

/** Handed on to itself: no packet is like that, and the kernel says whether it could. */
const TRIAL = tableText(
  [
    "chain trial {",
    '  type filter hook ingress devices = { "lo" } priority 0; policy accept;',
    '  ip daddr 192.0.2.1 ip daddr set ip daddr & 0.0.255.255 | 192.0.0.0 fwd ip to 192.0.2.1 device "lo"',
    "}",
  ],
  FAST_TABLE,
);

/**
 * Keeps the table of the short way, where the kernel can do that and nobody has rules of their own for this gateway, which would be passed by. All without it goes
 * the long way: so whatever is wrong with it is told once, and no failure.
 */
export class FastPathTable {
  private readonly table: NftablesTable;
  private readonly lock = new Lock();
  private isPossible?: boolean;
  private told?: string;

  constructor(
    private readonly run: Run,
    /** Whether it is known that nobody has rules for this gateway. */
    private readonly isFree: () => boolean,
    private readonly logger: Logger,
  ) {
    this.table = new NftablesTable(run, FAST_TABLE);
  }

  /** Brings the table to the state. The devices must be there. */
  apply(state: GatewayState): Promise<void> {
    return this.lock.run(async () => {
      const text = this.isFree() ? fastPathText(state) : undefined;
      if (text === undefined || !(await this.isSupported())) return this.clear();
      try {
        await this.table.apply(text);
      } catch (error) {
        this.tell(error);
        await this.clear();
      }
    });
  }

  /** Makes way for others' rules. */
  remove(): Promise<void> {
    return this.lock.run(() => this.clear());
  }

  private async clear(): Promise<void> {
    if (await this.table.exists()) await this.table.remove();
  }

  private async isSupported(): Promise<boolean> {
    this.isPossible ??= await this.run("nft", ["--check", "--file", "-"], TRIAL).then(
      () => true,
      (error: unknown) => {
        this.tell(error);
        return false;
      },
    );
    return this.isPossible;
  }

  private tell(error: unknown): void {
    const reason = messageOf(error);
    if (reason !== this.told) this.logger.info({ reason }, "no short way for packets between pods");
    this.told = reason;
  }
}
