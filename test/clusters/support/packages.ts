import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run, tryRun } from "./exec.js";
import type { Progress } from "./progress.js";

/** A program that comes from a Debian package, and where it is looked for. */
export interface SystemProgram {
  program: string;
  package: string;
  /** Found here when not on PATH. */
  folders?: readonly string[];
}

const SYSTEM_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** The full path of a program, from PATH, the system's folders or those given; undefined when it is not installed. */
export function which(program: string, folders: readonly string[] = []): string | undefined {
  return [...(process.env.PATH ?? "").split(delimiter), ...SYSTEM_FOLDERS, ...folders]
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
}

/** Makes sure that programs are installed: from Debian packages as root, else by telling exactly what is missing. */
export async function ensurePrograms(programs: readonly SystemProgram[], progress: Progress): Promise<void> {
  const missing = programs.filter((item) => which(item.program, item.folders) === undefined);
  if (missing.length === 0) return;
  const names = missing.map((item) => item.program).join(", ");
  const packages = [...new Set(missing.map((item) => item.package))];
  await installPackages(packages, `Not installed: ${names}.`, progress);
}

/** Installs Debian packages as root, else tells exactly what to install; `reason` is the sentence before that. */
export async function installPackages(packages: readonly string[], reason: string, progress: Progress): Promise<void> {
  const apt = which("apt-get");
  if (!apt || process.getuid?.() !== 0) {
    throw new Error(
      `${reason} Install what is missing (on Debian or Ubuntu: sudo apt-get install -y ${packages.join(" ")}) and try again.`,
    );
  }
  await progress.step(`installing ${packages.join(", ")}`, () => install(apt, packages), true);
}

async function install(apt: string, packages: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // A failed update is no reason to stop: the lists at hand may well do.
  await tryRun(apt, ["update", "-q"], { env });
  await run(apt, ["install", "-y", "-q", "--no-install-recommends", ...packages], { env });
}
