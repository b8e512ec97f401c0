import { expect } from "chai";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withLock } from "../../clusters/support/lock.js";
import { ensurePrograms } from "../../clusters/support/packages.js";
import { end, findByEnvironment, identify, isRunning } from "../../clusters/support/processes.js";
import { silent } from "../../clusters/support/progress.js";
import { Hopeless, until } from "../../clusters/support/wait.js";

describe("test clusters: support", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "clusters-unit-"))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("lets one run in at a time", async () => {
    const path = join(folder, "lock");
    const events: string[] = [];
    const work = (name: string): Promise<void> =>
      withLock(path, "test", async () => {
        events.push(`${name} in`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        events.push(`${name} out`);
      });
    await Promise.all([work("a"), work("b")]);
    expect(events).to.deep.equal(["a in", "a out", "b in", "b out"]);
    expect(existsSync(path)).to.equal(false);
  });

  it("takes over a lock whose owner is gone", async () => {
    const path = join(folder, "lock");
    // The same process number, but started at another time.
    writeFileSync(path, JSON.stringify({ ...identify(process.pid), startTime: "1" }));
    expect(await withLock(path, "test", () => Promise.resolve("in"))).to.equal("in");
  });

  it("finds a process by its environment and ends only that very one", async () => {
    const child = spawn("sleep", ["60"], { env: { ...process.env, CLUSTERS_UNIT_MARK: folder } });
    const ended = new Promise((resolve) => child.on("exit", resolve));
    const found = findByEnvironment("CLUSTERS_UNIT_MARK", (mark) => mark === folder);
    expect(found.map(({ pid }) => pid)).to.deep.equal([child.pid]);
    const [identity] = found;
    if (!identity) throw new Error("not found");
    end({ ...identity, startTime: "1" });
    expect(isRunning(identity)).to.equal(true);
    end(identity);
    await ended;
    expect(isRunning(identity)).to.equal(false);
  });

  it("installs what two ask for at once one time, the one after the other", async function () {
    if (process.getuid?.() !== 0) this.skip();
    // Refuses, as the real one does, while another one is at work.
    const apt = `#!/bin/sh
mkdir ${folder}/busy || exit 100
sleep 0.1
for word; do :; done
[ "$1" = update ] || { echo "$word" >> ${folder}/installed; touch ${folder}/$word; }
rmdir ${folder}/busy
`;
    writeFileSync(join(folder, "apt-get"), apt, { mode: 0o755 });
    const { PATH, PULUMI_LIQO_CACHE } = process.env;
    Object.assign(process.env, { PATH: `${folder}:${PATH}`, PULUMI_LIQO_CACHE: folder });
    try {
      const ask = (name: string) => ensurePrograms([{ program: name, package: name }], silent);
      await Promise.all([ask("one-unit"), ask("one-unit"), ask("other-unit")]);
    } finally {
      process.env["PATH"] = PATH;
      if (PULUMI_LIQO_CACHE === undefined) delete process.env["PULUMI_LIQO_CACHE"];
      else process.env["PULUMI_LIQO_CACHE"] = PULUMI_LIQO_CACHE;
    }
    const installed = readFileSync(join(folder, "installed"), "utf8").trim().split("\n");
    expect(installed.sort()).to.deep.equal(["one-unit", "other-unit"]);
  });

  it("waits until there is an answer, tells the last reason, and gives up where hope is lost", async () => {
    let asked = 0;
    expect(await until("it", 1_000, () => (++asked < 3 ? undefined : asked), 1)).to.equal(3);
    const failing = (error: Error): Promise<string> =>
      until("it", 20, () => Promise.reject(error), 1).then(
        () => "",
        (reason: Error) => reason.message,
      );
    expect(await failing(new Error("not yet"))).to.equal("it: not within 0.02 s: not yet");
    expect(await failing(new Hopeless("gone"))).to.equal("gone");
  });
});
