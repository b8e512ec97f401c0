import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { runCommand } from "../../support/terminal.js";

const NAMES = ["consumer", "provider", "third"] as const;
type Name = (typeof NAMES)[number];

/** An API server that knows its cluster's ID and has nothing else, and the tokens that it was asked with. */
interface Answering {
  server: http.Server;
  url: string;
  tokens: Set<string>;
}

async function answerAs(clusterId: string): Promise<Answering> {
  const tokens = new Set<string>();
  const identity = { metadata: { name: "clusterid", namespace: "liqo" }, data: { CLUSTER_ID: clusterId } };
  const server = http.createServer(({ headers, url = "" }, response) => {
    tokens.add((headers.authorization ?? "none").replace("Bearer ", ""));
    const items = /configmaps/.test(url) ? [identity] : [];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ metadata: {}, items }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokens };
}

describe("which cluster a command asks, and as whom", () => {
  let folder: string;
  let clusters: Record<Name, Answering>;

  beforeEach(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), "liqo-cli-clusters-"));
    const [consumer, provider, third] = await Promise.all([
      answerAs("consumer"),
      answerAs("provider"),
      answerAs("third"),
    ]);
    clusters = { consumer, provider, third };
    writeFileSync(path.join(folder, "config"), kubeconfig(NAMES));
    writeFileSync(path.join(folder, "provider.yaml"), kubeconfig(["provider"]));
  });
  afterEach(() => {
    for (const { server } of Object.values(clusters)) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  /** The first is the current context. */
  const kubeconfig = (names: readonly Name[]): string =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": names[0],
      clusters: names.map((name) => ({
        name,
        cluster: { server: clusters[name].url, "insecure-skip-tls-verify": true },
      })),
      users: names.map((name) => ({ name: `${name}-user`, user: { token: `token-of-${name}` } })),
      contexts: names.map((name) => ({ name, context: { cluster: name, user: `${name}-user` } })),
    });

  const env = () => ({ HOME: "/nowhere", KUBECONFIG: path.join(folder, "config") });

  /** The ranges are given: the servers here tell their IDs alone. */
  const peering = (args: string, stdin = "") => {
    const ranges = ["consumer.podCIDRs=[10.1.0.0/16]", "provider.podCIDRs=[10.2.0.0/16]"];
    const words = ["render", "peering", "-o", "json", "-f", "-", ...ranges.flatMap((range) => ["--set", range])];
    return runCommand([...words, ...args.split(" ")], { folder, stdin, env: env() });
  };

  /** The IDs of the clusters that answered for each side, and the tokens by which each cluster was asked. */
  async function asked(args: string, stdin?: string): Promise<{ sides: string[]; tokens: object }> {
    const { code, out, error } = await peering(args, stdin);
    expect(code, error).to.equal(0);
    const { consumer, provider } = parse(out) as Record<string, { clusterId: string }>;
    const tokens = Object.entries(clusters).map(([name, { tokens: seen }]) => [name, [...seen].join()]);
    return {
      sides: [consumer?.clusterId ?? "", provider?.clusterId ?? ""],
      tokens: Object.fromEntries(tokens.filter(([, seen]) => seen !== "")) as object,
    };
  }

  it("takes --cluster and --user for the consumer alone", async () => {
    expect(await asked("--context consumer --remote-context provider --cluster third --user third-user")).to.deep.equal(
      { sides: ["third", "provider"], tokens: { third: "token-of-third", provider: "token-of-provider" } },
    );
  });

  it("takes --remote-cluster and --remote-user for the provider alone", async () => {
    const remote = "--remote-context provider --remote-cluster third --remote-user third-user";
    expect(await asked(`--context consumer ${remote}`)).to.deep.equal({
      sides: ["consumer", "third"],
      tokens: { consumer: "token-of-consumer", third: "token-of-third" },
    });
  });

  it("keeps both apart though they are of one context, and takes each option alone for the name of a cluster", async () => {
    const given = "--cluster third --user third-user --remote-cluster provider --remote-user provider-user";
    const wanted = {
      sides: ["third", "provider"],
      tokens: { third: "token-of-third", provider: "token-of-provider" },
    };
    expect(await asked(given)).to.deep.equal(wanted);
    expect(await asked(`--context consumer --remote-context consumer ${given}`)).to.deep.equal(wanted);
  });

  it("asks nobody for a side of which no option says anything", async () => {
    expect(await asked("--remote-user third-user", "consumer: { clusterId: a }")).to.deep.equal({
      sides: ["a", "consumer"],
      tokens: { consumer: "token-of-third" },
    });
  });

  it("takes the options for clusters that the inputs name, too", async () => {
    const stdin = "consumer: { cluster: { context: consumer } }\nprovider: { cluster: { context: consumer } }\n";
    expect(await asked("--remote-cluster provider --user third-user", stdin)).to.deep.equal({
      sides: ["consumer", "provider"],
      tokens: { consumer: "token-of-third", provider: "token-of-consumer" },
    });
  });

  it("takes an empty name for none", async () => {
    const { code, out, error } = await runCommand(["info", "--get", "clusterid", "--cluster", "", "--user", ""], {
      env: env(),
    });
    expect({ code, out, error }).to.deep.equal({ code: 0, out: "consumer\n", error: "" });
    expect([...clusters.consumer.tokens]).to.deep.equal(["token-of-consumer"]);
  });

  for (const [args, message] of [
    ["--remote-cluster x", '--remote-cluster: the kubeconfig has no cluster "x"; there are provider'],
    ["--remote-user x", '--remote-user: the kubeconfig has no user "x"; there are provider-user'],
    ["--remote-context x", '--remote-context: the kubeconfig has no context "x"; there are provider'],
    // A name of the consumer's kubeconfig is none of the provider's.
    [
      "--remote-user consumer-user",
      '--remote-user: the kubeconfig has no user "consumer-user"; there are provider-user',
    ],
  ] as const) {
    it(`names the option that is wrong: ${args}`, async () => {
      const { code, error } = await peering(`--context consumer --remote-kubeconfig provider.yaml ${args}`);
      expect({ code, error }).to.deep.equal({ code: 2, error: `error: ${message}\n` });
    });
  }

  it("says of which of the two a kubeconfig is not there", async () => {
    const { code, error } = await peering("--context consumer --remote-kubeconfig none");
    expect({ code, error }).to.deep.equal({
      code: 2,
      error: `error: --remote-kubeconfig: cannot read the kubeconfig "${path.join(folder, "none")}": there is no such file\n`,
    });
  });

  it("skips files of KUBECONFIG that are not there, but not one that --kubeconfig names", async () => {
    const KUBECONFIG = [path.join(folder, "none"), path.join(folder, "config")].join(path.delimiter);
    const given = { folder, env: { HOME: "/nowhere", KUBECONFIG } };
    expect(await runCommand(["info", "--get", "clusterid"], given)).to.include({ code: 0, out: "consumer\n" });
    const named = await runCommand(["info", "--kubeconfig", "none"], given);
    expect(named.error).to.match(/^error: --kubeconfig: cannot read the kubeconfig ".*none": there is no such file\n$/);
  });

  it("helps with both clusters' options where there are two, and tells whose they are", async () => {
    const { out } = await runCommand(["render", "peering", "--help"]);
    const help = out.replace(/\s+/g, " ");
    for (const name of ["kubeconfig", "context", "cluster", "user"]) expect(help).to.contain(` --${name} <`);
    expect(help)
      .to.contain("--remote-cluster <name> another cluster of the remote cluster's kubeconfig than the context's")
      .and.contain("--remote-user <name> another user of the remote cluster's kubeconfig than the context's");
    expect((await runCommand(["info", "--help"])).out).to.not.contain("--remote-");
  });
});
