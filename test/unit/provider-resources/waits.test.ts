import { expect } from "chai";
import { ConfigMapResource, KubeError, type KubeClient, type WatchEvent } from "../../../agent/runtime/index.js";
import type { ConfigMap } from "kubernetes-types/core/v1";
import {
  concurrently,
  Refused,
  waitFor,
  waitUntilGone,
  WaitTimeout,
  type Progress,
  type Verdict,
} from "../../../provider/waits/index.js";

function progress(milliseconds = 2_000, signal = new AbortController().signal): Progress & { lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    status: (line) => lines.push(line),
    log: () => undefined,
    signal,
    deadline: Date.now() + milliseconds,
  };
}

/** A cluster with one ConfigMap at most, whose values come one after another. */
function clusterOf(values: (string | undefined)[], options: { watch?: boolean } = {}): KubeClient {
  const queue = [...values];
  const object = (value: string): ConfigMap => ({ metadata: { name: "x", namespace: "n" }, data: { value } });
  const client = {
    cluster: "test",
    list: () => {
      const value = queue.shift();
      return Promise.resolve({ metadata: { resourceVersion: "1" }, items: value === undefined ? [] : [object(value)] });
    },
    get: () => Promise.resolve(queue.length > 0 ? object(queue.shift() ?? "") : undefined),
    async *watch(_type: unknown, { signal }: { signal: AbortSignal }): AsyncGenerator<WatchEvent<ConfigMap>> {
      if (options.watch === false) throw new KubeError("no", 403, "Forbidden", "test");
      while (queue.length > 0) {
        const value = queue.shift();
        await Promise.resolve();
        if (value === undefined) yield { type: "DELETED", object: object("") };
        else yield { type: "MODIFIED", object: object(value) };
      }
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  };
  return client as unknown as KubeClient;
}

const wanted =
  (value: string) =>
  ([found]: ConfigMap[]): Verdict<string> => {
    const current = found?.data?.["value"];
    if (current === "bad") return { failed: "it is bad" };
    return current === value ? { done: value } : { waiting: `it is ${current ?? "absent"}` };
  };

const request = (client: KubeClient, value: string) => ({
  client,
  type: ConfigMapResource,
  namespace: "n",
  name: "x",
  what: "the value",
  judge: wanted(value),
});

describe("waiting", () => {
  it("ends with the first change that fits, by list or by watch", async () => {
    expect(await waitFor(progress(), request(clusterOf(["b"]), "b"))).to.equal("b");
    expect(await waitFor(progress(), request(clusterOf([undefined, "a", "b"]), "b"))).to.equal("b");
  });

  it("begins with what a write has returned, and follows it from there", async () => {
    const written = { metadata: { name: "x", namespace: "n", resourceVersion: "7" }, data: { value: "a" } };
    const cluster = clusterOf(["b"]);
    const versions: unknown[] = [];
    const watch: KubeClient["watch"] = (type, options) => {
      versions.push(options?.resourceVersion);
      return cluster.watch(type, options);
    };
    const client = { cluster: "test", watch } as unknown as KubeClient;
    expect(await waitFor(progress(), { ...request(client, "a"), written })).to.equal("a");
    expect(versions).to.deep.equal([]);
    expect(await waitFor(progress(), { ...request(client, "b"), written })).to.equal("b");
    expect(versions).to.deep.equal(["7"]);
  });

  it("asks when a written object's version is no longer known", async () => {
    const written = { metadata: { name: "x", namespace: "n", resourceVersion: "7" }, data: { value: "a" } };
    const client = clusterOf(["b"]);
    client.watch = () => {
      throw new KubeError("too old", 410, "Expired", "test");
    };
    expect(await waitFor(progress(), { ...request(client, "b"), written })).to.equal("b");
  });

  it("looks again and again where watching is not allowed", async () => {
    expect(await waitFor(progress(), request(clusterOf(["a", "b"], { watch: false }), "b"))).to.equal("b");
  });

  it("says what it waited for, the last state and the cause when time is over", async () => {
    const waiting = waitFor(progress(60), {
      ...request(clusterOf(["a"]), "b"),
      explain: () => Promise.resolve("the moon"),
    });
    const error = await waiting.catch((e: unknown) => e);
    expect(String(error)).to.match(/cluster test: waited 1 s in vain for the value: it is a; the moon/);
  });

  it("goes on for no longer than a verdict gives itself, unless another one follows", async () => {
    const hopeless =
      (wanted: string) =>
      ([found]: ConfigMap[]): Verdict<string> => {
        const current = found?.data?.["value"];
        if (current === wanted) return { done: wanted };
        return { waiting: `it is ${current}`, ...(current === "hopeless" ? { forMs: 50 } : {}) };
      };
    const waiting = waitFor(progress(60_000), {
      ...request(clusterOf(["a", "hopeless"]), "b"),
      judge: hopeless("b"),
      explain: () => Promise.resolve("the moon"),
    });
    const error = await waiting.catch((e: unknown) => e);
    expect(error).to.be.instanceOf(WaitTimeout);
    expect(String(error)).to.contain("in vain for the value: it is hopeless; the moon");
    const mended = { ...request(clusterOf(["hopeless", "a"]), "b"), judge: hopeless("b") };
    const last = await waitFor(progress(500), mended).catch((e: unknown) => e);
    expect(String(last)).to.contain("in vain for the value: it is a");
    const found = { ...request(clusterOf(["hopeless", "b"]), "b"), judge: hopeless("b") };
    expect(await waitFor(progress(), found)).to.equal("b");
  });

  it("ends at once when refused, or cancelled", async () => {
    const refused = await waitFor(progress(), request(clusterOf(["a", "bad"]), "b")).catch((e: unknown) => e);
    expect(refused).to.be.instanceOf(Refused);
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 20);
    const started = Date.now();
    const cancelled = await waitFor(progress(60_000, controller.signal), request(clusterOf(["a"]), "b")).catch(
      (e: unknown) => e,
    );
    expect(String(cancelled)).to.contain("cancelled while waiting for the value");
    expect(Date.now() - started).to.be.lessThan(5_000);
  });

  it("throws what no retry can mend", async () => {
    const client = { cluster: "test", list: () => Promise.reject(new KubeError("gone", 404, "NotFound", "test")) };
    const error = await waitFor(progress(), request(client as unknown as KubeClient, "b")).catch((e: unknown) => e);
    expect(error).to.be.instanceOf(KubeError);
  });

  it("waits for the end of an object", async () => {
    await waitUntilGone(progress(), clusterOf(["a", undefined]), ConfigMapResource, { namespace: "n", name: "x" });
  });
});

describe("side by side", () => {
  it("ends everything with the first failure, which it throws", async () => {
    let isStopped = false;
    const running = concurrently(progress(), async (scope) => {
      const slow = scope.start(
        (inner) =>
          new Promise((_resolve, reject) =>
            inner.signal.addEventListener("abort", () => {
              isStopped = true;
              reject(new Error("stopped"));
            }),
          ),
      );
      void scope.start(() => Promise.reject(new Error("broken")));
      await slow;
    });
    const error = await running.catch((e: unknown) => e);
    expect(String(error)).to.contain("broken");
    expect(isStopped).to.equal(true);
  });

  it("tells of all waits that time out together, each once", async () => {
    const late = async (what: string): Promise<never> => {
      await Promise.resolve();
      throw new WaitTimeout(`in vain for ${what}`);
    };
    const running = concurrently(progress(), async (scope) => {
      const first = scope.start(() => late("the server"));
      void scope.start(() => late("the client"));
      void scope.start(() => first);
      await first;
    });
    const error = await running.catch((e: unknown) => e);
    expect(error).to.be.instanceOf(WaitTimeout);
    expect((error as Error).message).to.equal("in vain for the server; in vain for the client");
  });

  it("waits for work that was not asked for, too", async () => {
    let isDone = false;
    await concurrently(progress(), (scope) => {
      void scope.start(async () => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        isDone = true;
      });
      return Promise.resolve();
    });
    expect(isDone).to.equal(true);
  });
});
