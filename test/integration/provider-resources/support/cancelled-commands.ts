import { expect } from "chai";
import type { Random } from "../../../soak/random.js";
import { readEverything } from "../../../support/listing.js";
import type { ApiServer } from "../../support/api-server.js";
import { untilOnly } from "../../support/until-only.js";
import type { Write, WritePhase } from "../../support/write-proxy.js";
import { Plugin, type Kept } from "./plugin.js";

type Properties = Record<string, unknown>;

/** How many moments of an operation are tried: its first write, as nothing is known of it yet, and some that chance chooses. */
interface Moments {
  first: boolean;
  random: number;
}

const USUAL: Moments = { first: true, random: 2 };

/** Addresses of Services, whose names the cluster chooses. */
const CHOSEN = "ipaddresses.networking.k8s.io";

interface Moment {
  /** From 1. */
  write: number;
  phase: WritePhase;
}

/** Counts the writes of a command, and cancels it at one of them. */
export class Writes {
  count = 0;
  isOver = false;
  private at?: Moment & { cancel: () => void };
  private chosen?: Write;

  begin(at?: Moment & { cancel: () => void }): void {
    this.count = 0;
    this.isOver = false;
    this.at = at;
    this.chosen = undefined;
  }

  /** Whether the connection breaks: the answer to a cancelled request is of no interest to anybody. */
  happens(write: Write, phase: WritePhase): boolean {
    // Asks what the credentials allow.
    if (write.what.includes("selfsubjectaccessreviews")) return false;
    if (phase === "asked" && ++this.count === this.at?.write) this.chosen = write;
    if (!this.at || this.isOver || write !== this.chosen || phase !== this.at.phase) return false;
    this.isOver = true;
    this.at.cancel();
    return true;
  }
}

/** Commands that are cancelled at some of their writes, on clusters whose writes are seen. */
export class CancelledCommands {
  constructor(
    private readonly clusters: Record<string, ApiServer>,
    private readonly writes: Writes,
    /** Waits until all that agents have to do is done. */
    private readonly rest: () => Promise<void>,
  ) {}

  /** Runs one command, as the engine does in a plugin of its own. */
  async run<T>(command: (plugin: Plugin) => Promise<T>, cancelAt?: Moment): Promise<T> {
    const plugin = await Plugin.start();
    this.writes.begin(cancelAt && { ...cancelAt, cancel: () => void plugin.cancel() });
    try {
      return await command(plugin);
    } finally {
      await plugin.stop();
    }
  }

  /** All objects but those that are ending, by name, once the agents have answered all and what the last test has left has ended. */
  async stock(): Promise<string[]> {
    await this.rest();
    return this.objects();
  }

  /** Cancels create, update and delete at moments of their own, and goes on from there, which must come to what an undisturbed one comes to. */
  async goOn(type: string, news: Properties, changed: Properties, random: Random, wanted = USUAL) {
    const { writes } = this;
    const before = await this.stock();
    // Undisturbed first: it tells how many writes there are, and what there is in the end.
    let kept = await this.run((plugin) => plugin.create(type, news));
    const counts = { create: writes.count, update: 0, delete: 0 };
    const present = await this.stock();
    kept = await this.run((plugin) => plugin.update(kept, changed));
    counts.update = writes.count;
    await this.run((plugin) => plugin.delete(kept));
    counts.delete = writes.count;
    await this.settled(before, `${type} deleted`);
    for (const operation of ["create", "update", "delete"] as const) {
      const moments = momentsOf(counts[operation], random, wanted);
      for (const moment of moments) {
        const when = `${type}: ${operation} cancelled when write ${moment.write} of ${counts[operation]} is ${moment.phase}`;
        let state: Kept | undefined;
        if (operation === "create") state = await this.run((plugin) => plugin.tryCreate(type, news), moment);
        else state = await this.run((plugin) => plugin.create(type, news));
        if (!state) await this.settled(before, `${when}: nothing is in the state, so nothing in the clusters`);
        if (operation === "update") state = await this.run((plugin) => plugin.tryUpdate(state!, changed), moment);
        if (operation === "delete") await this.run((plugin) => plugin.delete(state!).catch(() => undefined), moment);
        // The undisturbed one has written something twice, after a conflict with an agent: the last write is another one then.
        if (!writes.isOver && writes.count < moment.write) moments.push({ ...moment, write: writes.count });
        else expect(writes.isOver, `${when}: it never came to that`).to.equal(true);
        if (operation !== "delete") {
          const inputs = operation === "create" ? news : changed;
          const from = state;
          state = await this.run((plugin) => (from ? plugin.update(from, inputs) : plugin.create(type, inputs)));
          await this.settled(present, `${when}, then carried on`);
        }
        await this.run((plugin) => plugin.delete(state!));
        await this.settled(before, `${when}, then deleted`);
      }
    }
  }

  private async objects(): Promise<string[]> {
    const all = await Promise.all(
      Object.entries(this.clusters).map(async ([cluster, { client }]) => {
        const found = await readEverything(client);
        const lasting = [...found].filter(([, { metadata }]) => metadata?.deletionTimestamp === undefined);
        return lasting.map(([name]) => `${cluster}: ${name.startsWith(CHOSEN) ? CHOSEN : name}`);
      }),
    );
    return all.flat().sort();
  }

  private settled(wanted: string[], what: string): Promise<unknown> {
    return untilOnly(wanted, what, () => this.objects());
  }
}

function momentsOf(count: number, random: Random, wanted: Moments): Moment[] {
  if (count === 0) return [];
  const phase = (): WritePhase => random.pick(["asked", "done"]);
  const some = Array.from({ length: wanted.random }, () => ({ write: random.integer(1, count), phase: phase() }));
  return [...(wanted.first ? [{ write: 1, phase: "done" as const }] : []), ...some];
}
