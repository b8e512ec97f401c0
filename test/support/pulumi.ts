import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { exec, type ExecOptions, type ExecResult } from "./exec.js";

export interface PulumiStackOptions {
  /** The folder that holds Pulumi.yaml. */
  project: string;
  /** Where the backend and the CLI's home are; made if absent. No account anywhere. */
  stateFolder: string;
  stack: string;
  /** The folder of the CLI and its language hosts. */
  binFolder: string;
  config: Record<string, string>;
  env?: NodeJS.ProcessEnv;
}

/** A stack of a project on disk, driven through the real CLI with a backend in a local folder. */
export class PulumiStack {
  private readonly env: NodeJS.ProcessEnv;

  constructor(private readonly options: PulumiStackOptions) {
    mkdirSync(path.join(options.stateFolder, "backend"), { recursive: true });
    this.env = {
      ...process.env,
      ...options.env,
      PATH: `${options.binFolder}${path.delimiter}${options.env?.["PATH"] ?? process.env["PATH"] ?? ""}`,
      PULUMI_HOME: path.join(options.stateFolder, "home"),
      PULUMI_BACKEND_URL: `file://${path.join(options.stateFolder, "backend")}`,
      PULUMI_CONFIG_PASSPHRASE: "local",
      PULUMI_SKIP_UPDATE_CHECK: "1",
      PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK: "1",
    };
  }

  /** The same stack with more in the environment of its commands. */
  withEnv(env: NodeJS.ProcessEnv): PulumiStack {
    return new PulumiStack({ ...this.options, env: { ...this.options.env, ...env } });
  }

  /** Creates the stack if it is not there and writes its configuration. */
  async init(): Promise<void> {
    await this.pulumi(["stack", "select", "--create", this.options.stack]);
    for (const [key, value] of Object.entries(this.options.config)) await this.setConfig(key, value);
  }

  setConfig(key: string, value: string): Promise<ExecResult> {
    return this.pulumi(["config", "set", key, value, ...this.stackArgs()]);
  }

  up(options: ExecOptions = {}, flags: readonly string[] = []): Promise<ExecResult> {
    return this.pulumi(["up", "--yes", "--skip-preview", ...this.stackArgs(), ...flags], {
      timeoutMs: 300_000,
      ...options,
    });
  }

  /** Fails when anything would change, if `expectNoChanges`. */
  preview(options: ExecOptions & { expectNoChanges?: boolean } = {}): Promise<ExecResult> {
    const flags = options.expectNoChanges ? ["--expect-no-changes"] : [];
    return this.pulumi(["preview", "--diff", ...flags, ...this.stackArgs()], { timeoutMs: 120_000, ...options });
  }

  refresh(options: ExecOptions & { expectNoChanges?: boolean } = {}): Promise<ExecResult> {
    const flags = options.expectNoChanges ? ["--expect-no-changes"] : [];
    return this.pulumi(["refresh", "--yes", "--skip-preview", ...flags, ...this.stackArgs()], {
      timeoutMs: 120_000,
      ...options,
    });
  }

  destroy(options: ExecOptions = {}, flags: readonly string[] = []): Promise<ExecResult> {
    return this.pulumi(["destroy", "--yes", "--skip-preview", ...this.stackArgs(), ...flags], {
      timeoutMs: 300_000,
      ...options,
    });
  }

  /** Drops a lock that a killed CLI left behind. */
  cancel(): Promise<ExecResult> {
    return this.pulumi(["cancel", "--yes", this.options.stack], { allowFailure: true });
  }

  async outputs(): Promise<Record<string, unknown>> {
    const { stdout } = await this.pulumi(["stack", "output", "--json", "--show-secrets", ...this.stackArgs()]);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  /** Forgets the stack and its settings file; it must have been destroyed, or its resources are abandoned. */
  async remove(): Promise<void> {
    await this.pulumi(["stack", "rm", "--yes", "--force", this.options.stack], { allowFailure: true });
    rmSync(path.join(this.options.project, `Pulumi.${this.options.stack}.yaml`), { force: true });
  }

  /** The whole state as the backend holds it, secrets encrypted. */
  async exportState(): Promise<string> {
    return (await this.pulumi(["stack", "export", ...this.stackArgs()])).stdout;
  }

  /** Whether the CLI was killed while it changed something, of which the state does not know how it ended. */
  async hasPendingOperations(): Promise<boolean> {
    const { deployment } = JSON.parse(await this.exportState()) as { deployment: { pending_operations?: unknown[] } };
    return (deployment.pending_operations ?? []).length > 0;
  }

  /** The command line and surroundings for tests that must start, signal and kill the CLI themselves. */
  command(args: readonly string[]): { program: string; args: string[]; env: NodeJS.ProcessEnv; cwd: string } {
    return {
      program: this.program,
      args: [...this.globalArgs(), ...args, ...this.stackArgs()],
      env: this.env,
      cwd: this.options.project,
    };
  }

  pulumi(args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return exec(this.program, [...this.globalArgs(), ...args], {
      cwd: this.options.project,
      env: this.env,
      timeoutMs: 60_000,
      ...options,
    });
  }

  private get program(): string {
    return path.join(this.options.binFolder, "pulumi");
  }

  private globalArgs(): string[] {
    return ["--non-interactive", "--color", "never"];
  }

  private stackArgs(): string[] {
    return ["--stack", this.options.stack];
  }
}
