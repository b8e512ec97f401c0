import { padTo, widthOf } from "./style.js";

/** Columns side by side, each as wide as its widest cell; two blanks between them, none at the end. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ""))),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => padTo(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

export function indent(lines: readonly string[], by = "  "): string[] {
  return lines.map((line) => (line === "" ? line : by + line));
}
