import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { ClusterArgsError, loadCluster } from "../../../provider/kube/kubeconfig.js";
import type { ProviderConfig } from "../../../provider/framework/index.js";

const NO_CONFIG: ProviderConfig = {
  skipVersionCheck: false,
  globalLabels: {},
  globalAnnotations: {},
  deleteUnreachable: false,
  skipUpdateUnreachable: false,
};

function kubeconfig(names: string[], current = names[0] ?? ""): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": current,
    clusters: names.map((name) => ({ name, cluster: { server: `https://${name}.example:6443` } })),
    users: names.map((name) => ({ name, user: { token: `token-of-${name}` } })),
    contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
  });
}

async function failureOf(work: Promise<unknown>): Promise<ClusterArgsError> {
  try {
    await work;
  } catch (error) {
    expect(error).to.be.instanceOf(ClusterArgsError);
    return error as ClusterArgsError;
  }
  throw new Error("no failure");
}

describe("loading of kubeconfigs", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "kubeconfig-"));
  });
  after(() => rm(folder, { recursive: true }));

  it("takes content, or a path, and the context asked for", async () => {
    const content = kubeconfig(["a", "b"]);
    const file = path.join(folder, "config");
    await writeFile(file, content);
    expect((await loadCluster({ kubeconfig: content }, NO_CONFIG, {})).context).to.equal("a");
    const loaded = await loadCluster({ kubeconfig: file, context: "b" }, NO_CONFIG, {});
    expect(loaded.kubeConfig.getCurrentCluster()?.server).to.equal("https://b.example:6443");
  });

  it("falls back to the provider's, then to KUBECONFIG with all its files, then to HOME", async () => {
    const [one, two] = [path.join(folder, "one"), path.join(folder, "two")];
    await writeFile(one, kubeconfig(["one"]));
    await writeFile(two, kubeconfig(["two"]));
    const config = { ...NO_CONFIG, kubeconfig: kubeconfig(["p", "q"]), context: "q" };
    expect((await loadCluster(undefined, config, { KUBECONFIG: one })).context).to.equal("q");
    const env = { KUBECONFIG: [one, two].join(path.delimiter) };
    expect((await loadCluster({ context: "two" }, NO_CONFIG, env)).context).to.equal("two");
    const failure = await failureOf(loadCluster(undefined, NO_CONFIG, { HOME: folder }));
    expect(failure.message).to.contain("no kubeconfig").and.contain(folder);
  });

  it("skips files of KUBECONFIG that are not there, as kubectl does, and names them where something is sought in vain", async () => {
    const [here, gone] = [path.join(folder, "here"), path.join(folder, "gone")];
    await writeFile(here, kubeconfig(["here"]));
    for (const files of [
      [gone, here],
      [here, gone],
    ]) {
      const env = { KUBECONFIG: files.join(path.delimiter) };
      expect((await loadCluster(undefined, NO_CONFIG, env)).context).to.equal("here");
      const failure = await failureOf(loadCluster({ context: "x" }, NO_CONFIG, env));
      expect(failure.property).to.equal("context");
      expect(failure.message).to.equal(
        `the kubeconfig has no context "x"; there are here; not there, so skipped: "${gone}" (from KUBECONFIG)`,
      );
    }
    await writeFile(here, kubeconfig([]));
    const env = { KUBECONFIG: [gone, here].join(path.delimiter) };
    expect((await failureOf(loadCluster(undefined, NO_CONFIG, env))).message).to.equal(
      `is no kubeconfig: it has no contexts; not there, so skipped: "${gone}" (from KUBECONFIG)`,
    );
  });

  it("fails where KUBECONFIG leaves nothing to read, or a file that is there cannot be read", async () => {
    const [gone, lost, good] = ["gone", "lost", "good"].map((name) => path.join(folder, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(good, kubeconfig(["good"]));
    const cases: [string[], string][] = [
      [[gone], `cannot read the kubeconfig "${gone}" (from KUBECONFIG): there is no such file`],
      [
        [gone, lost],
        `cannot read any of the kubeconfigs "${gone}", "${lost}" (from KUBECONFIG): none of them is there`,
      ],
      [[good, folder], `cannot read the kubeconfig "${folder}" (from KUBECONFIG): EISDIR`],
    ];
    for (const [files, message] of cases) {
      const env = { HOME: folder, KUBECONFIG: files.join(path.delimiter) };
      const failure = await failureOf(loadCluster(undefined, NO_CONFIG, env));
      expect(failure).to.include({ property: "kubeconfig", message });
    }
  });

  it("fails for a file that a resource or the provider names, whatever KUBECONFIG lists", async () => {
    const [gone, good] = [path.join(folder, "gone"), path.join(folder, "good")];
    await writeFile(good, kubeconfig(["good"]));
    const message = `cannot read the kubeconfig "${gone}": there is no such file`;
    const env = { KUBECONFIG: good };
    expect(await failureOf(loadCluster({ kubeconfig: gone }, NO_CONFIG, env))).to.include({ message });
    const config = { ...NO_CONFIG, kubeconfig: gone };
    expect(await failureOf(loadCluster(undefined, config, env))).to.include({ message });
  });

  it("tells a usual kubeconfig that cannot be read from one that is not there", async () => {
    const usual = path.join(folder, "home", ".kube", "config");
    await mkdir(usual, { recursive: true });
    const failure = await failureOf(loadCluster(undefined, NO_CONFIG, { HOME: path.join(folder, "home") }));
    expect(failure.message).to.equal(`cannot read the kubeconfig "${usual}": EISDIR`);
  });

  it("takes the user of a context from the file that has the context, though another file calls its own alike", async () => {
    const files = ["west", "east"].map((name) => ({ name, file: path.join(folder, `same-user-${name}`) }));
    for (const { name, file } of files) {
      const config = JSON.parse(kubeconfig([name])) as {
        users: { name: string }[];
        contexts: { context: { user: string } }[];
      };
      for (const user of config.users) user.name = "admin";
      for (const { context } of config.contexts) context.user = "admin";
      await writeFile(file, JSON.stringify(config));
    }
    const env = { KUBECONFIG: files.map(({ file }) => file).join(path.delimiter) };
    for (const { name } of files) {
      const { kubeConfig } = await loadCluster({ context: name }, NO_CONFIG, env);
      expect(kubeConfig.getCurrentUser()?.token).to.equal(`token-of-${name}`);
    }
  });

  it("keeps clusters apart by credentials and context", async () => {
    const key = async (content: string, context?: string) =>
      (await loadCluster({ kubeconfig: content, context }, NO_CONFIG, {})).key;
    const content = kubeconfig(["a", "b"]);
    expect(await key(content)).to.equal(await key(content, "a"));
    expect(await key(content)).not.to.equal(await key(content, "b"));
  });

  it("says what is wrong, with which property, without a line of it", async () => {
    const cases: [{ kubeconfig: string; context?: string }, string, RegExp][] = [
      [{ kubeconfig: "/no/such/file" }, "kubeconfig", /"\/no\/such\/file": there is no such file/],
      [{ kubeconfig: "a: b: c\n- token: hush" }, "kubeconfig", /no kubeconfig/],
      [{ kubeconfig: '{"apiVersion":"v1","token":"hush"}' }, "kubeconfig", /no kubeconfig/],
      [{ kubeconfig: kubeconfig(["a", "b"]), context: "c" }, "context", /no context "c"; there are a, b/],
      [{ kubeconfig: kubeconfig(["a"], "x") }, "context", /no context "x"; there are a/],
    ];
    for (const [args, property, message] of cases) {
      const failure = await failureOf(loadCluster(args, NO_CONFIG, {}));
      expect(failure.property).to.equal(property);
      expect(failure.message).to.match(message).and.not.contain("hush");
    }
  });

  it("finds files that a kubeconfig names relative to itself", async () => {
    await writeFile(path.join(folder, "ca.crt"), "the authority");
    const text = `apiVersion: v1
current-context: a
clusters: [{name: x, cluster: {server: https://x}}]
contexts:
- name: a
  context: {cluster: a, user: a}
users:
- name: a
  user: {}
clusters:
- name: a
  cluster:
    server: https://a.example
    certificate-authority: ca.crt
`.replace("clusters: [{name: x, cluster: {server: https://x}}]\n", "");
    const file = path.join(folder, "relative");
    await writeFile(file, text);
    const { kubeConfig } = await loadCluster({ kubeconfig: file }, NO_CONFIG, {});
    expect(kubeConfig.getCurrentCluster()?.caFile).to.equal(path.join(folder, "ca.crt"));
  });
});
