import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { Random } from "../../soak/random.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { seeWrites, type SeenWrites } from "../support/write-proxy.js";
import { CancelledCommands, Writes } from "./support/cancelled-commands.js";
import { startInstallableServer } from "./support/installable-server.js";
import { kubeconfigOf } from "./support/own-kubeconfig.js";
import type { Kept } from "./support/plugin.js";
import { SIDES, startSimulatedPair, type Side, type SimulatedPair } from "./support/simulated-pair.js";
import { identityOfSlice } from "./support/slice-identity.js";

type Properties = Record<string, unknown>;

/** Chooses the moments; another one tries others. */
const SEED = Number(process.env["SEED"] ?? 20261121);

interface Case {
  /** Default: what the case is called. */
  type?: string;
  /** What must be there before. */
  needs: string[];
  create: Properties;
  update: Properties;
}

const CASES: Record<string, Case> = {
  NetworkLink: { needs: [], create: { mtu: 1400 }, update: { mtu: 1380 } },
  Authentication: { needs: [], create: {}, update: { tenantCondition: "Cordoned" } },
  "Authentication without a handshake": {
    type: "Authentication",
    needs: [],
    create: { authzPolicy: "TolerateNoHandshake", kubeconfig: kubeconfigOf("one"), userName: "friend" },
    update: { authzPolicy: "TolerateNoHandshake", kubeconfig: kubeconfigOf("two"), userName: "other" },
  },
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
  const proxies: SeenWrites[] = [];
  const folder = mkdtempSync(join(os.tmpdir(), "liqo-cancelled-"));
  const kubeconfigs = {} as Record<Side, string>;
  let commands: CancelledCommands;
  let simulated: SimulatedPair;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    const writes = new Writes();
    simulated = await startSimulatedPair({ signing: SIDES, namespacesEnd: true });
    ({ servers } = simulated);
    commands = new CancelledCommands(servers, writes, () => simulated.rest());
    for (const side of SIDES) {
      const seen = await seeWrites(servers[side], join(folder, side), writes);
      proxies.push(seen);
      kubeconfigs[side] = seen.kubeconfig;
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
  const random = new Random(SEED);
  for (const [name, { type = name, needs, create, update }] of Object.entries(CASES)) {
    it(`of ${name}: create, update and delete go on from where they were (seed ${SEED})`, async () => {
      const needed: Kept[] = [];
      for (const other of needs)
        needed.push(await commands.run((plugin) => plugin.create(other, inputsOf(other, CASES[other]!.create))));
      if (type === "VirtualNode") await identityOfSlice(servers.consumer.client, "slice");
      await commands.goOn(type, inputsOf(type, create), inputsOf(type, update), random);
      for (const other of needed.reverse()) await commands.run((plugin) => plugin.delete(other));
    });
  }
});

/** A real API server, whose workloads count as running. */
describe("a Cancel at random moments of an installation", function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(os.tmpdir(), "liqo-cancelled-agent-"));
  let server: ApiServer;
  let seen: SeenWrites;
  let commands: CancelledCommands;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startInstallableServer("one");
    const writes = new Writes();
    seen = await seeWrites(server, join(folder, "one"), writes);
    commands = new CancelledCommands({ one: server }, writes, () => Promise.resolve());
  });
  after(async () => {
    await seen?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it(`of Agent: create, update and delete go on from where they were (seed ${SEED})`, async () => {
    const cluster = { kubeconfig: seen.kubeconfig };
    const given = { cluster, clusterId: "one", podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };
    // The kinds are there from the start, and go with the first of them.
    const first = await commands.run((plugin) => plugin.create("Agent", given));
    await commands.run((plugin) => plugin.delete(first));
    await commands.goOn("Agent", given, { ...given, labels: { env: "test" } }, new Random(SEED), {
      first: false,
      random: 1,
    });
  });
});
