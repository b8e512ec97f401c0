import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import type { PulumiStack } from "../../support/pulumi.js";
import { EngineLab, type Declared } from "./support/engine-lab.js";

/** A user and a proxy that nothing uses: they are in the kubeconfig, and must be nowhere else. */
const TOKEN = "distinctive-token-of-a-user";
const PROXY_PASSWORD = "distinctive-proxy-password";

interface Kubeconfig {
  clusters: { name: string; cluster: { server: string; "proxy-url"?: string } }[];
  users: { name: string; user: { "client-key-data"?: string; token?: string } }[];
}

/** The real CLI on real API servers with simulated agents: credentials given as text, and those that are made, searched for wherever they could be. */
describe("secrets", function () {
  this.timeout(400_000);
  let lab: EngineLab;

  before(async function () {
    this.timeout(15 * 60_000);
    lab = await EngineLab.start();
  });
  after(() => lab?.stop());

  /** The cluster's own kubeconfig, with more credentials in it; and all of them. */
  const distinctive = (side: "consumer" | "provider", server?: string): { text: string; secrets: string[] } => {
    const config = parse(lab.servers[side].kubeconfig) as Kubeconfig;
    const [own] = config.clusters;
    if (own && server) own.cluster.server = server;
    config.users.push({ name: "other", user: { token: TOKEN } });
    const proxy = `http://user:${PROXY_PASSWORD}@127.0.0.1:9`;
    config.clusters.push({ name: "other", cluster: { server: "https://127.0.0.1:9", "proxy-url": proxy } });
    const key = config.users[0]?.user["client-key-data"] ?? "";
    return {
      text: stringify(config),
      secrets: [key, Buffer.from(key, "base64").toString().split("\n")[1] ?? "", TOKEN, PROXY_PASSWORD],
    };
  };
  const without = (text: string, secrets: readonly string[], where: string): void => {
    for (const secret of secrets) {
      expect(secret.length, "a secret that tells itself apart").to.be.greaterThan(20);
      expect(text.includes(secret), `${where} has ${secret.slice(0, 12)}…`).to.equal(false);
    }
  };

  it("are in no file of the backend, no output of a command, and no message of an error", async () => {
    const [consumer, provider] = [distinctive("consumer"), distinctive("provider")];
    const pair = { consumer: { kubeconfig: consumer.text }, provider: { kubeconfig: provider.text } };
    const program = (more: Record<string, Declared> = {}): Record<string, Declared> => ({
      auth: { type: "Authentication", properties: pair },
      user: { type: "PeeringUser", properties: { cluster: pair.provider, consumerClusterId: "someone" } },
      ...more,
    });
    const stack = await lab.stack("kept-secret", program());
    const said: string[] = [];
    const note = ({ stdout, stderr }: { stdout: string; stderr: string }): void => void said.push(stdout, stderr);
    note(await stack.preview());
    note(await stack.up());
    const made = await keysIn(stack, "kept-secret");
    const secrets = [...new Set([...consumer.secrets, ...provider.secrets, ...made])];
    // Those given, and the key that was made for the user.
    expect(made.some((key) => !consumer.secrets.includes(key) && !provider.secrets.includes(key))).to.equal(true);
    note(await stack.refresh());
    // One that does not answer, and one that cannot be used.
    const silent = distinctive("provider", "https://127.0.0.1:9").text;
    for (const kubeconfig of [silent, `${silent}\n  broken: [`]) {
      const failing = { ...pair, provider: { kubeconfig } };
      await lab.write("kept-secret", program({ failing: { type: "NetworkLink", properties: failing } }));
      const result = await stack.up({ allowFailure: true });
      expect(result.code).to.not.equal(0);
      note(result);
    }
    note(await stack.destroy());
    without(said.join("\n"), secrets, "the output");
    const files = filesBelow(path.join(lab.folder, "backend"));
    expect(files.some((file) => file.includes("history"))).to.equal(true);
    for (const file of files) without(readFileSync(file, "utf8"), secrets, path.basename(file));
  });

  /** What Pulumi itself writes into its most verbose logs is its own: looked at is what the plugin contributes to them. */
  it("are in nothing that the plugin adds to verbose logs: its own output, and its answers but where they are marked as secrets", async () => {
    const [consumer, provider] = [distinctive("consumer"), distinctive("provider")];
    const pair = { consumer: { kubeconfig: consumer.text }, provider: { kubeconfig: provider.text } };
    const silent = { kubeconfig: distinctive("provider", "https://127.0.0.1:9").text };
    const program: Record<string, Declared> = {
      user: { type: "PeeringUser", properties: { cluster: pair.provider, consumerClusterId: "someone" } },
      auth: { type: "Authentication", properties: pair },
    };
    const [output, calls] = [path.join(lab.folder, "plugin.log"), path.join(lab.folder, "grpc.json")];
    const listened = await lab.listeningTo(output);
    const verbose = { PULUMI_DEBUG_GRPC: calls, LOG_LEVEL: "trace" };
    const stack = await listened.stack("verbose", program, verbose);
    const secrets = [...consumer.secrets, ...provider.secrets];
    const run = async (command: string, allowFailure = false): Promise<void> => {
      const args = [command, "--yes", "--skip-preview", "--stack", "verbose", "-v=9", "--logtostderr", "--logflow"];
      const { stdout } = await stack.pulumi(args, { timeoutMs: 300_000, allowFailure });
      // The language's host prints the program as it was given.
      const ofResources = stdout.split("\n").filter((line) => line.includes("liqo:index:"));
      expect(ofResources).to.not.deep.equal([]);
      without(ofResources.join("\n"), secrets, `what ${command} says of resources`);
    };
    await run("up");
    secrets.push(...(await keysIn(stack, "verbose")));
    await run("refresh");
    const failing: Declared = { type: "NetworkLink", properties: { ...pair, provider: silent } };
    await listened.write("verbose", { ...program, failing });
    await run("up", true);
    await run("destroy");
    expect(readFileSync(output, "utf8"), "the port, at least").to.match(/^\d+/);
    without(readFileSync(output, "utf8"), secrets, "the plugin's output");
    const answers = answersIn(readFileSync(calls, "utf8"));
    expect(answers.some((answer) => answer.includes(SECRET_MARK))).to.equal(true);
    without(answers.map((answer) => JSON.stringify(unmarked(JSON.parse(answer)))).join("\n"), secrets, "an answer");
  });
});

/** The private keys that a state has, given and made. */
async function keysIn(stack: PulumiStack, name: string): Promise<string[]> {
  const { stdout } = await stack.pulumi(["stack", "export", "--show-secrets", "--stack", name]);
  return [...stdout.matchAll(/client-key-data: ([\w+/=]+)/g)].map(([, key = ""]) => key);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** By which a value is marked as a secret on its way. */
const SECRET_MARK = "1b47061264138c4ac30d75fd1eb44270";

/** What the plugin has answered, call by call, of a log of calls: results and errors. */
function answersIn(log: string): string[] {
  const calls = log
    .split("\n")
    .filter((line) => line.includes("/pulumirpc.ResourceProvider/"))
    .map((line) => JSON.parse(line) as { response?: unknown; errors?: unknown });
  expect(calls.length, "calls of the plugin in the log").to.be.greaterThan(5);
  return calls.map(({ response, errors }) => JSON.stringify({ response, errors }));
}

/** A value without what is marked as a secret in it. */
function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  if (typeof value !== "object" || value === null) return value;
  if (Object.values(value).includes(SECRET_MARK)) return "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, unmarked(inner)]));
}
