import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { run, tryRun } from "../support/exec.js";

/** The folders of a merged-/usr system, so that programs and libraries are found under both of their paths. */
export function createRoot(root: string): void {
  for (const folder of ["usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "proc", "sys", "dev", "run", "var"]) {
    mkdirSync(join(root, folder), { recursive: true, mode: 0o755 });
  }
  mkdirSync(join(root, "tmp"), { mode: 0o777 });
  for (const folder of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${folder}`, join(root, folder));
  symlinkSync("../run", join(root, "var/run"));
}

/** Copies a file of this machine to the same path (or `target`) below the root; links are followed. */
export async function copyFile(root: string, path: string, target = path): Promise<void> {
  const destination = join(root, target);
  if (existsSync(destination)) return;
  mkdirSync(dirname(destination), { recursive: true, mode: 0o755 });
  await run("cp", ["-L", "--preserve=mode", path, destination]);
}

/** Copies a program or library and every shared library it is linked with. */
export async function copyProgram(root: string, path: string, target = path): Promise<void> {
  await copyFile(root, path, target);
  for (const library of await libraries(path)) await copyFile(root, library);
}

/** Paths of the shared libraries of a program, the loader included; none for a static one. */
async function libraries(path: string): Promise<string[]> {
  const answer = await tryRun("ldd", [path]);
  if (answer.code !== 0) return [];
  return [...answer.stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? "");
}
