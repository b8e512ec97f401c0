import { getEventListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { KubeClient } from "../../../agent/runtime/index.js";
import { RecentAnswers } from "../../../provider/kube/recent-answers.js";

const LONG_MS = 60_000;
const { signal: NEVER } = new AbortController();

/** A client of a cluster that is never asked. */
function clientOf(name: string): KubeClient {
  const server = "https://192.0.2.1";
  const config = {
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  return KubeClient.fromText(JSON.stringify(config));
}

/** Answers one after the other when told to, and counts how often it was asked. */
class Cluster {
  asked = 0;
  private waiting: PromiseWithResolvers<string>[] = [];

  readonly ask = (): Promise<string> => {
    this.asked += 1;
    const answer = deferred<string>();
    this.waiting.push(answer);
    return answer.promise;
  };

  answer(text: string): void {
    this.waiting.shift()?.resolve(text);
  }

  fail(reason: string): void {
    this.waiting.shift()?.reject(new Error(reason));
  }
}

interface PromiseWithResolvers<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(error: Error): void;
}

function deferred<T>(): PromiseWithResolvers<T> {
  const result = {} as PromiseWithResolvers<T>;
  result.promise = new Promise<T>((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}

describe("recent answers", () => {
  const client = clientOf("a");
  let cluster: Cluster;
  const answersFor = (validMs: number): RecentAnswers<string> =>
    new RecentAnswers(validMs, cluster.ask, (answer) => answer !== "nothing");

  beforeEach(() => (cluster = new Cluster()));

  it("asks a cluster once for all who wait, and not again while the answer counts", async () => {
    const answers = answersFor(LONG_MS);
    const both = [answers.get(client, NEVER), answers.get(client, NEVER)];
    cluster.answer("yes");
    expect(await Promise.all(both)).to.deep.equal(["yes", "yes"]);
    expect(await answers.get(client, NEVER)).to.equal("yes");
    expect(cluster.asked).to.equal(1);
  });

  it("asks each cluster for itself", async () => {
    const answers = answersFor(LONG_MS);
    const both = [answers.get(client, NEVER), answers.get(clientOf("b"), NEVER)];
    cluster.answer("of a");
    cluster.answer("of b");
    expect(await Promise.all(both)).to.deep.equal(["of a", "of b"]);
  });

  it("asks again once the answer is too old, or is said to hold no more", async () => {
    const answers = answersFor(20);
    for (const after of [() => delay(25), () => Promise.resolve(answers.forget(client)), () => delay(0)]) {
      const answer = answers.get(client, NEVER);
      cluster.answer("yes");
      expect(await answer).to.equal("yes");
      await after();
    }
    expect(cluster.asked).to.equal(3);
  });

  it("keeps neither failures nor what is not worth it", async () => {
    const answers = answersFor(LONG_MS);
    const failing = [answers.get(client, NEVER), answers.get(client, NEVER)];
    cluster.fail("no route");
    for (const one of await Promise.allSettled(failing))
      expect(one).to.have.nested.property("reason.message", "no route");
    const empty = answers.get(client, NEVER);
    cluster.answer("nothing");
    expect(await empty).to.equal("nothing");
    const third = answers.get(client, NEVER);
    cluster.answer("yes");
    expect(await third).to.equal("yes");
    expect(cluster.asked).to.equal(3);
  });

  it("no longer listens to the signal of who has an answer", async () => {
    const answers = answersFor(LONG_MS);
    const { signal } = new AbortController();
    const both = Promise.all([answers.get(client, signal), answers.get(client, signal)]);
    cluster.answer("one");
    await both;
    expect(getEventListeners(signal, "abort")).to.deep.equal([]);
  });

  it("lets one give up without the others", async () => {
    const answers = answersFor(LONG_MS);
    const impatient = new AbortController();
    const first = answers.get(client, impatient.signal);
    const second = answers.get(client, NEVER);
    impatient.abort(new Error("cancelled"));
    expect(await first.catch((error: unknown) => error)).to.have.property("message", "cancelled");
    cluster.answer("yes");
    expect(await second).to.equal("yes");
    expect(cluster.asked).to.equal(1);
  });
});
