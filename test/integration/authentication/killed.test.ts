import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { QuotaResource, sliceUserName, tenantNamespaceName } from "../../../agent/api/index.js";
import type { KubeObject } from "../../../agent/runtime/index.js";
import { buildAgentBundle } from "../../../scripts/build.js";
import { until } from "../../clusters/support/wait.js";
import { readEverything } from "../../support/listing.js";
import { stopAtFirstFailure } from "../../support/stop-at-first-failure.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { startWriteProxy, type Write, type WritePhase, type WriteProxy } from "../support/write-proxy.js";
import {
  bePatient,
  exchangeNonce,
  makeTenantNamespaces,
  peerWithNode,
  requestSlice,
  unpeerWithNode,
  waitForObject,
} from "./peering.js";
import { startSide, type Side } from "./side.js";

/** For each step, during which a controller may be killed a dozen times. */
const PATIENCE_MS = 240_000;
/** As the issue of the control plane asks; there are more. */
const FEWEST_POINTS = 25;

/** What everything looks like, cluster by cluster: values that differ from one run to the next are left out. */
type Picture = Record<string, Record<string, unknown>>;

/**
 * Peers and unpeers while the controller that writes is killed at each write that it makes, the first time that it makes it: once before
 * anything is done, once when it is done and nobody knows. Each write is a point, and none is named here: new steps are new points.
 */
describe("controllers that are killed at each of their writes", function () {
  this.timeout(900_000);
  stopAtFirstFailure();
  let folder: string;
  let consumer: Side;
  let provider: Side;
  let nothing: Picture;
  let peered: Picture;
  let phase: WritePhase | undefined;
  const points = new Set<string>();
  const restarting = new Set<Side>();

  before(async function () {
    this.timeout(START_LIMIT_MS);
    folder = await mkdtemp(join(tmpdir(), "liqo-killed-"));
    await buildAgentBundle();
    [consumer, provider] = await Promise.all([startKilledSide("consumer"), startKilledSide("provider")]);
    await makeTenantNamespaces(consumer, provider);
  });

  after(async () => {
    for (const side of [consumer, provider]) await side?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("peer and unpeer undisturbed", async () => {
    // Nonces stay, and are the same from then on.
    await exchangeNonce(consumer, provider);
    nothing = await settled();
    await peer();
    peered = await settled();
    expect(Object.keys(peered["consumer"] ?? {})).to.include(
      "resourceslices.authentication.liqo.io liqo-tenant-provider/provider",
    );
    await unpeerWithNode(consumer, provider);
    await comesTo(nothing);
  });

  for (const [when, at] of [
    ["before anything is done", "asked"],
    ["when it is done and nobody knows", "done"],
  ] as const) {
    it(`killed ${when}, they come to the same`, async () => {
      points.clear();
      phase = at;
      await peer();
      await comesTo(peered);
      const whilePeering = points.size;
      await unpeerWithNode(consumer, provider);
      await comesTo(nothing);
      phase = undefined;
      console.log(`      killed ${points.size} times, ${whilePeering} of them while peering`);
      expect(points.size).to.be.at.least(FEWEST_POINTS);
    });
  }

  async function startKilledSide(id: string): Promise<Side> {
    let proxy: WriteProxy | undefined;
    const url = async (server: ApiServer): Promise<string> => {
      bePatient(server.client, PATIENCE_MS);
      proxy = await startWriteProxy(server, (write, now) => cuts(id, write, now));
      return proxy.url;
    };
    const side = await startSide(id, { folder, url });
    const stop = async (): Promise<void> => {
      await side.controller.stop();
      await proxy?.stop();
      await side.server.stop();
    };
    return { ...side, stop };
  }

  /** Kills who writes, if it is the first time for this write. */
  function cuts(at: string, write: Write, now: WritePhase): boolean {
    if (phase !== now) return false;
    const writer = write.user.startsWith("system:serviceaccount:") === (at === "consumer") ? consumer : provider;
    const point = `${writer.id} at ${at}: ${write.what}`;
    if (points.has(point) || restarting.has(writer)) return false;
    points.add(point);
    restarting.add(writer);
    void writer.controller.killAndRestart().finally(() => restarting.delete(writer));
    return true;
  }

  async function peer(): Promise<void> {
    await peerWithNode(consumer, provider, { cpu: "1" });
    // Quotas grow with what is asked for.
    await requestSlice(consumer, provider, { cpu: "2" }, { withNode: true });
    const quota = { name: sliceUserName(provider.id, consumer.id), namespace: tenantNamespaceName(consumer.id) };
    await waitForObject(provider.client, QuotaResource, quota, "cpu 2", ({ spec }) => spec.resources["cpu"] === "2");
  }

  /** How both clusters look once two looks in a row have shown the same. */
  async function settled(): Promise<Picture> {
    let last: Picture | undefined;
    return until(
      "two equal looks",
      PATIENCE_MS,
      async () => {
        const before = JSON.stringify(last);
        last = await look();
        return JSON.stringify(last) === before ? last : undefined;
      },
      1_000,
    );
  }

  async function comesTo(wanted: Picture): Promise<void> {
    await until("the same objects as undisturbed", PATIENCE_MS, async () => {
      const present = await look();
      const found = [consumer, provider].flatMap(({ id }) => differences(id, wanted[id], present[id]));
      if (found.length > 0) throw new Error(found.join("\n"));
      return true;
    });
  }

  async function look(): Promise<Picture> {
    const [one, other] = await Promise.all([consumer, provider].map(({ client }) => readEverything(client)));
    return { consumer: picture(one), provider: picture(other) };
  }
});

function picture(objects = new Map<string, KubeObject>()): Record<string, unknown> {
  const entries = [...objects]
    .filter(([name]) => !OF_THE_CLUSTER.some((kind) => name.startsWith(kind)))
    .map(([name, object]) => [name, plain(object)]);
  return Object.fromEntries(entries.sort()) as Record<string, unknown>;
}

/** Who leads, and addresses that the API server draws by lot. */
const OF_THE_CLUSTER = ["leases.", "ipaddresses."];

function differences(
  cluster: string,
  wanted: Record<string, unknown> = {},
  present: Record<string, unknown> = {},
): string[] {
  return [...new Set([...Object.keys(wanted), ...Object.keys(present)])].flatMap((name) => {
    const [before, now] = [wanted[name], present[name]].map((value) => JSON.stringify(value) ?? "nothing");
    return before === now ? [] : [`cluster ${cluster}, ${name}: ${before} is now ${now}`];
  });
}

/** Fields that tell when, under which number and by which lot something came to be; keys and what is signed with them are known by being there. */
const OF_ITS_LIFE = [
  ...["uid", "resourceVersion", "generation", "observedGeneration", "managedFields"],
  ...["creationTimestamp", "lastTransitionTime", "lastUpdateTime", "clusterIP", "clusterIPs", "nodePort"],
];
const BY_LOT = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|^[\w+/]{43}=$/g;
function plain(value: unknown, key = ""): unknown {
  if (typeof value === "string") return value.length > 100 || key === "data" ? "long" : value.replace(BY_LOT, "by lot");
  if (Array.isArray(value)) return value.map((inner) => plain(inner)).sort(byText);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => !OF_ITS_LIFE.includes(name));
  const inner = entries.map(([name, one]) => [name, plain(one, key === "data" ? key : name)] as const);
  return Object.fromEntries(inner.sort(byText));
}

/** Who was first to write a finalizer, a condition or a label says nothing. */
function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
