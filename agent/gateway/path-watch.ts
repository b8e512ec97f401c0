import type { Run } from "../net/index.js";
import { delay } from "../runtime/backoff.js";
import { messageOf } from "../runtime/kube-error.js";
import type { Logger } from "../runtime/logger.js";
import { TUNNEL_DEVICE } from "./constants.js";
import { largestUnfragmented, probePath, type PathVerdict } from "./path-probe.js";
import { wireguardStatus } from "./wireguard.js";

export interface PathWatchOptions {
  run: Run;
  peerAddress: string;
  mtu: number;
  /** Where the peer is asked, if not where every gateway answers. */
  port?: number;
  onVerdict: (verdict: PathVerdict) => void;
  logger: Logger;
}

const CALM_MS = 60_000;
const CONCERNED_MS = 10_000;
/** A peer that is busy, or has just begun, does not answer either: that nothing is known is told when several looks in a row have found nothing. */
const LOOKS_IN_VAIN = 3;
const IN_VAIN_MS = 1_000;

/** While the tunnel is connected, sees now and then whether full-size packets pass: at once, each minute, and more often where they do not. */
export class PathWatch {
  private current?: AbortController;

  constructor(private readonly options: PathWatchOptions) {}

  /** Begins anew, with a probe at once. */
  restart(): void {
    this.stop();
    const current = new AbortController();
    this.current = current;
    void this.watch(current.signal);
  }

  stop(): void {
    this.current?.abort();
  }

  private async watch(signal: AbortSignal): Promise<void> {
    let inVain = 0;
    while (!signal.aborted) {
      let pause = CONCERNED_MS;
      try {
        const verdict = await this.look(signal);
        if (signal.aborted) return;
        inVain = verdict.state === "unknown" ? inVain + 1 : 0;
        if (inVain > 0 && inVain < LOOKS_IN_VAIN) pause = IN_VAIN_MS;
        else this.options.onVerdict(verdict);
        if (verdict.state === "fits") pause = CALM_MS;
      } catch (error) {
        this.options.logger.warn({ reason: messageOf(error) }, "path not probed");
      }
      await delay(pause, signal);
    }
  }

  private async look(signal: AbortSignal): Promise<PathVerdict> {
    const { run, mtu } = this.options;
    const verdict = await probePath(this.options, signal);
    const { peers } = await wireguardStatus(run, TUNNEL_DEVICE);
    const endpoint = peers[0]?.endpoint;
    const largest = endpoint === undefined ? undefined : await largestUnfragmented(run, endpoint);
    if (largest === undefined || largest >= mtu) return verdict;
    if (verdict.state === "lost") return { state: "lost", largest: Math.min(largest, verdict.largest ?? largest) };
    return { state: "fragmented", largest };
  }
}
