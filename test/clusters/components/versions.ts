import { readFileSync } from "node:fs";

export const GO_MOD = new URL("./go.mod", import.meta.url).pathname;
export const GO_SUM = new URL("./go.sum", import.meta.url).pathname;

/** Version of each module that go.mod requires directly; the only place where component versions are written. */
export function pinnedVersions(content: string = readFileSync(GO_MOD, "utf8")): Map<string, string> {
  const versions = new Map<string, string>();
  for (const line of content.split("\n")) {
    const match = /^\s*(?:require\s+)?(\S+\.\S+\/\S+)\s+(v\S+)\s*$/.exec(line);
    if (match?.[1] && match[2]) versions.set(match[1], match[2]);
  }
  return versions;
}

/** The pinned version of one module. */
export function pinnedVersion(module: string): string {
  const version = pinnedVersions().get(module);
  if (!version) throw new Error(`${GO_MOD} does not require ${module}`);
  return version;
}

/** Compares `v1.2.3`-like versions by their numbers; a pre-release part is ignored. */
export function compareVersions(a: string, b: string): number {
  const left = numbers(a);
  const right = numbers(b);
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function numbers(version: string): number[] {
  return version
    .replace(/^v/, "")
    .split(/[-+]/, 1)
    .flatMap((core) => core.split(".").map(Number));
}
