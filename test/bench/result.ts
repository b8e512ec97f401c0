/** One figure: what was measured, and what we hold ourselves to. */
export interface Result {
  name: string;
  value: number;
  unit: string;
  /** Such as "<= 8"; absent for figures that only inform. */
  goal?: string;
  /** Whether the goal was met; true where there is none. */
  ok: boolean;
}

/** A figure with an upper bound, in its own unit. */
export function atMost(name: string, value: number, unit: string, bound: number): Result {
  return { name, value: rounded(value), unit, goal: `<= ${rounded(bound)}`, ok: value <= bound };
}

/** A figure with a lower bound, in its own unit. */
export function atLeast(name: string, value: number, unit: string, bound: number): Result {
  return { name, value: rounded(value), unit, goal: `>= ${rounded(bound)}`, ok: value >= bound };
}

/** A figure for orientation. */
export function figure(name: string, value: number, unit: string): Result {
  return { name, value: rounded(value), unit, ok: true };
}

export function printTable(results: readonly Result[]): void {
  const cells = results.map(({ name, value, unit, goal, ok }) => [
    name,
    `${value} ${unit}`,
    goal ?? "",
    goal ? (ok ? "met" : "NOT MET") : "",
  ]);
  const rows = [["figure", "value", "goal", ""], ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

/** The middle of several measurements; they must not be empty. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("no measurements");
  return middle;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
