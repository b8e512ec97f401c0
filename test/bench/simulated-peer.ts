import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import dgram from "node:dgram";
import {
  CLIENT_ADDRESS,
  CONNECTION_CHECK_PORT,
  DEFAULT_MTU,
  SERVER_ADDRESS,
  TUNNEL_PREFIX,
} from "../../agent/gateway/constants.js";
import { parsePingMessage, pongMessage } from "../../agent/gateway/ping-message.js";
import { messageOf } from "../../agent/runtime/index.js";
import { WIREGUARD_GO_ENVIRONMENT } from "../../agent/gateway/tunnel-device.js";
import { ensureTool } from "../clusters/index.js";
import { exec } from "../support/exec.js";
import { OutsideHost } from "../support/outside-host.js";

/** Answers the connection checks of all simulated peers, which lead them here: none needs a process of its own for that. */
export class PingResponder {
  private readonly socket = dgram.createSocket("udp4");

  /** @param address of this machine, which the peers reach */
  async listen(address: string): Promise<number> {
    this.socket.on("message", (datagram, { address: from, port }) => {
      const message = parsePingMessage(datagram);
      if (message?.msgType === "PING") this.socket.send(pongMessage(message), port, from);
    });
    this.socket.bind(0, address);
    await once(this.socket, "listening");
    return this.socket.address().port;
  }

  close(): void {
    this.socket.close();
  }
}

export interface SimulatedPeerOptions {
  /** Of its network namespace, its link and its tunnel: at most 15 characters. */
  name: string;
  bridge: string;
  /** Its own on the clusters' bridge. */
  address: string;
  /** Where connection checks are answered. */
  responder: { address: string; port: number };
  keys: { privateKey: string; publicKey: string };
}

/** A cluster that others see as a client: one end of a tunnel, which answers connection checks, and nothing behind it. */
export class SimulatedPeer {
  private constructor(
    private readonly host: OutsideHost,
    private readonly device: string,
    private readonly tunnel: ChildProcess,
  ) {}

  static async create({ name, bridge, address, responder, keys }: SimulatedPeerOptions): Promise<SimulatedPeer> {
    const host = await OutsideHost.create(name, bridge, [address]);
    const program = await ensureTool("wireguard-go");
    const tunnel = spawn("nsenter", [`--net=/run/netns/${name}`, program, "-f", name], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, ...WIREGUARD_GO_ENVIRONMENT },
    });
    let words = "";
    tunnel.stderr.setEncoding("utf8").on("data", (text: string) => (words += text));
    // Node's pipes are sockets, which wg does not open as a file.
    const script = `
      for i in $(seq 600); do wg show ${name} >/dev/null 2>&1 && break; sleep 0.05; done
      cat | wg set ${name} private-key /dev/stdin
      ip address add ${CLIENT_ADDRESS}/${TUNNEL_PREFIX} dev ${name}; ip link set ${name} up mtu ${DEFAULT_MTU}
      sysctl -qw net.ipv4.ip_forward=1
      nft -f - <<END
table ip answers {
  chain destinations {
    type nat hook prerouting priority dstnat
    iifname "${name}" udp dport ${CONNECTION_CHECK_PORT} dnat to ${responder.address}:${responder.port}
  }
  chain sources {
    type nat hook postrouting priority srcnat
    oifname "eth0" ct status dnat masquerade
  }
}
END`;
    try {
      await exec("nsenter", [`--net=/run/netns/${name}`, "sh", "-ec", script], { input: keys.privateKey });
    } catch (error) {
      tunnel.kill("SIGKILL");
      await host.remove();
      throw new Error(`simulated peer ${name}: ${words.trim() || messageOf(error)}`, { cause: error });
    }
    return new SimulatedPeer(host, name, tunnel);
  }

  /** Begins to speak with a gateway server, known by its key and where it is reached. */
  async connect(publicKey: string, endpoint: string): Promise<void> {
    const peer = ["peer", publicKey, "allowed-ips", `${SERVER_ADDRESS}/32`, "persistent-keepalive", "1"];
    await this.host.run("wg", ["set", this.device, ...peer, "endpoint", endpoint]);
  }

  async remove(): Promise<void> {
    if (this.tunnel.exitCode === null && this.tunnel.signalCode === null) {
      const ended = once(this.tunnel, "exit");
      this.tunnel.kill("SIGKILL");
      await ended;
    }
    await this.host.remove();
  }
}
