import { lookup } from "node:dns/promises";
import { isIPv4 } from "node:net";
import type { ServerEndpoint } from "../api/index.js";
import { sameJson } from "../runtime/index.js";

export type Resolve = (name: string) => Promise<string[]>;

/** All IPv4 addresses of a name. */
export const resolveName: Resolve = async (name) =>
  (await lookup(name, { all: true, family: 4 })).map(({ address }) => address);

const EARLY_MS = 10 * 60_000;
const EARLY_INTERVAL_MS = 5_000;
const LATE_INTERVAL_MS = 5 * 60_000;

/**
 * Which of the server's addresses a client uses (network specification, §6, §15): the first that is known, until it has gone from
 * the names' answers or has not answered. Where the server itself has said that it is elsewhere, that is tried as well.
 */
export class EndpointChooser {
  /** "address:port", in the order in which they are tried. */
  private known: string[] = [];
  private current?: string;
  private announced?: ServerEndpoint;
  /** What it stands for. */
  private elsewhere: string[] = [];
  private readonly startedAt = Date.now();

  constructor(
    private readonly given: ServerEndpoint,
    private readonly resolve: Resolve = resolveName,
  ) {}

  /** Whether there are names whose answers may change. */
  get hasNames(): boolean {
    return [this.given, this.announced].some((endpoint) => endpoint?.addresses.some((address) => !isIPv4(address)));
  }

  /** Milliseconds until names should be resolved again. */
  get intervalMs(): number {
    return Date.now() - this.startedAt < EARLY_MS ? EARLY_INTERVAL_MS : LATE_INTERVAL_MS;
  }

  /** "address:port"; undefined while nothing is known. */
  get endpoint(): string | undefined {
    return this.current;
  }

  /**
   * Takes what the server says of itself now. It adds to what this client was given, which may answer again.
   * Resolves to whether this was news.
   */
  async learn(announced: ServerEndpoint | undefined): Promise<boolean> {
    if (sameJson(announced, this.announced)) return false;
    this.announced = announced;
    await this.refresh();
    return true;
  }

  /** Resolves names. A name that cannot be resolved keeps what was known of the others, and of itself if it was alone. */
  async refresh(): Promise<void> {
    const [given, announced] = await Promise.all([this.resolved(this.given), this.resolved(this.announced)]);
    const [first = [], ...others] = given;
    const wasElsewhere = this.current !== undefined && this.elsewhere.includes(this.current);
    this.elsewhere = announced.flat();
    // A server that has moved may have left many addresses behind.
    const known = [...new Set([...first, ...this.elsewhere, ...others.flat()])];
    if (known.length > 0) this.known = known;
    if (this.current !== undefined && this.known.includes(this.current)) return;
    this.current = (wasElsewhere ? this.elsewhere[0] : undefined) ?? this.known[0];
  }

  /** Goes on to the next address, as the present one does not answer. */
  next(): void {
    if (this.known.length < 2) return;
    const index = this.known.indexOf(this.current ?? "");
    this.current = this.known[(index + 1) % this.known.length];
  }

  /** For each address what it stands for, "address:port". */
  private resolved({ addresses, port }: ServerEndpoint = { addresses: [], port: 0 }): Promise<string[][]> {
    return Promise.all(
      addresses.map(async (address) => {
        const answers = isIPv4(address) ? [address] : await this.resolve(address).catch((): string[] => []);
        return answers.map((answer) => `${answer}:${port}`);
      }),
    );
  }
}
