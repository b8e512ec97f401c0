import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** What one packet on the link between two clusters was. */
export interface CapturedPacket {
  protocol: "udp" | "tcp" | "other";
  source: string;
  sourcePort: number;
  destination: string;
  destinationPort: number;
  line: string;
}

/** Captures, by tcpdump, what passes between two addresses on an interface; ARP and the like are not IP and not recorded. */
export class Capture {
  private readonly packets: CapturedPacket[] = [];

  private constructor(private readonly child: ChildProcess) {}

  /** Resolves when the capture runs. Needs root and tcpdump. */
  static async start(networkInterface: string, a: string, b: string): Promise<Capture> {
    const filter = `ip and host ${a} and host ${b}`;
    const child = spawn("tcpdump", ["-i", networkInterface, "-nn", "-l", "-q", "-s", "96", filter], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const capture = new Capture(child);
    await new Promise<void>((resolve, reject) => {
      let errors = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        errors += text;
        if (errors.includes("listening on")) resolve();
      });
      child.on("error", (error) => reject(new Error(`tcpdump: ${error.message}`)));
      child.on("exit", () => reject(new Error(`tcpdump ended at once: ${errors.trim()}`)));
    });
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line) capture.packets.push(parsePacket(line));
    });
    return capture;
  }

  async stop(): Promise<CapturedPacket[]> {
    if (this.child.exitCode === null) {
      const exited = once(this.child, "close");
      this.child.kill("SIGINT");
      await exited;
    }
    return this.packets;
  }
}

/** Reads a line of `tcpdump -nn -q`, for example "12:00:00.1 IP 10.0.0.1.5 > 10.0.0.2.6: UDP, length 3". */
export function parsePacket(line: string): CapturedPacket {
  const match = /IP (\d+\.\d+\.\d+\.\d+)(?:\.(\d+))? > (\d+\.\d+\.\d+\.\d+)(?:\.(\d+))?: (\S+)/.exec(line);
  const word = (match?.[5] ?? "").toLowerCase();
  return {
    protocol: word.startsWith("udp") ? "udp" : word.startsWith("tcp") ? "tcp" : "other",
    source: match?.[1] ?? "",
    sourcePort: Number(match?.[2] ?? 0),
    destination: match?.[3] ?? "",
    destinationPort: Number(match?.[4] ?? 0),
    line,
  };
}

/**
 * Packets that are neither the tunnel's (UDP to or from `tunnelPort`) nor an API server's TLS (TCP to or from `apiPort`).
 * A kernel's word that a packet of the tunnel has come too late, to a gateway that has just ended, is the tunnel's.
 */
export function unexpectedPackets(
  packets: readonly CapturedPacket[],
  tunnelPort: number,
  apiPort: number,
): CapturedPacket[] {
  const touches = (packet: CapturedPacket, port: number): boolean =>
    packet.sourcePort === port || packet.destinationPort === port;
  const isTunnels = (packet: CapturedPacket): boolean => packet.protocol === "udp" && touches(packet, tunnelPort);
  const reached = new Set(packets.filter(isTunnels).map(whereTo));
  return packets.filter((packet) => {
    if (packet.protocol === "tcp") return !touches(packet, apiPort);
    if (packet.protocol === "udp") return !isTunnels(packet);
    return !reached.has(unreachablePort(packet) ?? "");
  });
}

function whereTo({ source, destination, destinationPort }: CapturedPacket): string {
  return `${source} > ${destination}:${destinationPort}`;
}

/** What "ICMP 10.0.0.2 udp port 6 unreachable" answers to, as {@link whereTo} names it. */
function unreachablePort({ source, destination, line }: CapturedPacket): string | undefined {
  const match = /: ICMP (\S+) udp port (\d+) unreachable/.exec(line);
  return match?.[1] === source ? `${destination} > ${source}:${match[2]}` : undefined;
}
