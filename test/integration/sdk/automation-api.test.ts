import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { TenantResource } from "../../../agent/api/index.js";
import { NodeResource } from "../../../agent/runtime/index.js";
import { VERSION } from "../../../provider/version.js";
import { buildProvider } from "../../../scripts/build.js";
import { pulumiFolder } from "../../clusters/index.js";
import { compileExample, type CompiledExample } from "../../support/example.js";
import { exec } from "../../support/exec.js";
import { PulumiStack } from "../../support/pulumi.js";
import { startSimulatedPair, type SimulatedPair } from "../provider-resources/support/simulated-pair.js";

/** The program as a user runs it, with the real engine and the real plugin, on real API servers whose agents are simulated. */
describe("the example of the Automation API", function () {
  this.timeout(300_000);
  const stateFolder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-automation-"));
  let pair: SimulatedPair;
  let example: CompiledExample;
  let env: NodeJS.ProcessEnv;

  before(async function () {
    this.timeout(15 * 60_000);
    const [binFolder, pluginFolder] = await Promise.all([pulumiFolder(), buildProvider()]);
    [pair, example] = await Promise.all([
      startSimulatedPair({ namespacesEnd: true }),
      compileExample("automation-api"),
    ]);
    const project = example.folder;
    const cli = new PulumiStack({ project, stateFolder, stack: "none", binFolder, config: {} });
    await cli.pulumi(["plugin", "install", "resource", "liqo", VERSION, "--file", pluginFolder]);
    env = { ...cli.command([]).env, KUBECONFIG: pair.KUBECONFIG };
  });

  after(async () => {
    await pair?.stop();
    await example?.remove();
    rmSync(stateFolder, { recursive: true, force: true });
  });

  /** Runs it with these arguments and returns what it prints. */
  async function run(...args: string[]): Promise<string> {
    const program = path.join(example.folder, "main.js");
    const { stdout } = await exec(process.execPath, [program, ...args], { cwd: example.folder, env, timeoutMs: 120_000 });
    return stdout.trim();
  }

  it("peers with the provider that is named, keeps it, and unpeers from what is named no more", async () => {
    const { consumer, provider } = pair.servers;
    for (let turn = 0; turn < 2; turn++) {
      expect(await run("consumer", "provider")).to.equal("consumer → provider: node provider");
      expect((await provider.client.list(TenantResource)).items).to.have.length(1);
      const nodes = (await consumer.client.list(NodeResource)).items.map(({ metadata }) => metadata?.name);
      expect(nodes).to.deep.equal(["provider"]);
    }
    expect(await run("consumer")).to.equal("consumer → provider: unpeered");
    expect((await provider.client.list(TenantResource)).items).to.deep.equal([]);
    expect(await run("consumer")).to.equal("");
  });
});
