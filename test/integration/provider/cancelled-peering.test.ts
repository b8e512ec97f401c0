import path from "node:path";
import { expect } from "chai";
import { Random } from "../../soak/random.js";
import { interrupt } from "../../support/interrupt.js";
import type { PulumiStack } from "../../support/pulumi.js";
import { SIDES, type Side } from "../provider-resources/support/simulated-pair.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { seeWrites, type SeenWrites, type Write, type WritePhase } from "../support/write-proxy.js";
import { untilOnly } from "../support/until-only.js";
import { EngineLab } from "./support/engine-lab.js";

const PROJECT = "cancelled";
/** Chooses the moments; another one tries others. */
const SEED = Number(process.env["SEED"] ?? 20261123);
/** The plugin's calls end at once, and then the CLI writes its state. */
const END_LIMIT_MS = 5_000;

/** Counts the writes of a command, and tells when it comes to one of them. */
class Writes {
  count = 0;
  private wanted = 0;
  private reached: () => void = () => undefined;

  /** @returns when this write is asked for, from 1; never for 0 */
  begin(wanted = 0): Promise<void> {
    this.count = 0;
    this.wanted = wanted;
    return new Promise((resolve) => (this.reached = resolve));
  }

  /** No write is cut off: the CLI takes a moment to pass the signal on. */
  happens({ what }: Write, phase: WritePhase): boolean {
    if (what.includes("selfsubjectaccessreviews") || phase !== "asked") return false;
    this.count += 1;
    if (this.count === this.wanted) this.reached();
    return false;
  }
}

/**
 * The real CLI on real API servers with simulated agents: Ctrl-C at random moments of a Peering, which is a component of several resources that are made side by side.
 * The state is whole whatever was being done, the next command goes on from there, and `destroy` leaves nothing.
 */
describe("Ctrl-C at random moments of a Peering", function () {
  this.timeout(300_000);
  let lab: EngineLab;
  let stack: PulumiStack;
  let none: string[];
  const proxies: SeenWrites[] = [];
  const kubeconfigs = {} as Record<Side, string>;
  const writes = new Writes();
  const random = new Random(SEED);

  before(async function () {
    this.timeout(START_LIMIT_MS);
    lab = await EngineLab.start();
    for (const side of SIDES) {
      const seen = await seeWrites(lab.servers[side], path.join(lab.folder, `${side}.kubeconfig`), writes);
      proxies.push(seen);
      kubeconfigs[side] = seen.kubeconfig;
    }
    stack = await lab.stack(PROJECT, program(1340));
    none = await objects();
  });
  after(async () => {
    await lab?.stop();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  });

  const program = (mtu: number) => {
    const [consumer, provider] = SIDES.map((side) => ({ kubeconfig: kubeconfigs[side] }));
    const properties = { consumer, provider, bidirectional: true, mtu, cpu: "2" };
    return { peering: { type: "Peering", properties } };
  };
  const objects = async (): Promise<string[]> => [...(await lab.objects()).keys()].sort();
  const settled = (wanted: string[], what: string): Promise<unknown> => untilOnly(wanted, what, objects);
  const counted = async (work: () => Promise<unknown>): Promise<number> => {
    void writes.begin();
    await work();
    return writes.count;
  };
  const interrupted = async (operation: "up" | "destroy", of: number): Promise<void> => {
    const at = random.integer(1, of);
    const when = `${operation} interrupted at write ${at} of ${of}`;
    const { milliseconds, signal } = await interrupt(stack, operation, writes.begin(at), "SIGINT");
    expect(signal, `${when}: it ends by itself`).to.equal(null);
    expect(milliseconds, `${when}: how long it went on`).to.be.lessThan(END_LIMIT_MS);
    expect(await stack.hasPendingOperations(), `${when}: operations of unknown outcome`).to.equal(false);
  };

  it(`goes on from where it was (seed ${SEED})`, async () => {
    const counts = { create: await counted(() => stack.up()), update: 0, delete: 0 };
    const all = await objects();
    await lab.write(PROJECT, program(1380));
    counts.update = await counted(() => stack.up());
    counts.delete = await counted(() => stack.destroy());
    await settled(none, "destroyed");

    await interrupted("up", counts.create);
    await stack.destroy();
    await settled(none, "a broken off creation destroyed");
    await interrupted("up", counts.create);
    await stack.up();
    await settled(all, "a broken off creation carried on");
    await lab.write(PROJECT, program(1340));
    await interrupted("up", counts.update);
    await stack.up();
    await settled(all, "a broken off update carried on");
    await stack.refresh({ expectNoChanges: true });
    await stack.preview({ expectNoChanges: true });
    await interrupted("destroy", counts.delete);
    // Of what a deletion had done no state tells.
    await stack.up({}, ["--refresh"]);
    await settled(all, "a broken off deletion taken back");
    await interrupted("destroy", counts.delete);
    await stack.destroy();
    await settled(none, "a broken off deletion carried on");
  });
});
