import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { parseDuration } from "../../../cli/clusters.js";
import { setInput } from "../../../cli/commands/given-inputs.js";
import { formatField } from "../../../cli/output/format.js";
import { runCommand } from "../../support/terminal.js";

const AGENT = [
  "render",
  "agent",
  "--cluster-id",
  "one",
  "--set",
  "podCIDRs=[10.1.0.0/16]",
  "--set",
  "serviceCIDR=10.2.0.0/16",
];
const PEERING = `
consumer: { clusterId: a, podCIDRs: [10.1.0.0/16] }
provider: { clusterId: b, podCIDRs: [10.2.0.0/16] }
networkLink: { gatewayServer: { type: NodePort }, endpoint: { addresses: [10.9.9.9] } }
namespaceOffloadings: [{ namespace: demo }]
`;

const kindsOf = (yaml: string): unknown[] =>
  parseAllDocuments(yaml).map((document) => (document.toJS() as { kind?: string } | null)?.kind);

describe("the command line", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "liqo-cli-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("helps, and tells its version", async () => {
    const help = await runCommand(["--help"]);
    expect(help).to.include({ code: 0, error: "" });
    expect(help.out).to.match(/info.*\n[^]*topology[^]*render/);
    expect((await runCommand(["render", "agent", "--help"])).out).to.contain("--helm <folder>");
    expect(await runCommand(["--version"])).to.deep.include({ code: 0, out: "0.1.0\n" });
  });

  for (const [what, args, message] of [
    ["a command that is none", ["peer"], /unknown command 'peer'/],
    ["an option that is none", ["info", "--wide"], /unknown option '--wide'/],
    ["a format that is none", ["info", "-o", "xml"], /Allowed choices are json, yaml/],
    [
      "a kubeconfig that is not there",
      ["info", "--kubeconfig", "none"],
      /--kubeconfig: cannot read the kubeconfig ".*none": there is no such file/,
    ],
    ["no kubeconfig at all", ["info"], /--kubeconfig: no kubeconfig/],
    ["a duration that is none", ["info", "--request-timeout", "soon"], /--request-timeout: "soon" is not a duration/],
    ["an agent without an ID", ["render", "agent"], /--cluster-id: is needed/],
    ["a file that is not there", ["render", "peering", "-f", "none.yaml"], /--file none.yaml: there is no such file/],
    ["an assignment that is none", [...AGENT, "--set", "replicas"], /--set replicas: must be of the form/],
    [
      "a chart with values",
      ["render", "agent", "--helm", "x", "--cluster-id", "a"],
      /--helm: a chart is for any cluster/,
    ],
    ["a chart with a folder", ["render", "agent", "--helm", "x", "--out", "y"], /--helm.*--out/],
    ["a chart as JSON", ["render", "agent", "--helm", "x", "-o", "json"], /--helm.*--output/],
    ["a chart of one cluster", ["render", "agent", "--helm", "x", "--from-cluster"], /--helm.*--from-cluster/],
    ["files and JSON at once", ["render", "peering", "--out", "x", "-o", "json"], /--output.*--out/],
    ["an assignment that is no YAML", [...AGENT, "--set", "podCIDRs=[10.0.0.0/8"], /--set podCIDRs: is not valid YAML/],
    [
      "a side that is a scalar",
      ["render", "peering", "--set", "consumer=west"],
      /consumer: must be an object, such as \{ clusterId: consumer \}/,
    ],
    ["contexts twice", ["topology", "--context", "a", "--all-contexts"], /--all-contexts.*--context/],
    [
      "wrong properties, all at once",
      [...AGENT, "--set", "replicas=0", "--set", "image=1", "--set", "sizes=1"],
      /^error: replicas: must be at least 1.*; sizes: is not a property/,
    ],
  ] as const) {
    it(`refuses ${what}, without a trace, with exit code 2`, async () => {
      const { code, out, error } = await runCommand(args, { folder });
      expect(error)
        .to.match(message)
        .and.not.match(/\n\s+at /);
      expect({ code, out }).to.deep.equal({ code: 2, out: "" });
    });
  }

  it("renders an agent to the output, to be piped on", async () => {
    const { code, out } = await runCommand(AGENT, { folder });
    expect(code).to.equal(0);
    expect(kindsOf(out)).to.include.members(["Namespace", "CustomResourceDefinition", "Deployment", "DaemonSet"]);
  });

  it("says which option to give when a range is not known", async () => {
    const { code, error } = await runCommand(["render", "agent", "--cluster-id", "one"], { folder });
    expect({ code, error }).to.deep.equal({ code: 1, error: "error: podCIDRs: is needed, or --from-cluster\n" });
  });

  it("renders a peering into files by cluster, keys apart and for their owner's eyes", async () => {
    writeFileSync(path.join(folder, "in.yaml"), PEERING);
    const args = ["render", "peering", "-f", "in.yaml", "--new-keys", "--out", "out"];
    const { code, out, error } = await runCommand(args, { folder });
    expect({ code, out }).to.deep.equal({ code: 0, out: "" });
    expect(error.split("\n").filter(Boolean)).to.deep.equal(
      ["a.yaml", "a-secrets.yaml", "b.yaml", "b-secrets.yaml"].map((name) => `written: ${path.join("out", name)}`),
    );
    const read = (name: string): string => readFileSync(path.join(folder, "out", name), "utf8");
    expect(kindsOf(read("a.yaml"))).to.deep.equal([
      "Namespace",
      "Configuration",
      "PublicKey",
      "GatewayClient",
      "NamespaceOffloading",
    ]);
    expect(kindsOf(read("b-secrets.yaml"))).to.deep.equal(["Secret"]);
    expect(read("a.yaml")).to.not.contain("privateKey");
    expect(statSync(path.join(folder, "out", "a-secrets.yaml")).mode & 0o777).to.equal(0o600);
  });

  it("reads inputs from a pipe, prints one side, and refuses to mix two clusters in one stream", async () => {
    const args = ["render", "peering", "-f", "-"];
    const one = await runCommand([...args, "--only", "provider"], { folder, stdin: PEERING });
    expect(one.code).to.equal(0);
    expect(kindsOf(one.out)).to.deep.equal(["Namespace", "Configuration", "GatewayServer"]);
    expect(one.error).to.match(/^note: consumer: the PublicKey is left out/m);
    const both = await runCommand(args, { folder, stdin: PEERING });
    expect(both).to.include({ code: 2, out: "" });
    expect(both.error).to.match(/--only consumer or --only provider, or a folder by --out/);
  });

  it("prints one side alone as JSON, too", async () => {
    const args = ["render", "peering", "-f", "-", "--new-keys", "--only", "provider", "-o", "json"];
    const { code, out } = await runCommand(args, { folder, stdin: PEERING });
    expect(code).to.equal(0);
    expect(JSON.parse(out)).to.have.all.keys("provider", "notes");
  });

  it("makes secrets' files readable by their owner alone though others could read them before, and tells of those left over", async () => {
    const file = path.join(folder, "a-secrets.yaml");
    writeFileSync(file, "old", { mode: 0o644 });
    const args = ["render", "peering", "-f", "-", "--out", ".", "--only", "consumer"];
    const without = await runCommand(args, { folder, stdin: PEERING });
    expect(without.error).to.match(/^note: a-secrets.yaml is of an earlier run/m);
    expect(readFileSync(file, "utf8")).to.equal("old");
    const { code } = await runCommand([...args, "--new-keys"], { folder, stdin: PEERING });
    expect({ code, mode: statSync(file).mode & 0o777 }).to.deep.equal({ code: 0, mode: 0o600 });
    expect(readdirSync(folder).sort()).to.deep.equal(["a-secrets.yaml", "a.yaml"]);
  });

  it("quotes nothing of a file that is no YAML", async () => {
    const { code, error } = await runCommand(["render", "peering", "-f", "-"], {
      stdin: "keys: {\n  privateKey: hidden",
    });
    expect(code).to.equal(2);
    expect(error)
      .to.match(/--file -: is not valid YAML \(line \d+\)/)
      .and.not.contain("hidden");
  });

  it("sets inputs by dotted paths, values being YAML", () => {
    const inputs = setInput(setInput({ a: { b: 1 } }, "a.c=[x, 2]"), "d=true");
    expect(inputs).to.deep.equal({ a: { b: 1, c: ["x", 2] }, d: true });
    expect(setInput({}, "key=a=b")).to.deep.equal({ key: "a=b" });
    expect(() => setInput({}, "__proto__.x=1")).to.throw(/must be of the form/);
  });

  it("prints scalars bare, anything else as YAML unless told otherwise", () => {
    expect([formatField("x"), formatField(true), formatField(3)]).to.deep.equal(["x\n", "true\n", "3\n"]);
    expect(formatField({ a: ["b"] })).to.equal("a:\n  - b\n");
    expect(formatField(["b"], "json")).to.equal('[\n  "b"\n]\n');
  });

  it("reads durations as kubectl does", () => {
    expect(["500ms", "30s", "1m", "2"].map(parseDuration)).to.deep.equal([500, 30_000, 60_000, 2_000]);
    expect(() => parseDuration("0s")).to.throw(/above zero/);
  });
});
