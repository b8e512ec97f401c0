import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { NodeResource } from "../../../agent/runtime/index.js";
import { VERSION } from "../../../provider/version.js";
import { buildProvider } from "../../../scripts/build.js";
import { pulumiFolder } from "../../clusters/index.js";
import { lineProgress } from "../../clusters/support/progress.js";
import { buildGoExample } from "../../languages/go.js";
import { compileJavaExample } from "../../languages/java.js";
import { hostProgram, type ProgramCommand } from "../../languages/language-host.js";
import { policyHost, writePolicyPack } from "../../languages/policy-pack.js";
import { installPythonSdk, pythonEnvironment } from "../../languages/python.js";
import { example, REPOSITORY } from "../../languages/toolchain.js";
import { codeBlocks } from "../../support/code-blocks.js";
import type { ExecResult } from "../../support/exec.js";
import { PulumiStack } from "../../support/pulumi.js";
import { startApiServer, type ApiServer } from "../support/api-server.js";

interface PreviewOptions {
  /** Starts the program where the CLI has no host for its language. */
  command?: ProgramCommand;
  flags: readonly string[];
  env?: NodeJS.ProcessEnv;
}

/** What a preview says of one resource. */
interface Planned {
  type: string;
  name: string;
  inputs: unknown;
}

interface Preview {
  steps: { op: string; urn: string; newState: { type: string; inputs?: object } }[];
}

/** A pack that writes down what it is shown. */
const READER = `
import { appendFileSync } from "node:fs";
import { PolicyPack } from "@pulumi/policy";
new PolicyPack("reader", {
  policies: [
    {
      name: "reads",
      description: "Writes down what it is shown.",
      enforcementLevel: "advisory",
      validateResource: ({ type, props }) =>
        appendFileSync(process.env.SEEN, JSON.stringify({ type, props: { ...props } }) + "\\n"),
    },
  ],
});
`;

/**
 * The example program of each language with the real engine and the real plugin, up to what a preview shows: every SDK
 * must ask for the same as the program in YAML does.
 */
describe("the example in each language", function () {
  this.timeout(300_000);

  let consumer: ApiServer;
  let provider: ApiServer;
  let folder: string;
  let binFolder: string;
  let pluginFolder: string;
  let expected: Planned[];

  before(async function () {
    this.timeout(15 * 60_000);
    folder = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-programs-"));
    binFolder = await pulumiFolder();
    pluginFolder = await buildProvider();
    [consumer, provider] = await Promise.all([startApiServer({ name: "west" }), startApiServer({ name: "east" })]);
    // By its nodes' ranges a cluster tells that of its pods.
    const node = { metadata: { name: "n1" }, spec: { podCIDRs: ["10.244.0.0/24"] } };
    await Promise.all([consumer, provider].map(({ client }) => client.create(NodeResource, node)));
    expected = await plan("yaml");
  });

  after(async () => {
    await Promise.all([consumer?.stop(), provider?.stop()]);
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** Previews the example of a language; `command` starts its program where the CLI has no host for the language. */
  async function plan(language: string, command?: ProgramCommand): Promise<Planned[]> {
    const { stdout, code } = await preview(language, { command, flags: ["--json"] });
    expect(code, stdout).to.equal(0);
    return plannedIn(JSON.parse(stdout) as Preview);
  }

  async function preview(
    language: string,
    { command, flags, env }: PreviewOptions,
  ): Promise<ExecResult> {
    const stack = new PulumiStack({
      project: example(`peer-two-clusters-${language}`),
      stateFolder: folder,
      stack: `test-${process.pid}`,
      binFolder,
      env,
      config: {
        consumerKubeconfig: consumer.kubeconfigPath,
        consumerContext: "west",
        providerKubeconfig: provider.kubeconfigPath,
        providerContext: "east",
        namespace: "shop",
      },
    });
    const host = command ? await hostProgram(command) : undefined;
    try {
      await stack.pulumi(["plugin", "install", "resource", "liqo", VERSION, "--file", pluginFolder]);
      await stack.init();
      const client = host ? ["--client", host.address] : [];
      const args = ["preview", "--stack", `test-${process.pid}`, ...flags, ...client];
      return await stack.pulumi(args, { timeoutMs: 120_000, allowFailure: true });
    } finally {
      host?.close();
      await stack.remove();
    }
  }

  it("in YAML is the program that the others are compared with", () => {
    expect(expected.map(({ type, name }) => `${type} ${name}`)).to.include.members([
      "liqo:index:Agent consumer-agent",
      "liqo:index:NamespaceOffloading offloading",
      "liqo:index:NetworkLink peering-network",
    ]);
  });

  it("in Python asks for the same", async () => {
    const python = await pythonEnvironment(lineProgress());
    const sdk = path.join(folder, "python-sdk");
    await installPythonSdk(python, sdk);
    const cwd = example("peer-two-clusters-python");
    const env = { ...process.env, PYTHONPATH: sdk, PYTHONDONTWRITEBYTECODE: "1" };
    const args = [path.join(REPOSITORY, "test/languages/run-program.py"), "__main__.py"];
    expect(await plan("python", { program: python, args, cwd, env })).to.deep.equal(expected);
  });

  it("in Go asks for the same", async () => {
    const program = path.join(folder, "program");
    await buildGoExample("peer-two-clusters-go", program);
    const command = { program, args: [], cwd: example("peer-two-clusters-go"), env: process.env };
    expect(await plan("go", command)).to.deep.equal(expected);
  });

  it("in Java asks for the same", async () => {
    const classPath = await compileJavaExample("peer-two-clusters-java", path.join(folder, "classes"), lineProgress());
    const args = ["-cp", classPath, "peertwoclusters.App"];
    const command = { program: "java", args, cwd: example("peer-two-clusters-java"), env: process.env };
    expect(await plan("java", command)).to.deep.equal(expected);
  });

  it("is read by policy packs, every property by its name, those within a Peering included; one may refuse it", async () => {
    const [block] = codeBlocks().filter(({ text }) => text.includes("@pulumi/policy"));
    const documented = block?.text ?? "";
    const seen = path.join(folder, "seen.jsonl");
    const packs = await Promise.all([
      writePolicyPack("documented", documented),
      writePolicyPack("strict", documented.replace('"LoadBalancer")', '"NodePort")').replace("peerings", "strict")),
      writePolicyPack("reader", READER),
    ]);
    const [allows, forbids, reads] = packs;
    const given = { env: { SEEN: seen, PATH: [await policyHost(), process.env["PATH"]].join(path.delimiter) } };
    const allowed = await preview("yaml", { flags: ["--policy-pack", allows, "--policy-pack", reads], ...given });
    expect(allowed.code, allowed.stdout + allowed.stderr).to.equal(0);
    const lines = (await readFile(seen, "utf8")).trim().split("\n");
    const told = lines.map((line) => JSON.parse(line) as { type: string; props: object });
    for (const { type, inputs } of expected) {
      const props = told.filter((one) => one.type === type).map((one) => Object.keys(one.props));
      expect(props, type).to.satisfy((all: string[][]) =>
        all.some((keys) => Object.keys(inputs as object).every((key) => keys.includes(key) || key.startsWith("__"))),
      );
    }
    const refused = await preview("yaml", { flags: ["--policy-pack", forbids], ...given });
    expect(refused.code).to.not.equal(0);
    expect(refused.stdout + refused.stderr).to.contain("gatewayServer.type: LoadBalancer is not allowed here");
  });
});

/** The resources of a preview in a fixed order, apart from what a language may choose: the stack and the provider. */
function plannedIn({ steps }: Preview): Planned[] {
  return steps
    .map(({ urn, newState }) => ({
      type: newState.type,
      name: urn.split("::").at(-1) ?? "",
      inputs: newState.inputs ?? {},
    }))
    .filter(({ type }) => type.startsWith("liqo:"))
    .sort((a, b) => (`${a.type} ${a.name}` < `${b.type} ${b.name}` ? -1 : 1));
}
