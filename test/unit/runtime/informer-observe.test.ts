import { expect } from "chai";
import { once } from "node:events";
import type { ConfigMap } from "kubernetes-types/core/v1";
import { ConfigMapResource, Informer, type KubeClient, type WatchEvent } from "../../../agent/runtime/index.js";

const object = (uid: string, resourceVersion: string): ConfigMap => ({
  metadata: { name: "a", namespace: "n", uid, resourceVersion },
});

/** A client whose watch yields the given events and then waits for the end. */
function clientWith(events: WatchEvent<ConfigMap>[]): KubeClient {
  return {
    cluster: "test",
    pages: async function* () {
      yield await Promise.resolve({ metadata: { resourceVersion: "1" }, items: [object("first", "1")] });
    },
    watch: async function* (_type: unknown, { signal }: { signal: AbortSignal }) {
      yield* events;
      if (!signal.aborted) await once(signal, "abort");
    },
  } as unknown as KubeClient;
}

describe("Informer.observe", () => {
  it("takes newer objects, not older ones, and never one whose end the watch has told", async () => {
    const informer = new Informer(clientWith([{ type: "DELETED", object: object("first", "3") }]), ConfigMapResource);
    const ended = new Promise<void>((resolve) => informer.onEvent(({ type }) => type === "deleted" && resolve()));
    informer.start();
    await ended;
    // The answer to a write that was made before the deletion.
    informer.observe(object("first", "2"));
    expect(informer.get("n/a")).to.equal(undefined);
    informer.observe(object("second", "5"));
    informer.observe(object("second", "4"));
    expect(informer.get("n/a")?.metadata?.resourceVersion).to.equal("5");
    await informer.stop();
  });

  it("keeps what was written after the list was made, when that list comes in late", async () => {
    const client = clientWith([]);
    const informer = new Informer(client, ConfigMapResource);
    const others = (name: string, resourceVersion: string): ConfigMap => ({
      metadata: { name, namespace: "n", uid: name, resourceVersion },
    });
    // Both are in no list: the one was made after it (version 1), the other had gone by then.
    informer.observe(others("made-since", "2"));
    informer.observe(others("gone", "0"));
    informer.start();
    await informer.waitForSync(1_000);
    expect(informer.list().map(({ metadata }) => metadata?.name)).to.have.members(["a", "made-since"]);
    await informer.stop();
  });
});
