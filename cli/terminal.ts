/** Where the command line reads and writes: given in, so that tests can look. */
export interface Terminal {
  out(text: string): void;
  error(text: string): void;
  env: NodeJS.ProcessEnv;
  /** Relative paths start here. */
  folder: string;
  /** Whether a person looks at the output. */
  isInteractive: boolean;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** What is piped in. */
  input(): Promise<string>;
}

/** What the user did wrong in calling; everything else that fails is an Error of another kind. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** How a command ends (docs/cli.md). */
export const ExitCode = { success: 0, failure: 1, usage: 2, interrupted: 130 } as const;
