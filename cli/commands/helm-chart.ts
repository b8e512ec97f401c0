import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { helmChart } from "../helm/chart.js";
import type { Terminal } from "../terminal.js";

/** Writes the chart's files; those that are there are replaced. */
export async function writeChart(terminal: Terminal, folder: string): Promise<void> {
  const files = helmChart();
  for (const [name, text] of files) {
    const file = path.resolve(terminal.folder, folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  terminal.error(`written: a chart of ${files.size} files in ${folder}\n`);
}
