import { expect } from "chai";
import type { Event } from "kubernetes-types/core/v1";
import { mock } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigMapResource, EventRecorder, createLogger, type KubeClient } from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";

/** A client that keeps what is written, and a recorder that uses it. */
function recorder(): { events: Event[]; counts: unknown[]; recorder: EventRecorder } {
  const events: Event[] = [];
  const counts: unknown[] = [];
  const client = {
    create: (_type: unknown, event: Event) => Promise.resolve(events.push(event)),
    mergePatch: (_type: unknown, _id: unknown, patch: { count: number }) => Promise.resolve(counts.push(patch.count)),
  } as unknown as KubeClient;
  return { events, counts, recorder: new EventRecorder(client, "tester", createLogger("test")) };
}

const object = (name: string) => ({ metadata: { name, namespace: "n", uid: name, resourceVersion: "1" } });

describe("runtime: EventRecorder", () => {
  it("tells of an object once, and then how often", async () => {
    const { events, counts, recorder: told } = recorder();
    told.normal(ConfigMapResource, object("a"), "Made", "it is made");
    told.normal(
      ConfigMapResource,
      { metadata: { ...object("a").metadata, resourceVersion: "2" } },
      "Made",
      "it is made",
    );
    told.warning(ConfigMapResource, object("a"), "Lost", "it is lost");
    await delay(0);
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).to.deep.equal(["Normal Made", "Warning Lost"]);
    expect(events[0]?.involvedObject).to.include({ kind: "ConfigMap", apiVersion: "v1", name: "a", namespace: "n" });
    expect(counts).to.deep.equal([2]);
  });

  it("tells of a crowd when it has come to rest, with the time of each, and lets no warning wait", async () => {
    const { events, recorder: told } = recorder();
    for (let i = 0; i < 25; i++) told.normal(ConfigMapResource, object(`o${i}`), "Made", "it is made");
    told.warning(ConfigMapResource, object("o0"), "Lost", "it is lost");
    const end = Date.now();
    await delay(0);
    expect(events.filter(({ type }) => type === "Normal")).to.have.length(10);
    expect(events.filter(({ type }) => type === "Warning")).to.have.length(1);
    await until("the others", 10_000, () => events.length === 26 || undefined);
    for (const { firstTimestamp } of events) expect(Date.parse(String(firstTimestamp))).to.be.at.most(end);
    const order = events.filter(({ type }) => type === "Normal").map(({ involvedObject }) => involvedObject.name);
    expect(order).to.deep.equal(Array.from({ length: 25 }, (_, i) => `o${i}`));
    await delay(250);
    told.normal(ConfigMapResource, object("alone"), "Made", "it is made");
    await delay(0);
    expect(events, "one that comes alone waits for nothing").to.have.length(27);
  });

  describe("by the clock", () => {
    beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 }));
    afterEach(() => mock.timers.reset());

    it("waits for rest no longer than ten seconds, and then writes no more than ten in a second", () => {
      const { events, recorder: told } = recorder();
      const written: number[] = [];
      for (let second = 0; second < 20; second++) {
        for (let i = 0; i < 15; i++) told.normal(ConfigMapResource, object(`o${second}-${i}`), "Made", "it is made");
        for (let ms = 0; ms < 1_000; ms++) mock.timers.tick(1);
        written.push(events.length - written.reduce((sum, one) => sum + one, 0));
      }
      expect(written.slice(0, 9)).to.deep.equal([10, 0, 0, 0, 0, 0, 0, 0, 0]);
      expect(written[9]! + written[10]!, "the rest of the first second's").to.be.within(5, 6);
      for (const count of written.slice(11)) expect(count).to.be.within(9, 10);
    });
  });
});
