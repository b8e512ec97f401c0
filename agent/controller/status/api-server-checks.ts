import { KubeClient, delay, messageOf, type Logger } from "../../runtime/index.js";
import { PeerLine } from "./peer-line.js";

/** The outcome of the last look at a peer's API server. */
export interface ApiServerState {
  answers: boolean;
  /** Why not. */
  message: string;
}

export interface ApiServerCheckOptions {
  intervalSeconds: number;
  timeoutSeconds: number;
  logger: Logger;
  /** Called when the outcome changes. */
  onChange(clusterID: string): void;
}

interface RunningCheck {
  kubeconfig: string;
  /** Undefined when the kubeconfig cannot be read. */
  client?: KubeClient;
  /** Undefined until the first look, and where there can be none. */
  line?: PeerLine;
  abort: AbortController;
  /** Ends the wait for the next look. */
  nap?: AbortController;
  /** Something suggests that the peer does not answer: the next look asks on a new connection, and waits no longer than so many seconds. */
  patienceSeconds?: number;
  state?: ApiServerState;
}

const LIVENESS = "/livez";
const ANSWERS: ApiServerState = { answers: true, message: "the API server answers" };
/** A peer that does not answer is looked at more often, so that its return shows soon. */
const RETRY_SECONDS = 2;
const PAUSE_SECONDS = 0.5;
/** The time for an answer once a connection has broken: a status is true again within five seconds. */
const BROKEN_PATIENCE_SECONDS = 4;
/** The same where time has passed already: a line has been silent, or none can be had. */
const SILENT_PATIENCE_SECONDS = 1.5;

/**
 * Looks at `/livez` of each peer with its control plane identity, each on a timer of its own (control plane specification, §8), and in
 * between listens whether the connection to it lives: a peer that vanishes without a word shows within seconds.
 */
export class ApiServerChecks {
  private readonly checks = new Map<string, RunningCheck>();

  constructor(private readonly options: ApiServerCheckOptions) {}

  /** Starts the check; restarts it when the identity has changed. */
  ensure(clusterID: string, kubeconfig: string): void {
    const present = this.checks.get(clusterID);
    if (present?.kubeconfig === kubeconfig) return;
    this.stop(clusterID);
    const client = readKubeconfig(clusterID, kubeconfig);
    const check = { kubeconfig, client, abort: new AbortController(), state: present?.state };
    this.checks.set(clusterID, check);
    void this.run(clusterID, check);
  }

  stop(clusterID: string): void {
    const check = this.checks.get(clusterID);
    check?.abort.abort();
    check?.nap?.abort();
    check?.line?.close();
    check?.client?.close();
    this.checks.delete(clusterID);
  }

  /** Looks now: something suggests that the peer does not answer any more. Where that is known already, nothing changes. */
  lookNow(clusterID: string, patienceSeconds = BROKEN_PATIENCE_SECONDS): void {
    const check = this.checks.get(clusterID);
    if (!check?.state?.answers) return;
    check.patienceSeconds = patienceSeconds;
    check.nap?.abort();
  }

  stopAll(): void {
    for (const clusterID of [...this.checks.keys()]) this.stop(clusterID);
  }

  /** Undefined before the first look has ended. */
  state(clusterID: string): ApiServerState | undefined {
    return this.checks.get(clusterID)?.state;
  }

  private async run(clusterID: string, check: RunningCheck): Promise<void> {
    const { signal } = check.abort;
    while (!signal.aborted) {
      const state = await this.look(clusterID, check);
      if (signal.aborted) return check.line?.close();
      const changed = state.answers !== check.state?.answers || state.message !== check.state.message;
      check.state = state;
      if (changed) this.options.onChange(clusterID);
      check.nap = new AbortController();
      // Whatever happens: a server that ends each connection after an answer must not be asked without a pause.
      await delay(PAUSE_SECONDS * 1000, signal);
      await delay(this.waitSeconds(check, state) * 1000, check.nap.signal);
    }
  }

  /** Without a line only looks can tell; it may have ended during the last one. */
  private waitSeconds({ line }: RunningCheck, { answers }: ApiServerState): number {
    const { intervalSeconds } = this.options;
    if (line && !line.isOpen) return 0;
    return answers && line ? intervalSeconds : Math.min(intervalSeconds, RETRY_SECONDS);
  }

  private async look(clusterID: string, check: RunningCheck): Promise<ApiServerState> {
    if (!check.client) return { answers: false, message: "the identity's kubeconfig cannot be read" };
    try {
      const status = await this.ask(clusterID, check, check.client);
      return status < 300 ? ANSWERS : { answers: false, message: refusalOf(status) };
    } catch (error) {
      check.line?.close();
      check.line = undefined;
      return { answers: false, message: messageOf(error) };
    } finally {
      check.patienceSeconds = undefined;
    }
  }

  /** The status of the answer; throws KubeError when there is none. */
  private async ask(clusterID: string, check: RunningCheck, client: KubeClient): Promise<number> {
    const { line } = check;
    if (line?.isOpen && check.patienceSeconds === undefined) {
      try {
        return await line.get(LIVENESS, this.timeoutMs(check));
      } catch (error) {
        // A line that broke proves little: what counts is whether a new one can be had.
        if (line.isOpen) throw error;
      }
    }
    line?.close();
    const timeoutMs = this.timeoutMs(check);
    check.line = await PeerLine.open(client.transport, timeoutMs, check.abort.signal);
    check.line?.whenEnded((wasSilent) => this.lookNow(clusterID, wasSilent ? SILENT_PATIENCE_SECONDS : undefined));
    if (check.line) return check.line.get(LIVENESS, timeoutMs);
    await client.text(LIVENESS, { timeoutMs, signal: check.abort.signal });
    return 200;
  }

  private timeoutMs({ patienceSeconds, line, state }: RunningCheck): number {
    const unwatched = state?.answers && !line ? SILENT_PATIENCE_SECONDS : undefined;
    return 1000 * Math.min(this.options.timeoutSeconds, patienceSeconds ?? unwatched ?? Infinity);
  }
}

function refusalOf(status: number): string {
  const answer = `the API server answers ${LIVENESS} with HTTP ${status}`;
  return status === 401 ? `${answer}: the identity has expired, or was withdrawn` : answer;
}

function readKubeconfig(clusterID: string, kubeconfig: string): KubeClient | undefined {
  try {
    return KubeClient.fromText(kubeconfig, { cluster: clusterID });
  } catch {
    return undefined;
  }
}
