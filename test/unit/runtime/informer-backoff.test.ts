import { expect } from "chai";
import { once } from "node:events";
import { ConfigMapResource, Informer, KubeError, type KubeClient } from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";

/** A client that lists, and whose watches are refused until it is told otherwise. */
class Server {
  readonly lists: number[] = [];
  refuses = true;
  stands = false;
  private breakOff = (): void => undefined;

  /** Ends the watch that stands. */
  break(): void {
    this.breakOff();
  }

  readonly client = {
    cluster: "test",
    pages: (): AsyncGenerator => this.pages(),
    watch: (_type: unknown, options: { signal: AbortSignal; onOpen: () => void }): AsyncGenerator =>
      this.watch(options),
  } as unknown as KubeClient;

  private async *pages() {
    this.lists.push(Date.now());
    yield await Promise.resolve({ metadata: { resourceVersion: "1" }, items: [] });
  }

  private async *watch({ signal, onOpen }: { signal: AbortSignal; onOpen: () => void }): AsyncGenerator {
    if (this.refuses) throw new KubeError("not ready yet", 429, "TooManyRequests", "test");
    onOpen();
    const broken = new Promise<void>((resolve) => (this.breakOff = resolve));
    this.stands = true;
    await Promise.race([broken, once(signal, "abort")]);
    if (!signal.aborted) throw new KubeError("broke", 0, "WatchBroken", "test");
    yield* [];
  }
}

describe("an informer whose watch is refused", () => {
  it("lists ever more seldom, and at once again after a watch that has stood", async function () {
    this.timeout(20_000);
    const server = new Server();
    const informer = new Informer(server.client, ConfigMapResource).start();
    await until("five lists", 15_000, () => Promise.resolve(server.lists.length >= 5 || undefined));
    const pauses = server.lists.slice(1).map((at, index) => at - (server.lists[index] ?? 0));
    // Each is at least half of twice the one before.
    expect(pauses[3]).to.be.above(750);
    server.refuses = false;
    await until("a watch", 10_000, () => Promise.resolve(server.stands || undefined));
    const before = server.lists.length;
    const brokenAt = Date.now();
    server.break();
    await until("the next list", 5_000, () => Promise.resolve(server.lists.length > before || undefined));
    expect((server.lists.at(-1) ?? 0) - brokenAt).to.be.below(750);
    await informer.stop();
  });
});
