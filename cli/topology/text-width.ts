/** Widths in em of a sans-serif type, on the wide side, as the reader's is not known. */
const NARROW = new Set("iljtfrI.,:;|'!/()[] -");
const WIDE = new Set("mwMW%@");

/** About how wide a text will be, in the unit of the size. */
export function textWidth(text: string, size: number): number {
  return [...text].reduce((sum, character) => sum + emOf(character), 0) * size;
}

function emOf(character: string): number {
  if (NARROW.has(character)) return 0.38;
  if (WIDE.has(character)) return 0.95;
  return /[A-Z]/.test(character) ? 0.74 : 0.62;
}

/** A text cut to a width, with an ellipsis in the place of what is missing. */
export function fitted(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text;
  const characters = [...text];
  let kept = characters.length - 1;
  while (kept > 1 && textWidth(`${characters.slice(0, kept).join("")}…`, size) > width) kept -= 1;
  return `${characters.slice(0, kept).join("")}…`;
}

/** A name over at most `lines` lines, broken after "-" or "." where that is possible; what is left over is cut. */
export function wrapped(text: string, size: number, width: number, lines: number): string[] {
  if (lines <= 1 || textWidth(text, size) <= width) return [fitted(text, size, width)];
  const characters = [...text];
  let fit = characters.length;
  while (fit > 1 && textWidth(characters.slice(0, fit).join(""), size) > width) fit -= 1;
  const head = characters.slice(0, fit).join("");
  const at = Math.max(head.lastIndexOf("-"), head.lastIndexOf("."), head.lastIndexOf(" "));
  const cut = at > head.length / 3 ? at + 1 : head.length;
  return [head.slice(0, cut).trimEnd(), ...wrapped(text.slice(cut).trimStart(), size, width, lines - 1)];
}
