import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { LocalWorkspace, PulumiCommand } from "@pulumi/pulumi/automation/index.js";
import { expect } from "chai";
import { ResourceSliceResource, TenantResource } from "../../../agent/api/index.js";
import { VERSION } from "../../../provider/version.js";
import { buildProvider } from "../../../scripts/build.js";
import { pulumiFolder } from "../../clusters/index.js";
import { PulumiStack } from "../../support/pulumi.js";
import { startSimulatedPair, type SimulatedPair } from "../provider-resources/support/simulated-pair.js";

/** As an SDK declares it. */
class Peering extends pulumi.ComponentResource {
  constructor(name: string, args: pulumi.Inputs, options?: pulumi.ComponentResourceOptions) {
    super("liqo:index:Peering", name, args, { ...options, version: VERSION }, true);
  }
}

/** The real engine with a program in this process: what a program transforms reaches what a Peering consists of, which the plugin makes. */
describe("transforms of a program", function () {
  this.timeout(120_000);
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-transforms-"));
  let simulated: SimulatedPair;
  let envVars: NodeJS.ProcessEnv;

  before(async function () {
    this.timeout(15 * 60_000);
    const [binFolder, pluginFolder] = await Promise.all([pulumiFolder(), buildProvider()]);
    simulated = await startSimulatedPair({ namespacesEnd: true });
    // Where the Automation API looks for the CLI.
    symlinkSync(binFolder, path.join(folder, "bin"));
    const cli = new PulumiStack({ project: folder, stateFolder: folder, stack: "none", binFolder, config: {} });
    await cli.pulumi(["plugin", "install", "resource", "liqo", VERSION, "--file", pluginFolder]);
    envVars = cli.command([]).env;
  });
  after(async () => {
    await simulated?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("change the properties and options of what a Peering consists of", async () => {
    const cordoned: pulumi.ResourceTransform = ({ type, props, opts }) => {
      if (type === "liqo:index:Authentication") return { props: { ...props, tenantCondition: "Cordoned" }, opts };
      if (type === "liqo:index:ResourceSlice") return { props: { ...props, objectLabels: { team: "shop" } }, opts };
      return undefined;
    };
    const program = async (): Promise<void> => {
      new Peering("peering", { ...simulated.clusters, createVirtualNode: false }, { transforms: [cordoned] });
      return Promise.resolve();
    };
    const stack = await LocalWorkspace.createOrSelectStack(
      { stackName: "transforming", projectName: "transforming", program },
      { envVars: envVars as Record<string, string>, pulumiCommand: await PulumiCommand.get({ root: folder }) },
    );
    await stack.up();
    const [tenant] = (await simulated.servers.provider.client.list(TenantResource)).items;
    expect(tenant?.spec.tenantCondition).to.equal("Cordoned");
    const [slice] = (await simulated.servers.consumer.client.list(ResourceSliceResource)).items;
    expect(slice?.metadata.labels).to.include({ team: "shop" });
    expect((await stack.preview()).changeSummary).to.not.have.any.keys("create", "update", "replace", "delete");
    await stack.destroy();
    expect((await simulated.servers.provider.client.list(TenantResource)).items).to.deep.equal([]);
  });
});
