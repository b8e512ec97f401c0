import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Labels } from "../../../agent/api/index.js";
import { ClusterRoleResource, DeploymentResource } from "../../../agent/runtime/index.js";
import { VERSION } from "../../../provider/version.js";
import { buildProvider } from "../../../scripts/build.js";
import { pulumiFolder } from "../../clusters/index.js";
import { PulumiStack } from "../../support/pulumi.js";
import { startInstallableServer } from "../provider-resources/support/installable-server.js";
import type { ApiServer } from "../support/api-server.js";

const PREVIOUS = "0.0.9";
const STACK = "upgrading";
const CONTROLLER = { name: "liqo-controller-manager", namespace: "liqo" };
/** What the previous version has and this one has not. */
const FORMER = "liqo-former";

/** The real CLI with two builds of the plugin on a real API server: an Agent from one version of the package to the next, and back. */
describe("an Agent from version to version of the package", function () {
  this.timeout(300_000);
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-upgrade-"));
  const project = path.join(folder, "project");
  let server: ApiServer;
  let stack: PulumiStack;
  let plugins: Record<string, string>;

  before(async function () {
    this.timeout(15 * 60_000);
    const binFolder = await pulumiFolder();
    const previous = path.join(folder, "previous");
    await buildProvider({ version: PREVIOUS, folder: previous });
    plugins = { [PREVIOUS]: previous, [VERSION]: await buildProvider() };
    server = await startInstallableServer("one");
    await write(PREVIOUS);
    stack = new PulumiStack({ project, stateFolder: folder, stack: STACK, binFolder, config: {} });
    await stack.init();
  });
  after(async () => {
    await stack?.destroy({ allowFailure: true });
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The program with the package in this version; the engine has both, as it may need the former one for what is in the state. */
  async function write(version: string): Promise<void> {
    const properties = {
      ...{ cluster: { kubeconfig: server.kubeconfigPath }, clusterId: "one" },
      ...{ podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" },
    };
    const program = {
      name: STACK,
      runtime: "yaml",
      plugins: {
        providers: Object.entries(plugins).map(([of, where]) => ({ name: "liqo", path: where, version: of })),
      },
      resources: { agent: { type: "liqo:Agent", properties, options: { version } } },
      outputs: { version: "${agent.version}" },
    };
    await mkdir(project, { recursive: true });
    await writeFile(path.join(project, "Pulumi.yaml"), JSON.stringify(program));
  }

  const controller = async () => {
    const deployment = await server.client.get(DeploymentResource, CONTROLLER);
    const [container] = deployment?.spec?.template.spec?.containers ?? [];
    return {
      uid: deployment?.metadata?.uid,
      version: deployment?.metadata?.labels?.[Labels.appVersion],
      image: container?.image?.split(":").at(-1),
    };
  };

  /** An object that the version in the cluster would have brought, and the next one does not know. */
  async function leaveBehind(version: string): Promise<void> {
    const { items } = await server.client.list(ClusterRoleResource, {
      labelSelector: { [Labels.appVersion]: version },
    });
    const metadata = { name: FORMER, labels: items[0]?.metadata?.labels };
    await server.client.create(ClusterRoleResource, { metadata, rules: [] });
  }

  it("is brought there in place, and back, as a preview has said", async () => {
    await stack.up();
    const { uid } = await controller();
    expect(await controller()).to.deep.equal({ uid, version: PREVIOUS, image: PREVIOUS });
    for (const [from, to] of [
      [PREVIOUS, VERSION],
      [VERSION, PREVIOUS],
    ] as const) {
      await leaveBehind(from);
      await write(to);
      const { stdout, stderr } = await stack.preview();
      expect(stderr)
        .to.contain(`the agent one goes from version ${from} to ${to} in place`)
        .and.to.match(/Deployment liqo-controller-manager has another spec\.template\.spec\.containers/)
        .and.to.contain(`ClusterRole ${FORMER} goes`);
      expect(stdout).to.match(new RegExp(`version *: "${from}" => "${to}"`));
      expect((await controller()).version, "a preview changes nothing").to.equal(from);
      const { stdout: done } = await stack.up();
      expect(done)
        .to.match(/\b1 updated\b/)
        .and.to.not.match(/\breplaced\b/);
      expect(await controller()).to.deep.equal({ uid, version: to, image: to });
      expect(await server.client.get(ClusterRoleResource, { name: FORMER })).to.equal(undefined);
      expect(await stack.outputs()).to.deep.equal({ version: to });
      await stack.refresh({ expectNoChanges: true });
      await stack.preview({ expectNoChanges: true });
    }
  });
});
