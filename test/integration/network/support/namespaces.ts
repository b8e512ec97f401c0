import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { commandRunner, type Run } from "../../../../agent/net/index.js";

const host = commandRunner();

/** A network namespace of its own, with a mount namespace whose /run is private (control sockets of userspace WireGuard). */
export class Namespace {
  private static readonly open: Namespace[] = [];
  private readonly children: ChildProcess[] = [];

  private constructor(
    readonly name: string,
    readonly prefix: readonly string[],
    private readonly holder: ChildProcess,
    readonly run: Run,
  ) {
    Namespace.open.push(this);
  }

  /** Ends all namespaces and what runs in them. */
  static async closeAll(): Promise<void> {
    await Promise.all(Namespace.open.splice(0).map((namespace) => namespace.close()));
  }

  static async create(name: string): Promise<Namespace> {
    const script = "mount -t tmpfs tmpfs /run && ip link set lo up && echo ready && exec sleep 3600";
    const holder = spawn("unshare", ["--net", "--mount", "sh", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
    await Promise.race([
      once(holder.stdout, "data"),
      once(holder, "exit").then(() => Promise.reject(new Error("cannot make a network namespace: is this root?"))),
    ]);
    const prefix = ["nsenter", "--target", String(holder.pid), "--net", "--mount"];
    return new Namespace(name, prefix, holder, commandRunner(prefix));
  }

  get pid(): number {
    return this.holder.pid ?? 0;
  }

  sh(script: string): Promise<string> {
    return this.run("sh", ["-ec", script]);
  }

  /** Starts a program that runs until the namespace is closed, or is killed. */
  start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    const [file = "", ...rest] = [...this.prefix, program, ...args];
    const child = spawn(file, rest, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
    this.children.push(child);
    return child;
  }

  async close(): Promise<void> {
    for (const child of [...this.children, this.holder]) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
}

/** A cable between two namespaces. */
export async function connect(a: Namespace, deviceA: string, b: Namespace, deviceB: string): Promise<void> {
  const [left, right] = [`plqa${a.pid}`, `plqb${b.pid}`];
  await host("ip", ["link", "add", left, "type", "veth", "peer", "name", right]);
  await host("ip", ["link", "set", left, "netns", String(a.pid)]);
  await host("ip", ["link", "set", right, "netns", String(b.pid)]);
  await a.run("ip", ["link", "set", left, "name", deviceA, "up"]);
  await b.run("ip", ["link", "set", right, "name", deviceB, "up"]);
}
