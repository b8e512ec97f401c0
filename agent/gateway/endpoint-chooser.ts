import { lookup } from "node:dns/promises";
import { isIPv4 } from "node:net";

export type Resolve = (name: string) => Promise<string[]>;

/** All IPv4 addresses of a name. */
export const resolveName: Resolve = async (name) =>
  (await lookup(name, { all: true, family: 4 })).map(({ address }) => address);

const EARLY_MS = 10 * 60_000;
const EARLY_INTERVAL_MS = 5_000;
const LATE_INTERVAL_MS = 5 * 60_000;

/**
 * Which of the server's addresses a client uses (network specification, §6, §15): the first that is known, until it has gone from
 * the names' answers or has not answered.
 */
export class EndpointChooser {
  private known: string[] = [];
  private current?: string;
  private readonly startedAt = Date.now();

  constructor(
    private readonly addresses: readonly string[],
    private readonly port: number,
    private readonly resolve: Resolve = resolveName,
  ) {}

  /** Whether there are names whose answers may change. */
  get hasNames(): boolean {
    return this.addresses.some((address) => !isIPv4(address));
  }

  /** Milliseconds until names should be resolved again. */
  get intervalMs(): number {
    return Date.now() - this.startedAt < EARLY_MS ? EARLY_INTERVAL_MS : LATE_INTERVAL_MS;
  }

  /** "address:port"; undefined while nothing is known. */
  get endpoint(): string | undefined {
    return this.current === undefined ? undefined : `${this.current}:${this.port}`;
  }

  /** Resolves names. A name that cannot be resolved keeps what was known of the others, and of itself if it was alone. */
  async refresh(): Promise<void> {
    const answers = await Promise.all(
      this.addresses.map((address) =>
        isIPv4(address) ? Promise.resolve([address]) : this.resolve(address).catch((): string[] => []),
      ),
    );
    const known = [...new Set(answers.flat())];
    if (known.length > 0) this.known = known;
    if (this.current === undefined || !this.known.includes(this.current)) this.current = this.known[0];
  }

  /** Goes on to the next address, as the present one does not answer. */
  next(): void {
    if (this.known.length < 2) return;
    const index = this.known.indexOf(this.current ?? "");
    this.current = this.known[(index + 1) % this.known.length];
  }
}
