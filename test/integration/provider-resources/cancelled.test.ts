import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import { until } from "../../clusters/support/wait.js";
import { readEverything } from "../../support/listing.js";
import { Random } from "../../soak/random.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { startWriteProxy, type Write, type WritePhase, type WriteProxy } from "../support/write-proxy.js";
import { Plugin, type Kept } from "./support/plugin.js";
import { SIDES, startSimulatedPair, type Side, type SimulatedPair } from "./support/simulated-pair.js";
import { identityOfSlice } from "./support/slice-identity.js";

type Properties = Record<string, unknown>;

/** Chooses the moments; another one tries others. */
const SEED = Number(process.env["SEED"] ?? 20261121);
const MOMENTS_EACH = 2;

interface Case {
  /** What must be there before. */
  needs: string[];
  create: Properties;
  update: Properties;
}

const CASES: Record<string, Case> = {
  NetworkLink: { needs: [], create: { mtu: 1400 }, update: { mtu: 1380 } },
  Authentication: { needs: [], create: {}, update: { tenantCondition: "Cordoned" } },
  ResourceSlice: {
    needs: ["Authentication"],
    create: { resources: { cpu: "2" } },
    update: { resources: { cpu: "3" } },
  },
  VirtualNode: {
    needs: ["Authentication"],
    create: { name: "node", providerClusterId: "provider", resourceSliceName: "slice", resources: { cpu: "1" } },
    update: {
      name: "node",
      providerClusterId: "provider",
      resourceSliceName: "slice",
      resources: { cpu: "2" },
    },
  },
  NamespaceOffloading: {
    needs: [],
    create: { namespace: "shop", createNamespace: true },
    update: { namespace: "shop", createNamespace: true, podOffloadingStrategy: "Remote" },
  },
  PeeringUser: {
    needs: [],
    create: { consumerClusterId: "someone" },
    update: { consumerClusterId: "someone", expirationSeconds: 43_200 },
  },
};
const PAIRS = ["NetworkLink", "Authentication", "ResourceSlice"];

/**
 * Real API servers with simulated agents: the engine's Cancel arrives at a write, before or after it is done. What has been made by then is in the state, the next
 * command goes on from there, and a deletion leaves nothing.
 */
describe("a Cancel at random moments", function () {
  this.timeout(300_000);
  let servers: Record<Side, ApiServer>;
  const proxies: WriteProxy[] = [];
  const folder = mkdtempSync(join(os.tmpdir(), "liqo-cancelled-"));
  const kubeconfigs = {} as Record<Side, string>;
  let writes: Writes;
  let simulated: SimulatedPair;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    writes = new Writes();
    simulated = await startSimulatedPair({ signing: SIDES, namespacesEnd: true });
    ({ servers } = simulated);
    for (const side of SIDES) {
      const proxy = await startWriteProxy(servers[side], (write, phase) => writes.happens(write, phase));
      proxies.push(proxy);
      kubeconfigs[side] = join(folder, side);
      const config = parse(servers[side].kubeconfig) as { clusters: { cluster: { server: string } }[] };
      for (const { cluster } of config.clusters) cluster.server = proxy.url;
      await writeFile(kubeconfigs[side], stringify(config), { mode: 0o600 });
    }
  });
  after(async () => {
    await simulated?.stop();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  const inputsOf = (type: string, own: Properties): Properties => {
    const clusters = PAIRS.includes(type)
      ? { consumer: { kubeconfig: kubeconfigs.consumer }, provider: { kubeconfig: kubeconfigs.provider } }
      : { cluster: { kubeconfig: kubeconfigs[type === "PeeringUser" ? "provider" : "consumer"] } };
    return { ...clusters, ...own };
  };
  /** Runs one command, as the engine does in a plugin of its own. */
  const run = async <T>(command: (plugin: Plugin) => Promise<T>, cancelAt?: Moment): Promise<T> => {
    const plugin = await Plugin.start();
    writes.begin(cancelAt && { ...cancelAt, cancel: () => void plugin.cancel() });
    try {
      return await command(plugin);
    } finally {
      await plugin.stop();
    }
  };
  /** All objects but those that agents made and nobody has collected; names only. */
  const objects = async (): Promise<string[]> => {
    const all = await Promise.all(
      SIDES.map(async (side) => {
        const found = await readEverything(servers[side].client);
        const lasting = [...found].filter(([, { metadata }]) => metadata?.deletionTimestamp === undefined);
        return lasting.map(([name]) => `${side}: ${name}`);
      }),
    );
    return all.flat().sort();
  };
  /** The same once the agents have answered all, and what the last test has left has ended. */
  const stock = async (): Promise<string[]> => {
    await simulated.rest();
    return objects();
  };
  const settled = (wanted: string[], what: string): Promise<unknown> =>
    until(what, 30_000, async () => {
      const now = await objects();
      const [more, less] = [now.filter((one) => !wanted.includes(one)), wanted.filter((one) => !now.includes(one))];
      if (more.length + less.length > 0) throw new Error(`too many: ${more.join(", ")}; missing: ${less.join(", ")}`);
      return true;
    });

  const random = new Random(SEED);
  for (const [type, { needs, create, update }] of Object.entries(CASES)) {
    it(`of ${type}: create, update and delete go on from where they were (seed ${SEED})`, async () => {
      const needed: Kept[] = [];
      for (const other of needs)
        needed.push(await run((plugin) => plugin.create(other, inputsOf(other, CASES[other]!.create))));
      if (type === "VirtualNode") await identityOfSlice(servers.consumer.client, "slice");
      const before = await stock();
      const news = inputsOf(type, create);
      const changed = inputsOf(type, update);
      // Undisturbed first: it tells how many writes there are, and what there is in the end.
      let kept = await run((plugin) => plugin.create(type, news));
      const counts = { create: writes.count, update: 0, delete: 0 };
      const present = await stock();
      kept = await run((plugin) => plugin.update(kept, changed));
      counts.update = writes.count;
      await run((plugin) => plugin.delete(kept));
      counts.delete = writes.count;
      await settled(before, `${type} deleted`);
      for (const operation of ["create", "update", "delete"] as const) {
        const moments = momentsOf(counts[operation], random);
        for (const moment of moments) {
          const when = `${type}: ${operation} cancelled when write ${moment.write} of ${counts[operation]} is ${moment.phase}`;
          let state: Kept | undefined;
          if (operation === "create") state = await run((plugin) => plugin.tryCreate(type, news), moment);
          else state = await run((plugin) => plugin.create(type, news));
          if (!state) await settled(before, `${when}: nothing is in the state, so nothing in the clusters`);
          if (operation === "update") state = await run((plugin) => plugin.tryUpdate(state!, changed), moment);
          if (operation === "delete") await run((plugin) => plugin.delete(state!).catch(() => undefined), moment);
          // The undisturbed one has written something twice, after a conflict with an agent: the last write is another one then.
          if (!writes.isOver && writes.count < moment.write) moments.push({ ...moment, write: writes.count });
          else expect(writes.isOver, `${when}: it never came to that`).to.equal(true);
          if (operation !== "delete") {
            const inputs = operation === "create" ? news : changed;
            const from = state;
            state = await run((plugin) => (from ? plugin.update(from, inputs) : plugin.create(type, inputs)));
            await settled(present, `${when}, then carried on`);
          }
          await run((plugin) => plugin.delete(state!));
          await settled(before, `${when}, then deleted`);
        }
      }
      for (const other of needed.reverse()) await run((plugin) => plugin.delete(other));
    });
  }
});

interface Moment {
  /** From 1. */
  write: number;
  phase: WritePhase;
}

/** Counts the writes of a command, and cancels it at one of them. */
class Writes {
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

/** The first write always, as nothing is known of it yet, and some that chance chooses. */
function momentsOf(count: number, random: Random): Moment[] {
  if (count === 0) return [];
  const phase = (): WritePhase => random.pick(["asked", "done"]);
  const some = Array.from({ length: MOMENTS_EACH }, () => ({ write: random.integer(1, count), phase: phase() }));
  return [{ write: 1, phase: "done" }, ...some];
}
