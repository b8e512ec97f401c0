import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { exec } from "./exec.js";
import { SERVER } from "./probe.js";

/** A host beside the nodes that belongs to no cluster: a network namespace with a link to the clusters' bridge. */
export class OutsideHost {
  /** Addresses from which its server was asked by TCP. */
  readonly callers = new Set<string>();
  private server?: ChildProcess;

  private constructor(
    readonly netns: string,
    readonly addresses: readonly string[],
  ) {}

  /** @param link name of its link on the bridge, and of its network namespace; at most 15 characters */
  static async create(link: string, bridge: string, addresses: readonly string[]): Promise<OutsideHost> {
    const host = new OutsideHost(link, addresses);
    await host.removeNetwork();
    await exec("ip", ["netns", "add", link]);
    await exec("ip", ["link", "add", link, "mtu", "1500", "type", "veth", "peer", "name", "eth0", "netns", link]);
    await exec("ip", ["link", "set", link, "master", bridge, "up"]);
    await host.run("ip", ["link", "set", "lo", "up"]);
    await host.run("ip", ["link", "set", "eth0", "up"]);
    for (const address of addresses) await host.run("ip", ["address", "add", `${address}/24`, "dev", "eth0"]);
    return host;
  }

  /** Serves as the pods do (see probe.ts) on all its addresses. */
  async serve(name: string): Promise<void> {
    // An answer must come from the address that was asked: each has a socket of its own.
    const program = [process.execPath, "-e", SERVER, name, ...this.addresses];
    const server = spawn("nsenter", [`--net=/run/netns/${this.netns}`, ...program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.on("exit", () => reject(new Error(`the server of ${this.netns} ended`)));
      server.stdout.setEncoding("utf8").on("data", (text: string) => {
        for (const line of text.split("\n").filter(Boolean)) {
          if (line === "serving") resolve();
          else this.callers.add(line);
        }
      });
    });
  }

  async run(program: string, args: readonly string[]): Promise<string> {
    return (await exec("nsenter", [`--net=/run/netns/${this.netns}`, program, ...args])).stdout;
  }

  async remove(): Promise<void> {
    const { server } = this;
    if (server && server.exitCode === null && server.signalCode === null) {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
    }
    await this.removeNetwork();
  }

  private async removeNetwork(): Promise<void> {
    await exec("ip", ["netns", "delete", this.netns], { allowFailure: true });
    await exec("ip", ["link", "delete", this.netns], { allowFailure: true });
  }
}
