import { agentProcesses } from "../support/agent-processes.js";
import type { LabCluster } from "../support/lab.js";

/** A process that is looked at for less time says nothing: Node.js takes memory in steps while it is young. */
const JUDGED_AFTER_MS = 5 * 60_000;
export const GROWTH_LIMIT = 0.1;

export interface Growth {
  process: string;
  fromMiB: number;
  toMiB: number;
  /** How long it was looked at. */
  seconds: number;
  /** Whether that was long enough for a verdict. */
  isJudged: boolean;
}

/** A process that was there at the last look, and is no more. */
export interface Gone {
  lab: LabCluster;
  podUid: string;
  name: string;
  firstAt: number;
  lastAt: number;
}

interface Seen extends Gone {
  /** The largest sizes of the first and of the last while: what is given back in between is no growth. */
  samples: number[];
}

/** Follows the memory of every agent process from when it is first seen. */
export class MemoryWatch {
  private readonly seen = new Map<number, Seen>();

  constructor(private readonly clusters: readonly LabCluster[]) {}

  /** Takes one sample of all; those that have ended are forgotten, and returned. */
  async sample(): Promise<Gone[]> {
    const now = Date.now();
    const alive = new Set<number>();
    for (const lab of this.clusters) {
      for (const { pid, role, residentKiB, podUid } of await agentProcesses(lab)) {
        alive.add(pid);
        const name = `${lab.cluster.name} ${role} (process ${pid})`;
        const one = this.seen.get(pid) ?? { lab, podUid, name, firstAt: now, lastAt: now, samples: [] };
        one.lastAt = now;
        one.samples.push(residentKiB / 1024);
        this.seen.set(pid, one);
      }
    }
    const gone = [...this.seen].filter(([pid]) => !alive.has(pid));
    for (const [pid] of gone) this.seen.delete(pid);
    return gone.map(([, one]) => one);
  }

  growths(): Growth[] {
    return [...this.seen.values()].map(({ name, firstAt, lastAt, samples }) => {
      const part = Math.max(1, Math.floor(samples.length / 4));
      const milliseconds = lastAt - firstAt;
      return {
        process: name,
        // The second quarter against the last: by then what is loaded and compiled once has been.
        fromMiB: Math.max(...samples.slice(part, 2 * part), ...samples.slice(0, 1)),
        toMiB: Math.max(...samples.slice(-part)),
        seconds: milliseconds / 1000,
        isJudged: milliseconds >= JUDGED_AFTER_MS,
      };
    });
  }
}

export function hasGrown({ fromMiB, toMiB, isJudged }: Growth): boolean {
  return isJudged && toMiB > fromMiB * (1 + GROWTH_LIMIT);
}
