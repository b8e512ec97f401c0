import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run, tryRun } from "./exec.js";
import { cacheFolder } from "./files.js";
import { withLock } from "./lock.js";
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
  const missing = () => programs.filter((item) => which(item.program, item.folders) === undefined);
  if (missing().length === 0) return;
  await oneAtATime(async () => {
    // Somebody else may have installed them meanwhile.
    const items = missing();
    if (items.length === 0) return;
    const names = items.map((item) => item.program).join(", ");
    const packages = [...new Set(items.map((item) => item.package))];
    await install(packages, `Not installed: ${names}.`, progress);
  });
}

/** Installs Debian packages as root, else tells exactly what to install; `reason` is the sentence before that. */
export function installPackages(packages: readonly string[], reason: string, progress: Progress): Promise<void> {
  return oneAtATime(() => install(packages, reason, progress));
}

/** Two at once refuse each other. */
function oneAtATime(work: () => Promise<void>): Promise<void> {
  return withLock(join(cacheFolder(), "packages.lock"), "Debian packages", work);
}

async function install(packages: readonly string[], reason: string, progress: Progress): Promise<void> {
  const apt = which("apt-get");
  if (!apt || process.getuid?.() !== 0) {
    throw new Error(
      `${reason} Install what is missing (on Debian or Ubuntu: sudo apt-get install -y ${packages.join(" ")}) and try again.`,
    );
  }
  await progress.step(`installing ${packages.join(", ")}`, () => runApt(apt, packages), true);
}

/** For whatever else on the machine installs packages just now. */
const APT_LOCK_SECONDS = 300;

async function runApt(apt: string, packages: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // A failed update is no reason to stop: the lists at hand may well do.
  await tryRun(apt, ["update", "-q"], { env });
  const patience = ["-o", `DPkg::Lock::Timeout=${APT_LOCK_SECONDS}`];
  await run(apt, [...patience, "install", "-y", "-q", "--no-install-recommends", ...packages], { env });
}
