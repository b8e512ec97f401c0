import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { helmChart } from "../../../cli/helm/chart.js";

/** Cold, helm is built from its module. */
export const HELM_LIMIT_MS = 15 * 60_000;

/** Writes the agent's Helm chart into a folder; returns its files by their paths there. */
export function writeChart(folder: string): Map<string, string> {
  const files = helmChart();
  for (const [name, text] of files) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return files;
}
