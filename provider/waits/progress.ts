import type { Severity } from "../framework/index.js";

/** What a step needs from the call it is part of; every CallContext is one. */
export interface Progress {
  /** The live line beside the resource. */
  status(line: string): void;
  /** A line that stays. */
  log(severity: Severity, line: string): void;
  /** Aborted when the call is to end: Ctrl-C, or a failure beside it. */
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/** The same with a nearer end, for a step that must not use up all the time. */
export function withLimit<P extends Progress>(progress: P, milliseconds: number): Progress {
  return {
    status: (line) => progress.status(line),
    log: (severity, line) => progress.log(severity, line),
    signal: progress.signal,
    deadline: Math.min(progress.deadline, Date.now() + milliseconds),
  };
}
