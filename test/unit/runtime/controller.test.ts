import { expect } from "chai";
import type { ConfigMap } from "kubernetes-types/core/v1";
import { pino } from "pino";
import {
  Controller,
  TerminalError,
  findCondition,
  withCondition,
  type ConditionLike,
  type Informer,
  type InformerEvent,
} from "../../../agent/runtime/index.js";

const logger = pino({ level: "silent" });

describe("runtime: Controller", () => {
  it("retries a failed pass, and stops retrying after a terminal error", async () => {
    const passes: string[] = [];
    const finished = new Promise<void>((resolve) => {
      const controller = new Controller({
        name: "test",
        logger,
        reconcile: (key) => {
          passes.push(key);
          if (key === "flaky" && passes.filter((k) => k === "flaky").length < 3)
            return Promise.reject(new Error("not yet"));
          if (key === "wrong") return Promise.reject(new TerminalError("cannot be right"));
          if (key === "flaky") setTimeout(() => void controller.stop().then(resolve), 100);
          return Promise.resolve();
        },
      });
      controller.enqueue("wrong");
      controller.enqueue("flaky");
      controller.start();
    });
    await finished;
    expect(passes.filter((key) => key === "flaky")).to.have.length(3);
    expect(passes.filter((key) => key === "wrong")).to.have.length(1);
  });

  it("works first on what an urgent informer tells of", async () => {
    const informer = (): { informer: Informer<ConfigMap>; tell: (name: string) => void } => {
      const listeners: ((event: InformerEvent<ConfigMap>) => void)[] = [];
      return {
        informer: { onEvent: (listener: (typeof listeners)[0]) => listeners.push(listener) } as never,
        tell: (name) => listeners.forEach((listen) => listen({ type: "added", object: { metadata: { name } } })),
      };
    };
    const [usual, urgent] = [informer(), informer()];
    const passes: string[] = [];
    await new Promise<void>((resolve) => {
      const reconcile = (key: string): Promise<void> => {
        if (passes.push(key) === 3) resolve();
        return Promise.resolve();
      };
      const controller = new Controller({ name: "test", logger, workers: 1, reconcile })
        .watch(usual.informer)
        .watch(urgent.informer, ({ metadata }) => [metadata?.name ?? ""], { isUrgent: true });
      for (const name of ["a", "b", "c"]) usual.tell(name);
      urgent.tell("c");
      controller.start();
    });
    expect(passes).to.deep.equal(["c", "a", "b"]);
  });
});

describe("runtime: conditions", () => {
  it("moves the transition time only when the status changes", () => {
    const first = withCondition<ConditionLike>([], {
      type: "Ready",
      status: "False",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      message: "a",
    });
    const same = withCondition<ConditionLike>(first, { type: "Ready", status: "False", message: "b" });
    expect(findCondition(same, "Ready")).to.deep.equal({
      type: "Ready",
      status: "False",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      message: "b",
    });
    const changed = withCondition<ConditionLike>(same, { type: "Ready", status: "True" });
    expect(findCondition(changed, "Ready")?.lastTransitionTime).to.not.equal("2026-01-01T00:00:00Z");
    expect(first[0]?.message).to.equal("a");
  });
});
