import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { createReadStream, existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { stringify } from "yaml";
import { registry } from "../../../provider/resources/index.js";
import { packageSchema } from "../../../provider/schema/package-schema.js";
import { VERSION } from "../../../provider/version.js";
import { archiveName, release } from "../../../scripts/release.js";
import { pulumiFolder } from "../../clusters/index.js";
import { architecture } from "../../clusters/components/catalog.js";
import { hostProgram } from "../../languages/language-host.js";
import { REPOSITORY } from "../../languages/toolchain.js";
import { exec } from "../../support/exec.js";
import { PulumiStack } from "../../support/pulumi.js";
import { startApiServer } from "../support/api-server.js";

const GOAL_MIB = 30;

/** Starts a program as Pulumi's host for Node.js does, which is not here: by the command that the installed runtime brings for it. */
const RUN_AS_LANGUAGE_HOST = `
const { env, argv } = process;
const options = ["monitor", "engine", "project", "stack", "parallel"].flatMap((name) => ["--" + name, env["PULUMI_" + name.toUpperCase()]]);
argv.push(...options, ...(env.PULUMI_DRY_RUN === "true" ? ["--dry-run"] : []), "--pwd", __dirname, ".");
require("@pulumi/pulumi/cmd/run");
`;

interface NpmManifest {
  version: string;
  pulumi: object;
  bin: Record<string, string>;
}

/** The names in each part of a schema; the CLI writes the rest in a form of its own. */
function namesIn(schema: unknown): Record<string, string[]> {
  const parts = schema as Record<string, object>;
  return Object.fromEntries(
    ["types", "resources", "functions"].map((part) => [part, Object.keys(parts[part] ?? {}).sort()]),
  );
}

/** All files below a folder. */
async function mebibytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(path.join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20;
}

/** What a release publishes, installed as its users do it, with the real CLI in a home of its own. */
describe("a release", function () {
  this.timeout(180_000);

  let folder: string;
  let binFolder: string;
  let server: Server;
  let url: string;
  let archive: string;
  let files: string;

  before(async function () {
    this.timeout(15 * 60_000);
    binFolder = await pulumiFolder();
    folder = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-release-"));
    server = createServer((request, response) => {
      const file = path.join(files, path.basename(request.url ?? ""));
      if (!existsSync(file)) return response.writeHead(404).end();
      response.writeHead(200, { "content-length": statSync(file).size });
      return createReadStream(file).pipe(response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    files = await release({ folder: path.join(folder, "release"), server: url });
    archive = path.join(files, archiveName(`${process.platform}-${architecture()}`));
  });

  after(async () => {
    server?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** The CLI with a home that nothing is installed in yet. */
  async function newHome(name: string, project: object = { name, runtime: "yaml" }): Promise<PulumiStack> {
    const home = path.join(folder, name);
    await mkdir(home, { recursive: true });
    await writeFile(path.join(home, "Pulumi.yaml"), stringify(project));
    return new PulumiStack({ project: home, stateFolder: home, stack: "test", binFolder, config: {} });
  }

  function installed(name: string): string {
    return path.join(folder, name, "home/plugins", `resource-liqo-v${VERSION}`);
  }

  it("installs from its archive, and answers with the schema, which the engine binds without a warning", async () => {
    const cli = await newHome("by-hand");
    await cli.pulumi(["plugin", "install", "resource", "liqo", VERSION, "--file", archive]);
    const { stdout, stderr } = await cli.pulumi(["package", "get-schema", `liqo@${VERSION}`]);
    const answered = namesIn(JSON.parse(stdout));
    expect(answered).to.deep.equal(namesIn(packageSchema(registry, VERSION)));
    expect(answered["resources"]).to.include("liqo:index:Peering");
    expect(stderr).to.not.match(/warning|error/i);
  });

  it(`is at most ${GOAL_MIB} MiB when it is installed and has run`, async () => {
    const names = await readdir(installed("by-hand"));
    const mib = await mebibytes(installed("by-hand"));
    console.log(`      installed plugin: ${mib.toFixed(1)} MiB (goal: at most ${GOAL_MIB})`);
    expect(names).to.include("pulumi-resource-liqo");
    expect(mib).to.be.lessThanOrEqual(GOAL_MIB);
  });

  it("is downloaded by the engine itself from the server that the SDKs name", async () => {
    const manifest = path.join(files, "sdk/python/pulumi_liqo/pulumi-plugin.json");
    expect(JSON.parse(await readFile(manifest, "utf8"))).to.deep.equal({
      resource: true,
      name: "liqo",
      version: VERSION,
      server: url,
    });
    const options = { version: VERSION, pluginDownloadURL: url };
    const cli = await newHome("by-engine", {
      name: "by-engine",
      runtime: "yaml",
      resources: { agent: { type: "liqo:Agent", properties: { clusterId: "west" }, options } },
    });
    await cli.pulumi(["install"]);
    expect(existsSync(path.join(installed("by-engine"), "pulumi-resource-liqo"))).to.equal(true);
  });

  it("has an npm package that names its plugin as the engine looks for it, and loads", async () => {
    const project = path.join(folder, "npm");
    const modules = path.join(project, "node_modules");
    await mkdir(path.join(modules, "pulumi-liqo"), { recursive: true });
    const tarball = path.join(files, `pulumi-liqo-${VERSION}.tgz`);
    await exec("tar", ["-xzf", tarball, "-C", path.join(modules, "pulumi-liqo"), "--strip-components=1"]);
    const manifest = await readFile(path.join(modules, "pulumi-liqo/package.json"), "utf8");
    const { pulumi, version, bin } = JSON.parse(manifest) as NpmManifest;
    expect(version).to.equal(VERSION);
    expect(pulumi).to.deep.equal({ resource: true, name: "liqo", version: VERSION, server: url });
    const program =
      "const liqo = require('pulumi-liqo'); console.log(typeof liqo.Peering, liqo.GatewayServiceType.NodePort)";
    const env = { ...process.env, NODE_PATH: path.join(REPOSITORY, "node_modules") };
    const { stdout } = await exec(process.execPath, ["-e", program], { cwd: project, env });
    expect(stdout.trim()).to.equal("function NodePort");
    expect(existsSync(path.join(modules, "pulumi-liqo/index.d.ts"))).to.equal(true);
    const help = await exec(path.join(modules, "pulumi-liqo", bin["pulumi-liqo"] ?? ""), ["--help"]);
    expect(help.stdout).to.contain("topology");
  });

  it("is installed by npm into an empty project, whose first preview gets the plugin and talks to a cluster", async function () {
    this.timeout(10 * 60_000);
    const cluster = await startApiServer({ name: "west", crds: false });
    try {
      const cli = await newHome("by-npm", { name: "by-npm", runtime: "nodejs" });
      const project = path.join(folder, "by-npm");
      await writeFile(path.join(project, "package.json"), JSON.stringify({ name: "by-npm", main: "index.js" }));
      const ranges = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };
      const inputs = { clusterId: "west", cluster: { kubeconfig: cluster.kubeconfigPath }, ...ranges };
      const program = `const liqo = require("pulumi-liqo");\nexports.id = new liqo.Agent("agent", ${JSON.stringify(inputs)}).clusterId;\n`;
      await writeFile(path.join(project, "index.js"), program);
      // The SDK's runtime as this repository has it: npm's cache has it, too.
      const manifest = path.join(REPOSITORY, "node_modules/@pulumi/pulumi/package.json");
      const { version } = JSON.parse(await readFile(manifest, "utf8")) as NpmManifest;
      const packages = [path.join(files, `pulumi-liqo-${VERSION}.tgz`), `@pulumi/pulumi@${version}`];
      const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
      await exec("npm", ["install", ...quiet, ...packages], { cwd: project, timeoutMs: 5 * 60_000 });
      await writeFile(path.join(project, "run.js"), RUN_AS_LANGUAGE_HOST);
      const host = await hostProgram({ program: process.execPath, args: ["run.js"], cwd: project, env: process.env });
      await cli.init();
      const { stdout } = await cli
        .pulumi(["preview", "--diff", "--stack", "test", "--client", host.address], { timeoutMs: 120_000 })
        .finally(() => host.close());
      expect(stdout).to.match(/\+ liqo:index:Agent: \(create\)/);
      expect(existsSync(path.join(installed("by-npm"), "pulumi-resource-liqo"))).to.equal(true);
      const parts = [path.join(project, "node_modules/pulumi-liqo"), installed("by-npm")];
      const [ofPackage = 0, ofPlugin = 0] = await Promise.all(parts.map(mebibytes));
      console.log(
        `      npm package: ${ofPackage.toFixed(1)} MiB, with its plugin: ${(ofPackage + ofPlugin).toFixed(1)} MiB (goal: at most ${GOAL_MIB})`,
      );
      expect(ofPackage + ofPlugin).to.be.lessThanOrEqual(GOAL_MIB);
      await exec("npx", ["--no-install", "pulumi-liqo", "--version"], { cwd: project });
    } finally {
      await cluster.stop();
    }
  });

  it("lists the sums of its files", async () => {
    const { stdout } = await exec("sha256sum", ["-c", "SHA256SUMS"], { cwd: files });
    const checked = stdout.trim().split("\n").sort();
    expect(checked).to.include(`${path.basename(archive)}: OK`);
    expect(checked).to.have.lengthOf(5);
  });

  it("refuses a server that the engine cannot download from", async () => {
    const failed = await release({ folder: path.join(folder, "refused"), server: "ftp://host" }).catch(String);
    expect(failed).to.contain("--server ftp://host").and.to.contain("https://");
    expect(existsSync(path.join(folder, "refused"))).to.equal(false);
  });

  it("says what it needs where there is no Node.js, or one that is too old", async () => {
    const plugin = path.join(installed("by-hand"), "pulumi-resource-liqo");
    const none = await exec(plugin, [], { env: { PATH: path.join(folder, "nothing") }, allowFailure: true });
    expect(none.code).to.equal(1);
    expect(none.stderr).to.contain("no node on PATH").and.to.contain("Node.js 20.19");
    const fake = path.join(folder, "old-node.cjs");
    await writeFile(fake, "Object.defineProperty(process.versions, 'node', { value: '18.20.4' });\n");
    const old = await exec(process.execPath, ["--require", fake, plugin], { allowFailure: true });
    expect(old.code).to.equal(1);
    expect(old.stderr).to.contain("Node.js 20.19 or later is needed").and.to.contain("18.20.4");
  });
});
