import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { Backoff } from "../runtime/backoff.js";

export interface LinkWatchOptions {
  /** Of iproute2: "link", "neigh". */
  objects: readonly string[];
  /** One line of `ip monitor` for each change in this network namespace. */
  onChange: (line: string) => void;
}

/**
 * Hears from the kernel what happens to links and neighbours, by an `ip monitor` of its own, which costs nothing while nothing happens. It tells earlier what looks
 * made now and then would find as well: one that ends is begun anew, with growing delay, and nothing that happened meanwhile is told.
 */
export class LinkWatch {
  private readonly backoff = new Backoff(1_000, 60_000);
  private child?: ChildProcess;
  private timer?: NodeJS.Timeout;
  private stopped = false;

  constructor(private readonly options: LinkWatchOptions) {}

  start(): void {
    const child = spawn("ip", ["-o", "monitor", ...this.options.objects], { stdio: ["ignore", "pipe", "ignore"] });
    this.child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.backoff.reset();
      this.options.onChange(line);
    });
    child.once("error", () => this.again(child));
    child.once("exit", () => this.again(child));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.child?.kill("SIGKILL");
  }

  private again(ended: ChildProcess): void {
    if (this.stopped || this.child !== ended) return;
    this.child = undefined;
    this.timer = setTimeout(() => this.start(), this.backoff.next());
  }
}
