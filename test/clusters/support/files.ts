import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Where built and downloaded programs and images are kept, by version: $PULUMI_LIQO_CACHE or the user's cache folder. */
export function cacheFolder(): string {
  return process.env.PULUMI_LIQO_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "pulumi-liqo");
}

/** Where the records of running clusters are kept: $PULUMI_LIQO_STATE or the user's state folder. */
export function stateFolder(): string {
  return (
    process.env.PULUMI_LIQO_STATE ?? join(process.env.XDG_STATE_HOME ?? join(homedir(), ".local/state"), "pulumi-liqo")
  );
}

/** Writes a file so that a reader, or a run that is ended halfway, never sees a part of it. */
export function writeAtomically(path: string, content: string, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, content, { mode });
  renameSync(temporary, path);
}

/** Reads a JSON file written by this program; undefined when there is none. */
export function readJson<T>(path: string): T | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : undefined;
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** SHA-256 of a file's content, read as a stream. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
