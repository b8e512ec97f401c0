import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

let folder: string | undefined;

/** Where the API servers of this run's clusters write who asked for what; gone when the run ends. */
export function auditFolder(): string {
  if (folder) return folder;
  const made = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-audit-"));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  return (folder = made);
}

/** Clusters that have been told of in this run. */
export function auditedClusters(): string[] {
  return readdirSync(auditFolder())
    .filter((file) => file.endsWith(".log"))
    .map((file) => path.basename(file, ".log"));
}
