import { expect } from "chai";
import { once } from "node:events";
import { mock } from "node:test";
import type { ConfigMap } from "kubernetes-types/core/v1";
import {
  ConfigMapResource,
  Informer,
  KubeError,
  type KubeClient,
  type WatchEvent,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";

/** Less than the pause that would be next after five lists, of 3.2 s or more. */
const SOON_MS = 2_500;

const SOMETHING: WatchEvent<ConfigMap> = { type: "BOOKMARK", object: { metadata: { resourceVersion: "2" } } };
const refused = new KubeError("not ready yet", 429, "TooManyRequests", "test");
const broken = new KubeError("broke", 0, "WatchBroken", "test");
const forbidden = new KubeError("no right", 403, "Forbidden", "test");
const gone = new KubeError("too old", 410, "Expired", "test");

/** A client that always lists, and whose watches are refused until it is told otherwise. */
class Server {
  readonly lists: number[] = [];
  /** What becomes of a watch that is asked for; without it, it stands. */
  failure: KubeError | undefined = refused;
  /** What becomes of a list that is asked for. */
  listFailure: KubeError | undefined;
  /** Whether a watch is opened before it fails. */
  opens = false;
  /** What a watch that stands tells first. */
  events: WatchEvent<ConfigMap>[] = [];
  stands = false;
  private end: (error?: KubeError) => void = () => undefined;

  /** Ends the watch that stands, in the ordinary way unless an error is given. */
  endWatch(error?: KubeError): void {
    this.stands = false;
    this.end(error);
  }

  readonly client = {
    cluster: "test",
    pages: (): AsyncGenerator => this.pages(),
    watch: (_type: unknown, options: { signal: AbortSignal; onOpen?: () => void }): AsyncGenerator =>
      this.watch(options),
  } as unknown as KubeClient;

  private async *pages() {
    this.lists.push(Date.now());
    // As long as an answer takes at least.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.listFailure) throw this.listFailure;
    yield { metadata: { resourceVersion: "1" }, items: [] };
  }

  private async *watch({ signal, onOpen }: { signal: AbortSignal; onOpen?: () => void }): AsyncGenerator {
    if (this.opens || !this.failure) onOpen?.();
    if (this.failure) throw this.failure;
    yield* this.events;
    const ended = new Promise<KubeError | undefined>((resolve) => (this.end = resolve));
    this.stands = true;
    const error = await Promise.race([ended, once(signal, "abort").then(() => undefined)]);
    if (error) throw error;
  }
}

describe("an informer whose watch is refused", function () {
  this.timeout(20_000);
  let server: Server;
  let informer: Informer<ConfigMap>;

  beforeEach(() => {
    server = new Server();
    informer = new Informer(server.client, ConfigMapResource);
  });

  afterEach(async () => {
    mock.restoreAll();
    await informer.stop();
  });

  async function lists(count: number): Promise<void> {
    await until(`${count} lists`, 15_000, () => Promise.resolve(server.lists.length >= count || undefined));
  }

  /** The fourth pause is at least half of eight times the first. */
  async function expectGrowingPauses(): Promise<void> {
    informer.start();
    await lists(5);
    expect((server.lists[4] ?? 0) - (server.lists[3] ?? 0)).to.be.above(750);
  }

  async function watchStands(): Promise<void> {
    server.failure = undefined;
    await until("a watch", 10_000, () => Promise.resolve(server.stands || undefined));
  }

  async function expectListSoonAfter(end: () => void): Promise<void> {
    const [before, endedAt] = [server.lists.length, Date.now()];
    end();
    await lists(before + 1);
    expect((server.lists[before] ?? 0) - endedAt).to.be.below(SOON_MS);
  }

  it("lists ever more seldom, and at once again after a watch that has told something", async () => {
    server.events = [SOMETHING];
    await expectGrowingPauses();
    await watchStands();
    await expectListSoonAfter(() => server.endWatch(broken));
  });

  it("lists at once again after a watch that has lasted, though it had nothing to tell", async () => {
    await expectGrowingPauses();
    await watchStands();
    const later = performance.now() + 10_000;
    mock.method(performance, "now", () => later);
    await expectListSoonAfter(() => server.endWatch(broken));
  });

  it("lists ever more seldom also where each watch is opened and breaks at once", async () => {
    server.failure = broken;
    server.opens = true;
    await expectGrowingPauses();
  });

  it("lists ever more seldom also where the server does not know the list it has just given", async () => {
    server.failure = gone;
    server.opens = true;
    await expectGrowingPauses();
  });

  it("resumes a watch that has merely ended without a list, and lists at once where the server has forgotten it", async () => {
    server.failure = undefined;
    server.events = [SOMETHING];
    informer.start();
    await watchStands();
    server.endWatch();
    await watchStands();
    expect(server.lists).to.have.length(1);
    await expectListSoonAfter(() => server.endWatch(gone));
  });

  it("tells of the first list, and of the first after it was refused; a watch that stands is given up for a list when asked", async () => {
    let told = 0;
    informer = new Informer(server.client, ConfigMapResource, { onListed: () => (told += 1) });
    informer.start();
    await watchStands();
    expect(told).to.equal(1);

    server.stands = false;
    informer.lookAgain();
    await watchStands();
    expect([server.lists.length, told], "nothing had failed").to.deep.equal([2, 1]);

    server.listFailure = forbidden;
    informer.lookAgain();
    await lists(4);
    expect(told).to.equal(1);
    server.stands = false;
    server.listFailure = undefined;
    await watchStands();
    expect(told).to.equal(2);
  });
});
