import { expect } from "chai";
import { pino } from "pino";
import {
  Controller,
  TerminalError,
  findCondition,
  withCondition,
  type ConditionLike,
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
