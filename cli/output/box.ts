import { padTo, widthOf, type Style } from "./style.js";

/** Lines under a title, in a frame. */
export interface Section {
  title: string;
  lines: readonly string[];
}

/** Frames below each other, equally wide: as the widest line of all of them needs it. */
export function boxes(sections: readonly Section[], style: Style): string {
  const widths = sections.flatMap(({ title, lines }) => [widthOf(title) + 2, ...lines.map(widthOf)]);
  const width = Math.max(...widths);
  return sections.map((section) => box(section, width, style).join("\n")).join("\n");
}

function box({ title, lines }: Section, width: number, style: Style): string[] {
  const bar = style.dim("│");
  const rest = "─".repeat(width - widthOf(title) - 1);
  return [
    `${style.dim("┌─")} ${style.bold(title)} ${style.dim(`${rest}┐`)}`,
    ...lines.map((line) => `${bar} ${padTo(line, width)} ${bar}`),
    style.dim(`└${"─".repeat(width + 2)}┘`),
  ];
}

/** Text in lines no longer than that, broken between words; a longer word has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const last = lines.length - 1;
    const longer = `${lines[last]} ${word}`.trimStart();
    if (lines[last] && widthOf(longer) > width) lines.push(word);
    else lines[last] = longer;
  }
  return lines;
}
