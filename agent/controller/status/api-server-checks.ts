import { KubeClient, delay, messageOf, type Logger } from "../../runtime/index.js";

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
  abort: AbortController;
  /** Ends the wait for the next look. */
  nap?: AbortController;
  state?: ApiServerState;
}

/** A peer that does not answer is looked at more often, so that its return shows soon. */
const RETRY_SECONDS = 3;

/** Looks at `/livez` of each peer with its control plane identity, each on a timer of its own (control plane specification, §8). */
export class ApiServerChecks {
  private readonly checks = new Map<string, RunningCheck>();

  constructor(private readonly options: ApiServerCheckOptions) {}

  /** Starts the check; restarts it when the identity has changed. */
  ensure(clusterID: string, kubeconfig: string): void {
    const present = this.checks.get(clusterID);
    if (present?.kubeconfig === kubeconfig) return;
    this.stop(clusterID);
    const check: RunningCheck = { kubeconfig, abort: new AbortController(), state: present?.state };
    this.checks.set(clusterID, check);
    void this.run(clusterID, check);
  }

  stop(clusterID: string): void {
    const check = this.checks.get(clusterID);
    check?.abort.abort();
    check?.nap?.abort();
    this.checks.delete(clusterID);
  }

  /** Looks now: something suggests that the peer does not answer any more. Where that is known already, nothing changes. */
  lookNow(clusterID: string): void {
    const check = this.checks.get(clusterID);
    if (check?.state?.answers) check.nap?.abort();
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
    const { intervalSeconds } = this.options;
    while (!signal.aborted) {
      const state = await this.look(clusterID, check);
      if (signal.aborted) return;
      const changed = state.answers !== check.state?.answers || state.message !== check.state.message;
      check.state = state;
      if (changed) this.options.onChange(clusterID);
      check.nap = new AbortController();
      const seconds = state.answers ? intervalSeconds : Math.min(intervalSeconds, RETRY_SECONDS);
      await delay(seconds * 1000, check.nap.signal);
    }
  }

  private async look(clusterID: string, { kubeconfig, abort }: RunningCheck): Promise<ApiServerState> {
    let client: KubeClient | undefined;
    try {
      client = KubeClient.fromText(kubeconfig, { cluster: clusterID });
    } catch {
      return { answers: false, message: "the identity's kubeconfig cannot be read" };
    }
    try {
      await client.text("/livez", { timeoutMs: this.options.timeoutSeconds * 1000, signal: abort.signal });
      return { answers: true, message: "the API server answers" };
    } catch (error) {
      return { answers: false, message: messageOf(error) };
    } finally {
      client.close();
    }
  }
}
