import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { ClusterSpec } from "../clusters/index.js";
import { prepareLab, type Lab } from "./lab.js";

/** In the environment: Node loads some test files as modules of the one kind and some of the other, each with a copy of this one. */
const FOLDER = "PULUMI_LIQO_AUDIT_FOLDER";

/** Where the API servers of this run's clusters write who asked for what; gone when the run ends. Name one in the environment to keep it. */
export function auditFolder(): string {
  const present = process.env[FOLDER];
  if (present) return present;
  const made = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-audit-"));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  return (process.env[FOLDER] = made);
}

/** A lab whose API servers write down who asked for what, which is no small part of their work: for tests that nobody times. */
export function prepareAuditedLab(specs: readonly ClusterSpec[]): Promise<Lab> {
  return prepareLab(specs, { auditFolder: auditFolder() });
}

/** Clusters that have been told of in this run. */
export function auditedClusters(): string[] {
  return readdirSync(auditFolder())
    .filter((file) => file.endsWith(".log"))
    .map((file) => path.basename(file, ".log"));
}
