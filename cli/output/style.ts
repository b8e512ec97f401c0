/** How parts of a text stand out, where a person looks at it. */
export type Style = Record<"bold" | "dim" | "good" | "bad", (text: string) => string>;

const ESCAPE = String.fromCharCode(27);
const plain = (text: string): string => text;
const code = (start: number, end: number) => (text: string) => `${ESCAPE}[${start}m${text}${ESCAPE}[${end}m`;

/** NO_COLOR (https://no-color.org) turns colours off. */
export function styleFor({ isInteractive, env }: { isInteractive: boolean; env: NodeJS.ProcessEnv }): Style {
  if (!isInteractive || env["NO_COLOR"] || env["TERM"] === "dumb") {
    return { bold: plain, dim: plain, good: plain, bad: plain };
  }
  return { bold: code(1, 22), dim: code(2, 22), good: code(32, 39), bad: code(31, 39) };
}

const ESCAPES = new RegExp(`${ESCAPE}\\[[0-9;]*m`, "g");

/** How many columns a text takes; colours take none. */
export function widthOf(text: string): number {
  return [...text.replace(ESCAPES, "")].length;
}

export function padTo(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}
