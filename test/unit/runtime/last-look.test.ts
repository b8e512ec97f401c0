import { expect } from "chai";
import { KubeError, lastLook, type KubeClient, type Refreshable } from "../../../agent/runtime/index.js";

const client = {} as KubeClient;

function answering(...codes: number[]): Refreshable[] {
  return codes.map((code) => ({
    refresh: () =>
      code === 200 ? Promise.resolve() : Promise.reject(new KubeError(`HTTP ${code}`, code, "Failure", "test")),
  }));
}

describe("a last look", () => {
  const look = (...codes: number[]) => lastLook(answering(...codes), client, AbortSignal.timeout(1_000));

  it("is current where everything was listed", async () => {
    expect(await look(200, 200)).to.equal("current");
  });

  it("finds all gone only where the API server refuses everything, as it does without account, rights or kinds", async () => {
    expect(await look(401, 401)).to.equal("gone");
    expect(await look(403, 404)).to.equal("gone");
    expect(await look(200, 403)).to.equal("unknown");
  });

  it("says nothing where the API server is away or fails", async () => {
    expect(await look(0, 0)).to.equal("unknown");
    expect(await look(401, 500)).to.equal("unknown");
    const broken = { refresh: () => Promise.reject(new Error("no account is mounted")) };
    expect(await lastLook([broken], client, AbortSignal.timeout(1_000))).to.equal("unknown");
  });
});
