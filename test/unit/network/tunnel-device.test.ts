import { spawn, type ChildProcess } from "node:child_process";
import { expect } from "chai";
import { createTunnelDevice, type Implementation } from "../../../agent/gateway/tunnel-device.js";
import { CommandError, type Run } from "../../../agent/net/index.js";

const TUNNEL = { device: "liqo-tunnel", address: "169.254.18.1", peerAddress: "169.254.18.2", mtu: 1340 };

/** What a kernel answers to `ip link add … type wireguard`; undefined: it makes the device. */
interface Kernel {
  refusal?: string;
  /** Devices of its WireGuard that are there already. */
  devices?: string[];
}

describe("the tunnel's device", () => {
  let started: ChildProcess[];
  let commands: string[];

  beforeEach(() => ([started, commands] = [[], []]));
  afterEach(() => started.forEach((child) => child.kill("SIGKILL")));

  function create(kernel: Kernel, implementation?: Implementation, program = "sleep 60"): Promise<Implementation> {
    const run: Run = (name, args, input) => {
      commands.push([name, ...args, ...(input?.trim().split("\n") ?? [])].join(" "));
      if (args.includes("show"))
        return Promise.resolve(JSON.stringify((kernel.devices ?? []).map((ifname) => ({ ifname }))));
      if (!args.includes("wireguard") || kernel.refusal === undefined) return Promise.resolve("");
      return Promise.reject(new CommandError(name, args, 2, kernel.refusal));
    };
    const startUserspace = (): ChildProcess => {
      const child = spawn("sh", ["-c", program], { stdio: ["ignore", "pipe", "pipe"] });
      started.push(child);
      return child;
    };
    return createTunnelDevice({
      run,
      tunnel: TUNNEL,
      implementation,
      startUserspace,
      isServed: () => Promise.resolve(program.startsWith("sleep")),
      onExit: () => undefined,
    });
  }

  const UNKNOWN = "Error: Unknown device type.";

  it("is the kernel's where the kernel has WireGuard, and gets its MTU and address", async () => {
    expect(await create({})).to.equal("kernel");
    expect(started).to.have.length(0);
    expect(commands.at(-1)).to.contain("mtu 1340").and.to.contain("169.254.18.1/30").and.to.contain("up");
  });

  it("is wireguard-go's where the kernel has none", async () => {
    expect(await create({ refusal: UNKNOWN })).to.equal("userspace");
    expect(started).to.have.length(1);
    expect(commands.at(-1)).to.contain("mtu 1340");
  });

  it("is used again where the kernel still serves that of a former container", async () => {
    expect(await create({ devices: ["liqo-tunnel"], refusal: "RTNETLINK answers: File exists" })).to.equal("kernel");
    expect(started).to.have.length(0);
  });

  it("is of the implementation asked for, or of none", async () => {
    expect(await create({}, "userspace")).to.equal("userspace");
    expect(commands.join("\n")).to.not.contain("type wireguard");
    expect(await failure(create({ refusal: UNKNOWN }, "kernel"))).to.contain("Unknown device type");
    expect(started).to.have.length(1);
  });

  it("is of none where the kernel refuses it for another reason, which is told", async () => {
    expect(await failure(create({ refusal: "RTNETLINK answers: Operation not permitted" }))).to.contain(
      "not permitted",
    );
    expect(started).to.have.length(0);
  });

  it("is not waited for once wireguard-go has ended; what it said is told", async () => {
    expect(await failure(create({ refusal: UNKNOWN }, undefined, "echo no /dev/net/tun >&2; exit 3"))).to.match(
      /wireguard-go ended \(exit code 3\): no \/dev\/net\/tun/,
    );
  });
});

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "(done)",
    (error: unknown) => String(error),
  );
}
