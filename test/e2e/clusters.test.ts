import { expect } from "chai";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  clusterStatus,
  downClusters,
  ensureTool,
  silent,
  TEST_TOOLS_IMAGE,
  upClusters,
  type Cluster,
  type ClusterSpec,
} from "../clusters/index.js";
import { run } from "../clusters/support/exec.js";
import { end, findByEnvironment, readText, type ProcessIdentity } from "../clusters/support/processes.js";
import { until } from "../clusters/support/wait.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

const MAIN = fileURLToPath(new URL("../clusters/main.ts", import.meta.url));
/** The longest name there may be: it ends up in the paths of sockets, which the kernel limits. */
const ONE = "ct-one-of-long-names";
/** Equal pod networks, one of them over two nodes. */
const SPECS: ClusterSpec[] = [
  { name: ONE, podCIDR: "10.77.0.0/16" },
  { name: "ct-two", podCIDR: "10.77.0.0/16", nodes: 2 },
];

/** One life of two clusters, in order: each test goes on from where the one before has ended. */
describe("test clusters, local backend", function () {
  this.timeout(360_000);
  stopAtFirstFailure();
  let tracesBefore: string[];
  let state: string;
  let previousState: string | undefined;
  let clusters: Cluster[];

  const up = (specs = SPECS): Promise<Cluster[]> => upClusters(specs, { backend: "local", progress: silent });

  before("a state folder of their own, so that other clusters do not matter", () => {
    previousState = process.env.PULUMI_LIQO_STATE;
    state = mkdtempSync(join(tmpdir(), "clusters-state-"));
    process.env.PULUMI_LIQO_STATE = state;
  });

  after(async () => {
    await downClusters("all", { progress: silent });
    rmSync(state, { recursive: true, force: true });
    if (previousState === undefined) delete process.env.PULUMI_LIQO_STATE;
    else process.env.PULUMI_LIQO_STATE = previousState;
  });

  it("come up Ready, side by side", async () => {
    tracesBefore = traces();
    await up(SPECS.map(({ name, podCIDR }) => ({ name, podCIDR })));
    const found = await problems();
    // Before any check, as the next test begins without clusters.
    await downClusters("all", { progress: silent });
    expect(found).to.deep.equal([]);
  });

  it("recover after a run was killed at any moment", async () => {
    for (const moment of [800, 2_500, 5_000]) {
      await killedRun(moment);
      clusters = await up();
      expect(await problems(), `killed after ${moment} ms`).to.deep.equal([]);
      expect(duplicates()).to.deep.equal([]);
      if (moment < 5_000) await downClusters("all", { progress: silent });
    }
  });

  it("stay as they are on a second up", async () => {
    const processes = startedPrograms().map((process) => process.pid);
    clusters = await up();
    expect(startedPrograms().map((process) => process.pid)).to.deep.equal(processes);
  });

  it("carry pods over nodes, Services and DNS", async () => {
    const cluster = clusters[1];
    if (!cluster) throw new Error("no second cluster");
    await kubectl(cluster, ["apply", "-f", "-"], manifests(cluster));
    await kubectl(cluster, ["wait", "--for=condition=Ready", "pod", "--all", "--timeout=120s"]);
    const ask = ["exec", "client", "--", "wget", "-qO-", "-T", "5", "http://server.default.svc.cluster.local"];
    // DNS and each node's kube-proxy learn of the Service and its pod by themselves.
    const answer = await until("an answer by the Service's name", 60_000, () => kubectl(cluster, ask));
    expect(answer).to.equal("hello\n");
  });

  it("recover components that were killed, with their pods running on", async () => {
    const cluster = clusters[1];
    if (!cluster) throw new Error("no second cluster");
    const started = ["get", "pod", "client", "-o", "jsonpath={.status.containerStatuses[0].state.running.startedAt}"];
    const startedAt = await kubectl(cluster, started);
    for (const program of ["etcd", "kube-apiserver", "containerd", "kubelet"]) {
      ownProcesses(program).forEach(end);
      clusters = await up();
      expect(await problems(), program).to.deep.equal([]);
    }
    expect(await kubectl(cluster, started)).to.equal(startedAt);
  });

  it("refuse to become another cluster", async () => {
    const refusal = await up([{ name: "ct-two", nodes: 1 }]).then(
      () => "",
      (error: Error) => error.message,
    );
    expect(refusal).to.contain("nodes is 2, not 1");
  });

  it("leave nothing when they are taken down", async () => {
    await downClusters("all", { progress: silent });
    expect(ownProcesses()).to.deep.equal([]);
    expect(traces()).to.deep.equal(tracesBefore);
    expect(readdirSync(state)).to.deep.equal([]);
  });

  async function problems(): Promise<string[]> {
    return (await clusterStatus()).flatMap((cluster) => cluster.problems);
  }

  /** A run of the command-line program that is killed after so many milliseconds. */
  async function killedRun(milliseconds: number): Promise<void> {
    const args = ["--import", "tsx", MAIN, "up", `${ONE},podCIDR=10.77.0.0/16`, "ct-two,podCIDR=10.77.0.0/16,nodes=2"];
    const child = spawn(process.execPath, [...args, "--backend", "local"], { stdio: "ignore" });
    await delay(milliseconds);
    child.kill("SIGKILL");
  }

  /** The long-running programs of these clusters, by their name's beginning; pods' shims are not among them. */
  function ownProcesses(program = ""): ProcessIdentity[] {
    return marked(program).filter(({ pid }) => !isShim(pid));
  }

  function marked(program = ""): ProcessIdentity[] {
    const marks = (mark: string): boolean => mark.startsWith(`${state}/`) && mark.includes(`#${program}`);
    return findByEnvironment("PULUMI_LIQO_CLUSTER", marks);
  }

  /** Without what they run themselves for a moment, as kube-proxy does nft and a shim runc: it inherits their environment. */
  function startedPrograms(): ProcessIdentity[] {
    const all = marked();
    const pids = new Set(all.map(({ pid }) => pid));
    return all.filter(({ pid }) => {
      const parent = parentOf(pid);
      return parent !== undefined && !pids.has(parent) && !isShim(pid);
    });
  }

  function duplicates(): string[] {
    const lines = startedPrograms().map(({ pid }) => environmentMark(pid));
    return lines.filter((line, index) => lines.indexOf(line) !== index);
  }
});

function isShim(pid: number): boolean {
  return readText(`/proc/${pid}/cmdline`).includes("shim");
}

/** Undefined for one that has ended meanwhile. */
function parentOf(pid: number): number | undefined {
  const parent = /^PPid:\s+(\d+)$/m.exec(readText(`/proc/${pid}/status`))?.[1];
  return parent === undefined ? undefined : Number(parent);
}

function environmentMark(pid: number): string {
  const lines = readText(`/proc/${pid}/environ`).split("\0");
  return lines.find((line) => line.startsWith("PULUMI_LIQO_CLUSTER=")) ?? "";
}

async function kubectl(cluster: Cluster, args: string[], input = ""): Promise<string> {
  return run(await ensureTool("kubectl"), ["--kubeconfig", cluster.kubeconfigPath, ...args], { input });
}

/** A server on the last node, a client on the first, and a Service between them. */
function manifests(cluster: Cluster): string {
  const container = { name: "tools", image: TEST_TOOLS_IMAGE, imagePullPolicy: "Never" };
  const serve = ["sh", "-c", "echo hello > /www/index.html && exec httpd -f -h /www"];
  const pod = (name: string, nodeName: string | undefined, command?: string[]): object => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ ...container, command }] },
  });
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "server" },
    spec: { selector: { app: "server" }, ports: [{ port: 80 }] },
  };
  const items = [pod("server", cluster.nodes.at(-1)?.name, serve), pod("client", cluster.nodes[0]?.name), service];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** Everything on this machine that bears the name of one of the test's clusters, and the bridges. */
function traces(): string[] {
  const named = (text: string): boolean => text.includes("ct-one") || text.includes("ct-two");
  const lines = (path: string): string[] => readFileSync(path, "utf8").split("\n");
  const entries = (folder: string): string[] =>
    existsSync(folder) ? readdirSync(folder).map((entry) => join(folder, entry)) : [];
  const cgroups = entries("/sys/fs/cgroup").flatMap((path) => [path, ...safely(() => entries(path))]);
  const files = ["/run/netns", "/run/plq", "/run/containerd", "/var/log/containers", "/var/lib/kubelet"].flatMap(
    entries,
  );
  const networks = entries("/var/lib/cni/results").filter((path) => named(readFileSync(path, "utf8")));
  const links = entries("/sys/class/net").filter((path) => named(path) || /plq\d+$/.test(path));
  const mounts = lines("/proc/self/mountinfo");
  return [...[...cgroups, ...files, ...mounts].filter(named), ...networks, ...links]
    .filter((line) => !line.includes("veth"))
    .sort();
}

function safely(list: () => string[]): string[] {
  try {
    return list();
  } catch {
    return [];
  }
}
