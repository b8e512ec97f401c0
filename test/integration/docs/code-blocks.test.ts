import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { parse, parseAllDocuments } from "yaml";
import { ForeignClusterResource, Ports } from "../../../agent/api/index.js";
import { agentManifests, resourceTypeOf } from "../../../agent/install/index.js";
import { NamespaceResource, type KubeObject } from "../../../agent/runtime/index.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { registry } from "../../../provider/resources/index.js";
import type { Examples } from "../../../provider/schema/examples.js";
import { providerConfig } from "../../../provider/framework/index.js";
import { ensureTool } from "../../clusters/components/ensure.js";
import { pulumiFolder } from "../../clusters/index.js";
import { REPOSITORY } from "../../languages/toolchain.js";
import { codeBlocks, type CodeBlock } from "../../support/code-blocks.js";
import { exec } from "../../support/exec.js";
import { shellCommands } from "../../support/shell-commands.js";
import { runCommand } from "../../support/terminal.js";
import { faultsOf, type YamlProgram } from "../../unit/sdk/yaml-program.js";
import { startApiServer, type ApiServer } from "../support/api-server.js";
import { checkCommand, type Outcome, type Surroundings } from "./shell.js";

/** A kind of block, and how it is checked. The first kind that fits is taken. */
interface Kind {
  name: string;
  fits(block: CodeBlock): boolean;
  /** Resolves with what could not be checked here, if anything. @throws Error that says what is wrong */
  check(block: CodeBlock): Promise<string | undefined>;
}

/** Namespaces that the pages use. */
const NAMESPACES = ["demo", "shop", "liqo-tenant-provider"];

describe("the code blocks of the documentation", function () {
  this.timeout(120_000);
  const blocks = codeBlocks();
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-docs-"));
  const partly: string[] = [];
  let server: ApiServer;
  let surroundings: Surroundings;

  before(async function () {
    this.timeout(15 * 60_000);
    const [kubectl, pulumi] = await Promise.all([ensureTool("kubectl"), pulumiFolder()]);
    server = await startApiServer({ name: "west" });
    surroundings = { kubeconfig: server.kubeconfigPath, kubectl, pulumiFolder: pulumi, folder };
    await seed();
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
    for (const line of partly) console.log(`      in part: ${line}`);
  });

  /** What an Agent applies, the pages' namespaces, and a peer. */
  async function seed(): Promise<void> {
    const inputs = agentInputs.parse({ clusterId: "west" });
    const ranges = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16", apiServerAddress: "https://10.0.0.1:6443" };
    const kinds = ["Namespace", "ServiceAccount", "Deployment", "DaemonSet"];
    const objects = agentManifests(installInputs(inputs, ranges)).filter(({ kind = "" }) => kinds.includes(kind));
    const apply = (object: KubeObject) => server.client.apply(resourceTypeOf(object), object, { fieldManager: "test" });
    for (const object of objects.filter(({ kind }) => kind === "Namespace")) await apply(object);
    await Promise.all(objects.filter(({ kind }) => kind !== "Namespace").map(apply));
    await Promise.all(
      NAMESPACES.map((name) =>
        server.client.apply(NamespaceResource, { metadata: { name } }, { fieldManager: "test" }),
      ),
    );
    const peer = { metadata: { name: "provider" }, spec: { clusterID: "provider" } };
    await server.client.apply(ForeignClusterResource, peer, { fieldManager: "test" });
  }

  const documents = ({ text }: CodeBlock): Record<string, unknown>[] => {
    const all = parseAllDocuments(text);
    const wrong = all.flatMap(({ errors }) => errors);
    if (wrong[0]) throw wrong[0];
    return all.map((one) => one.toJS() as Record<string, unknown>);
  };
  const yamlWith = (...keys: string[]) => {
    return (block: CodeBlock) =>
      block.language === "yaml" && documents(block).every((one) => keys.every((key) => key in one));
  };

  const kinds: Kind[] = [
    {
      name: "an example of the reference",
      fits: ({ page }) => page.startsWith("docs/reference/"),
      check({ language, text }) {
        const file = path.join(REPOSITORY, "provider/schema/examples.json");
        const examples = JSON.parse(readFileSync(file, "utf8")) as Examples;
        const shown = Object.values(examples).map((one) => one[language as "typescript" | "yaml"]);
        expect(shown, "the examples of the schema").to.include(text);
        if (language === "yaml") expect(faultsOf(parse(text) as YamlProgram)).to.deep.equal([]);
        return Promise.resolve(undefined);
      },
    },
    {
      name: "a program in TypeScript",
      fits: ({ language }) => language === "typescript",
      check: ({ text }) => {
        expect(text).to.match(/^import /m);
        return Promise.resolve("types, by `npm test -- static`");
      },
    },
    {
      name: "a program in YAML",
      fits: yamlWith("resources"),
      check(block) {
        for (const program of documents(block)) expect(faultsOf(program)).to.deep.equal([]);
        return Promise.resolve(undefined);
      },
    },
    {
      name: "manifests",
      fits: yamlWith("apiVersion", "kind"),
      async check({ text }) {
        const args = ["--kubeconfig", surroundings.kubeconfig, "apply", "--dry-run=server", "-f", "-"];
        await exec(surroundings.kubectl, args, { input: text });
        return undefined;
      },
    },
    {
      name: "inputs of a peering to be rendered",
      fits: yamlWith("consumer", "provider"),
      async check({ text }) {
        const { code, error } = await runCommand(["render", "peering", "-f", "-", "-o", "json"], { stdin: text });
        expect({ code, error }).to.deep.equal({ code: 0, error: "" });
        return undefined;
      },
    },
    {
      name: "an environment of Pulumi ESC",
      fits: yamlWith("values"),
      check(block) {
        const [{ values } = {}] = documents(block);
        const { pulumiConfig = {}, environmentVariables = {} } = values as Record<string, Record<string, unknown>>;
        const settings = Object.keys(pulumiConfig).filter((key) => key.startsWith("liqo:"));
        for (const key of settings) expect(Object.keys(providerConfig.shape)).to.include(key.slice("liqo:".length));
        const source = readFileSync(path.join(REPOSITORY, "docs/operations.md"), "utf8");
        for (const name of Object.keys(environmentVariables)) expect(source).to.contain(`${name}=`);
        return Promise.resolve("names of settings alone: the service that evaluates it is not here");
      },
    },
    {
      name: "Prometheus' configuration",
      fits: yamlWith("scrape_configs"),
      check: ({ text }) => {
        expect(text).to.contain(`$1:${Ports.metrics}"`);
        return Promise.resolve("YAML and the port alone: there is no Prometheus here");
      },
    },
    {
      name: "a file of imports",
      fits: ({ language }) => language === "json",
      check({ text }) {
        const { resources } = JSON.parse(text) as { resources: { type: string; name: string; parent?: string }[] };
        const tokens = [...registry.resources, ...registry.components].map(({ token }) => token);
        const names = resources.map(({ name }) => name);
        for (const { type, parent } of resources) {
          expect(tokens).to.include(type);
          if (parent) expect(names).to.include(parent);
        }
        return Promise.resolve("types and parents: the import itself is a test of its own");
      },
    },
    {
      name: "commands",
      fits: ({ language }) => language === "sh",
      async check({ page, text }) {
        const own = path.join(REPOSITORY, path.dirname(page));
        const outcomes: [Outcome, string][] = [];
        for (const command of shellCommands(text)) {
          const where = { ...surroundings, folder: existsSync(path.join(own, "package.json")) ? own : folder };
          const outcome = await checkCommand(command, where).catch((error: unknown) => {
            throw new Error(`${command.words.join(" ")}: ${(error as Error).message}`);
          });
          outcomes.push([outcome, command.words.slice(0, 3).join(" ")]);
        }
        const of = (outcome: Outcome) => outcomes.filter(([one]) => one === outcome).map(([, words]) => words);
        const parts = [
          of("parsed").length > 0 ? `commands and options of ${of("parsed").join(", ")}` : "",
          of("named").length > 0 ? `nothing of other programs: ${of("named").join(", ")}` : "",
        ].filter(Boolean);
        return parts.length > 0 ? parts.join("; ") : undefined;
      },
    },
    {
      name: "what the command line says",
      fits: ({ language, text }) => language === "text" && text.startsWith("pulumi-liqo "),
      async check({ text }) {
        for (const line of text.trim().split("\n")) {
          const words = (line.split(/ {2,}/)[0] ?? "")
            .split(" ")
            .slice(1)
            .filter((word) => /^[a-z]/.test(word));
          const { code, out } = await runCommand([...words, "--help"]);
          expect(code, line).to.equal(0);
          expect(out, line).to.contain(`pulumi-liqo ${words.join(" ")}`);
        }
        return undefined;
      },
    },
    {
      name: "a picture in letters",
      fits: ({ language, page, text }) =>
        language === "text" && ["docs/architecture.md", "README.md"].includes(page) && /[│─▶═]|\| {2}gRPC/.test(text),
      check: () => Promise.resolve("nothing in it can be run"),
    },
  ];

  it("are found", () => {
    expect(blocks.length).to.be.at.least(40);
    expect(new Set(blocks.map(({ language }) => language))).to.include.all.keys("sh", "typescript", "yaml");
  });

  for (const block of blocks) {
    it(`${block.page}:${block.line} ${block.language}`, async () => {
      const kind = kinds.find((one) => one.fits(block));
      if (!kind) throw new Error("no check for such a block: give it a language that has one, or add one here");
      const missing = await kind.check(block);
      if (missing) partly.push(`${block.page}:${block.line}, ${kind.name}: ${missing}`);
    });
  }
});
