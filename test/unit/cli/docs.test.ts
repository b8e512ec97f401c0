import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import type { Command } from "commander";
import { programFor } from "../../../cli/program.js";
import type { Terminal } from "../../../cli/terminal.js";
import { packageSchema } from "../../../provider/schema/package-schema.js";
import { registry } from "../../../provider/resources/index.js";
import { REPOSITORY } from "../../support/lab.js";

const PAGES = ["docs/comparison.md", "docs/concepts.md", "docs/ecosystem.md"];

/** Liqo's commands, as the specification lists them (command line and status, commands). */
const COMMANDS = [
  ..."peer unpeer authenticate unauthenticate info install uninstall version".split(" "),
  ...["network connect", "network disconnect", "network reset", "force unpeer", "move volume"],
  ...["offload namespace", "unoffload namespace", "activate tenant", "cordon tenant", "drain tenant"],
  ...["cordon resourceslice", "uncordon resourceslice", "create resourceslice", "create virtualnode"],
  ...["configuration", "publickey", "tenant", "identity", "peering-user"].map((what) => `generate ${what}`),
  ...["nonce", "configuration", "gatewayserver", "gatewayclient", "publickey"].map((what) => `create ${what}`),
  ...["get nonce", "get kubeconfig", "delete peering-user"],
];
/** Their options; those that only differ by how they end are told together. */
const OPTIONS = `
  --kubeconfig --context --cluster --user --namespace --remote-namespace --global-labels --global-annotations --skip-confirm --timeout --verbose
  --networking-disabled --create-resource-slice --create-virtual-node --resource-slice-class --cpu --memory --pods --resource --skip-validation
  --in-band --proxy-url --gw-server-service-location --gw-server-service-type --gw-client-address --gw-client-port --mtu --delete-namespaces --wait
  --gw-server-template-name --gw-client-template-name --gw-server-type --gw-client-type --disable-sharing-keys --class --no-virtual-node
  --labels --node-selector --storage-classes --ingress-classes --load-balancer-classes --runtime-class-name --resource-slice-name
  --kubeconfig-secret-name --vk-options-template --create-node --disable-network-check --namespace-mapping-strategy --remote-namespace-name
  --pod-offloading-strategy --selector --consumer-cluster-id --tls-compatibility-mode --target-node --get`;

const read = (page: string): string => readFileSync(path.join(REPOSITORY, page), "utf8");

/** What follows `npx pulumi-liqo` in the text of a page; its code blocks have a test of their own. */
function commandsIn(page: string): string[] {
  return [...read(page).matchAll(/`npx pulumi-liqo ([^`\n]+)`/g)].map(([, words = ""]) => words.trim());
}

function descend(command: Command, [word = "", ...rest]: string[]): Command {
  const inner = command.commands.find((one) => one.name() === word);
  return inner ? descend(inner, rest) : command;
}

interface Schema {
  resources: Record<string, { inputProperties: Record<string, { $ref?: string }>; properties: object }>;
  provider: { inputProperties: Record<string, { $ref?: string }> };
  types: Record<string, { properties?: Record<string, unknown> }>;
}

describe("the pages about the command line", () => {
  const program = programFor({ out: () => undefined, error: () => undefined } as unknown as Terminal);

  it("use commands and options that there are, also in their text", () => {
    const lines = PAGES.flatMap((page) => commandsIn(page).map((line) => ({ page, line })));
    expect(lines.length).to.be.at.least(9);
    for (const { page, line } of lines) {
      const words = line.split(/\s+/);
      const command = descend(program, words);
      const known = command.options.flatMap(({ long, short }) => [long, short]);
      const used = words.filter((word) => /^--?[a-z]/.test(word));
      for (const option of used) expect([...known, "--help", "--version"], `${page}: ${line}`).to.include(option);
      if (!words[0]?.startsWith("-")) expect(command, `${page}: ${line}`).to.not.equal(program);
    }
  });

  it("tell of every option that names a cluster, and of none that is not there", () => {
    const page = read("docs/cli.md");
    const [, section = ""] = /^## Which cluster\n([^]*?)^## /m.exec(page) ?? [];
    const told = [...section.matchAll(/`(--[a-z-]+)/g)].map(([, option]) => option);
    const peering = descend(program, ["render", "peering"]).options.flatMap(({ long }) => long ?? []);
    expect(peering).to.include.members(told);
    const named = peering.filter((option) => /-(kubeconfig|context|cluster|user|timeout)$/.test(option));
    expect([...new Set(told)]).to.have.members(named);
    const all = [...descend(program, ["info"]).options, ...descend(program, ["render", "agent"]).options];
    expect(all.filter(({ long }) => long?.startsWith("--remote-"))).to.deep.equal([]);
  });

  it("say of each of Liqo's commands and options what it is here", () => {
    const commands = read("docs/comparison.md").split("## Options of `peer`")[0] ?? "";
    const told = commands.match(/^\| [`].*$/gm)?.map((row) => row.split("|")[1] ?? "") ?? [];
    const isTold = (command: string) => told.some((cell) => cell.includes(`\`${command}\``));
    expect(COMMANDS.filter((command) => !isTold(command))).to.deep.equal([]);
    const pages = ["docs/comparison.md", "docs/lifecycle.md", "docs/cli.md"].map(read).join("\n");
    const options = OPTIONS.trim().split(/\s+/);
    expect(options.filter((option) => !new RegExp(`[\`]([^\`]* )?${option}[\` ]`).test(pages))).to.deep.equal([]);
  });

  it("name properties that the resources have, option by option", () => {
    const schema = packageSchema(registry, "1.2.3") as unknown as Schema;
    const rows =
      read("docs/comparison.md")
        .split("## Options of `peer`")[1]
        ?.match(/^\| `-.*$/gm) ?? [];
    expect(rows.length).to.be.at.least(20);
    for (const row of rows) {
      const [, , target = ""] = row.split("|");
      const resource = /`([A-Z]\w+)`/.exec(target)?.[1] ?? "Peering";
      const properties = [...target.matchAll(/`([a-z][A-Za-z]*(?:\.[A-Za-z]+)?)`/g)].map(([, name = ""]) => name);
      for (const property of properties.filter((name) => name !== "customTimeouts")) {
        expect(propertyOf(schema, resource, property), `${row}: ${property}`).to.not.equal(undefined);
      }
    }
  });

  it("name every property of the Agent that stands for an option of Liqo's installation", () => {
    const { resources, provider } = packageSchema(registry, "1.2.3") as unknown as Schema;
    const own = resources["liqo:index:Agent"]?.inputProperties ?? {};
    const known = { ...own, ...resources["liqo:index:NetworkLink"]?.inputProperties, ...provider.inputProperties };
    const rows =
      read("docs/comparison.md")
        .split("## Options of `install`")[1]
        ?.match(/^\| (?!of |-).*$/gm) ?? [];
    const told = rows.flatMap((row) => [...(row.split("|")[2] ?? "").matchAll(/`([a-z][A-Za-z]*)`/g)]);
    const names = told.map(([, name = ""]) => name);
    for (const name of names) expect(Object.keys(known), name).to.include(name);
    // Of this package alone: where the cluster is, what runs the agent, and how it is taken away.
    const further = /^(cluster|namespace|image.*|.*[rR]eplicas|forceDelete)$/;
    expect(Object.keys(own).filter((name) => !further.test(name) && !names.includes(name))).to.deep.equal([]);
  });
});

function propertyOf({ resources, types }: Schema, resource: string, property: string): unknown {
  const [name = "", inner] = property.split(".");
  const found = resources[`liqo:index:${resource}`]?.inputProperties[name];
  if (!inner) return found;
  return types[found?.$ref?.replace("#/types/", "") ?? ""]?.properties?.[inner];
}
