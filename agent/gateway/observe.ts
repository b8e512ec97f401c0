import type { NftablesTable, Run } from "../net/index.js";
import type { GatewayArguments } from "./arguments.js";
import { TUNNEL_DEVICE } from "./constants.js";
import type { Observations } from "./diagnosis.js";
import type { EndpointChooser } from "./endpoint-chooser.js";
import { isPortRefused } from "./endpoint-probe.js";
import { HANDSHAKE_COUNTER } from "./ruleset.js";
import { wireguardStatus } from "./wireguard.js";

/** WireGuard itself gives a session up after this long. */
const SESSION_SECONDS = 180;

/** Looks at a tunnel that does not answer. */
export class Observer {
  private counted = 0;
  private receivedBytes = 0;

  constructor(
    private readonly run: Run,
    private readonly args: GatewayArguments,
    private readonly table: NftablesTable,
    private readonly endpoints: EndpointChooser | undefined,
  ) {}

  /** `since`: when the tunnel was last set up; a handshake from before that does not count (milliseconds since the epoch). */
  async look(since: number): Promise<Observations> {
    const { mode, remoteClusterID, listenPort, endpointAddresses } = this.args;
    const endpoint = this.endpoints?.endpoint;
    const [status, counters, isRefused] = await Promise.all([
      wireguardStatus(this.run, TUNNEL_DEVICE),
      mode === "server" ? this.table.counters() : {},
      endpoint === undefined ? false : isPortRefused(endpoint),
    ]);
    const [peer] = status.peers;
    const handshake = peer?.latestHandshake ?? 0;
    const isFresh = handshake > Math.max(since / 1000 - 1, Date.now() / 1000 - SESSION_SECONDS);
    const isHeard = (peer?.receivedBytes ?? 0) > this.receivedBytes;
    this.receivedBytes = peer?.receivedBytes ?? 0;
    return {
      mode,
      remoteClusterID,
      ownKey: status.publicKey,
      peerKey: peer?.publicKey ?? "",
      endpoint,
      endpointAddresses,
      isRefused,
      listenPort,
      requests: this.newRequests(counters),
      hasSession: isFresh && isHeard,
    };
  }

  private newRequests({ [HANDSHAKE_COUNTER]: count = 0 }: Record<string, number>): number {
    const requests = count - this.counted;
    this.counted = count;
    return requests;
  }
}
