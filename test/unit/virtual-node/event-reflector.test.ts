import { expect } from "chai";
import { once } from "node:events";
import type { Event } from "kubernetes-types/core/v1";
import { createLogger, kubeTime, type KubeClient, type WatchEvent } from "../../../agent/runtime/index.js";
import type { VirtualNodeContext } from "../../../agent/virtual-node/context.js";
import { EventReflector, type LocalObjectLookup } from "../../../agent/virtual-node/reflection/event-reflector.js";
import { localEvent } from "../../../agent/virtual-node/reflection/event.js";
import { until } from "../../clusters/support/wait.js";

const DEADLINE_MS = 5_000;
const PATIENCE_MS = { warning: 600, normal: 1_200 };
const PAIR = { local: "shop", remote: "shop-there" };
const POD = { metadata: { name: "web", namespace: PAIR.local, uid: "u" } };

const event = (name: string, type: "Normal" | "Warning", resourceVersion = "1"): Event => ({
  metadata: { name, namespace: PAIR.remote, uid: name, resourceVersion, creationTimestamp: kubeTime() },
  involvedObject: { kind: "Pod", name: "web" },
  reason: "Told",
  message: `${name} of ${resourceVersion}`,
  type,
});

const listing = (items: Event[]) =>
  async function* () {
    yield await Promise.resolve({ metadata: { resourceVersion: "1" }, items });
  };

/** A reflector whose provider has these events, and whose consumer has these copies; and what it has written for the consumer. */
function reflector(
  events: Event[],
  isBusy: () => boolean,
  patienceMs = PATIENCE_MS,
  copies: Event[] = [],
  lookup: LocalObjectLookup = () => POD,
) {
  const written: string[] = [];
  const write = (_type: unknown, { message = "" }: Event): Promise<Event> => {
    written.push(message);
    return Promise.resolve({} as Event);
  };
  const watches: ((told: WatchEvent<Event>) => void)[] = [];
  const remote = {
    cluster: "provider",
    pages: listing(events),
    watch: async function* (_type: unknown, { signal }: { signal: AbortSignal }) {
      const ended = once(signal, "abort").then(() => undefined);
      for (;;) {
        const next = await Promise.race([ended, new Promise<WatchEvent<Event>>((resolve) => watches.push(resolve))]);
        if (!next) return;
        yield next;
      }
    },
  } as unknown as KubeClient;
  const context = {
    remote,
    local: { create: write, apply: write, pages: listing(copies) } as unknown as KubeClient,
    logger: createLogger("test"),
    config: { homeClusterId: "consumer", foreignClusterId: "provider" },
  } as unknown as VirtualNodeContext;
  const options = { workers: 1, isBusy, patienceMs, unknownLookMs: 20 };
  const told = new EventReflector(context, lookup, options);
  told.start();
  const activity = told.open(PAIR);
  return {
    written,
    change: (object: Event) => watches.shift()?.({ type: "MODIFIED", object }),
    stop: () => Promise.all([told.stop(), activity.stop()]),
  };
}

describe("events of the provider", () => {
  it("are told at once by a process that has nothing else to do, and again when they change", async () => {
    const { written, change, stop } = reflector([event("a", "Normal")], () => false);
    await until("the event", DEADLINE_MS, () => Promise.resolve(written.length === 1 || undefined), 5);
    change(event("a", "Normal", "2"));
    await until("its change", DEADLINE_MS, () => Promise.resolve(written.length === 2 || undefined), 5);
    await stop();
    expect(written).to.deep.equal(["a of 1", "a of 2"]);
  });

  it("wait while it is busy, and are told in the order of what they mean however long that lasts", async () => {
    const { written, stop } = reflector([event("normal", "Normal"), event("warning", "Warning")], () => true);
    await until("both", DEADLINE_MS, () => Promise.resolve(written.length === 2 || undefined), 5);
    await stop();
    expect(written).to.deep.equal(["warning of 1", "normal of 1"]);
  });

  it("that an earlier run of the process has told are told again only where they say something else", async () => {
    const reflection = { origin: "consumer", destination: "provider" };
    const older = ["same", "other", "never"].map((name) => {
      const { metadata, ...rest } = event(name, "Normal");
      return { metadata: { ...metadata, creationTimestamp: "2026-01-01T00:00:00Z" }, ...rest };
    });
    const [same, other] = older.map((one) => localEvent(one, "Pod", POD, reflection)) as [Event, Event];
    const copies = [same, { ...other, message: "something else" }];
    const { written, change, stop } = reflector(older, () => false, PATIENCE_MS, copies);
    await until("both", DEADLINE_MS, () => Promise.resolve(written.length === 2 || undefined), 5);
    expect(written).to.deep.equal(["other of 1", "never of 1"]);
    change(event("same", "Normal", "2"));
    await until("the change", DEADLINE_MS, () => Promise.resolve(written.length === 3 || undefined), 5);
    await stop();
    expect(written.at(-1)).to.equal("same of 2");
  });

  it("are told once their objects are known, and not before anybody can say whether there are any", async () => {
    let found: ReturnType<LocalObjectLookup> = "unknown";
    let asked = 0;
    const lookup: LocalObjectLookup = () => {
      asked += 1;
      return found;
    };
    const early = reflector([event("a", "Warning")], () => false, PATIENCE_MS, [], lookup);
    await until("some looks", DEADLINE_MS, () => Promise.resolve(asked > 2 || undefined), 5);
    expect(early.written).to.deep.equal([]);
    found = POD;
    await until("the event", DEADLINE_MS, () => Promise.resolve(early.written.length === 1 || undefined), 5);
    await early.stop();

    found = undefined;
    asked = 0;
    const none = reflector([event("b", "Warning")], () => false, PATIENCE_MS, [], lookup);
    await until("a look", DEADLINE_MS, () => Promise.resolve(asked > 0 || undefined), 5);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(asked).to.equal(1);
    expect(none.written).to.deep.equal([]);
    await none.stop();
  });

  it("that have waited are told as soon as it is quiet", async () => {
    let isBusy = true;
    const patient = reflector([event("a", "Normal")], () => isBusy, { warning: 60_000, normal: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(patient.written).to.deep.equal([]);
    isBusy = false;
    await until("the event", DEADLINE_MS, () => Promise.resolve(patient.written.length === 1 || undefined), 5);
    await patient.stop();
  });
});
