import { yieldOwnAddress } from "../../../../agent/gateway/own-address.js";
import { FastPathTable } from "../../../../agent/gateway/fast-path-table.js";
import { Paths } from "../../../../agent/gateway/paths.js";
import type { GatewayState } from "../../../../agent/gateway/state.js";
import { WIREGUARD_GO_ENVIRONMENT, createTunnelDevice } from "../../../../agent/gateway/tunnel-device.js";
import { NftablesTable, type Run } from "../../../../agent/net/index.js";
import { createLogger } from "../../../../agent/runtime/index.js";
import { ensureTool } from "../../../clusters/index.js";
import { Namespace, connect } from "./namespaces.js";

/** A node with a bridge for its pods, which a CNI would make: everything that leaves the pods' network is masqueraded. */
export class TestNode {
  private constructor(
    readonly namespace: Namespace,
    readonly address: string,
    readonly podRange: string,
    readonly bridge: string,
  ) {}

  static async create(name: string, wan: Namespace, address: string, third: number): Promise<TestNode> {
    const namespace = await Namespace.create(name);
    const bridge = `10.244.${third}.1`;
    const podRange = `10.244.${third}.0/24`;
    await connect(namespace, "eth0", wan, name);
    await wan.run("ip", ["link", "set", name, "master", "switch"]);
    await namespace.sh(`
      sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.default.rp_filter=1
      ip addr add ${address}/24 dev eth0
      ip link add cni0 type bridge && ip link set cni0 up && ip addr add ${bridge}/24 dev cni0
      nft -f - <<END
table ip cni {
  chain nodeport { type nat hook prerouting priority dstnat; }
  chain output { type nat hook output priority -100; }
  chain leave { type nat hook postrouting priority srcnat; ip saddr ${podRange} ip daddr != ${podRange} masquerade; }
}
END`);
    return new TestNode(namespace, address, podRange, bridge);
  }

  async addPod(name: string, address: string): Promise<Namespace> {
    const pod = await Namespace.create(name);
    await connect(pod, "eth0", this.namespace, `v${pod.pid}`);
    await this.namespace.run("ip", ["link", "set", `v${pod.pid}`, "master", "cni0"]);
    await pod.sh(`ip addr add ${address}/24 dev eth0; ip route add default via ${this.bridge}`);
    return pod;
  }
}

/** Makes a namespace a gateway, by the very functions that the gateway role uses. */
export async function startGateway(gateway: Namespace, state: GatewayState): Promise<void> {
  const program = await ensureTool("wireguard-go");
  await gateway.sh("mkdir -p /var/run/wireguard; sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0");
  await createTunnelDevice({
    run: gateway.run,
    tunnel: state.tunnel,
    startUserspace: (device) => gateway.start(program, ["-f", device], WIREGUARD_GO_ENVIRONMENT),
    isServed: (device) =>
      gateway.run("wg", ["show", device, "listen-port"]).then(
        () => true,
        () => false,
      ),
    onExit: () => undefined,
  });
  await yieldOwnAddress(gateway.run);
  await applyGateway(gateway.run, state);
}

/** With the short way of packets between pods, if that is free. */
export async function applyGateway(run: Run, state: GatewayState, isShortWayFree = false): Promise<void> {
  const fastPath = new FastPathTable(run, () => isShortWayFree, createLogger("gateway"));
  await new Paths({ run, table: new NftablesTable(run), fastPath }).apply(state, true);
}
