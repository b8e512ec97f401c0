import { expect } from "chai";
import type { Event } from "kubernetes-types/core/v1";
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

  it("spreads what a crowd gives rise to, each with the time at which it happened, and lets no warning wait", async () => {
    const { events, recorder: told } = recorder();
    for (let i = 0; i < 25; i++) told.normal(ConfigMapResource, object(`o${i}`), "Made", "it is made");
    told.warning(ConfigMapResource, object("o0"), "Lost", "it is lost");
    const end = Date.now();
    await delay(0);
    expect(events.filter(({ type }) => type === "Normal").length).to.be.within(10, 20);
    expect(events.filter(({ type }) => type === "Warning")).to.have.length(1);
    await until("the others", 5_000, () => events.length === 26 || undefined);
    for (const { firstTimestamp } of events) expect(Date.parse(String(firstTimestamp))).to.be.at.most(end);
    const order = events.filter(({ type }) => type === "Normal").map(({ involvedObject }) => involvedObject.name);
    expect(order).to.deep.equal(Array.from({ length: 25 }, (_, i) => `o${i}`));
    await delay(250);
    told.normal(ConfigMapResource, object("alone"), "Made", "it is made");
    await delay(0);
    expect(events, "one that comes alone waits for nothing").to.have.length(27);
  });
});
