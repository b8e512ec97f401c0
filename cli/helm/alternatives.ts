/** A line of a template, and the conditions that must hold for it to be there. */
export interface ConditionalLine {
  text: string;
  conditions: string[];
}

/**
 * Marks what two forms of a text differ in: lines that only the first has are there on the condition, lines that only the second has on its
 * opposite. Lines that were marked before keep their marks.
 *
 * @param same the form in which lines of the first are compared
 */
export function markDifferences(
  lines: readonly ConditionalLine[],
  other: readonly string[],
  condition: string,
  same: (line: string) => string,
): ConditionalLine[] {
  const own = lines.filter(({ conditions }) => !conditions.some((one) => one.startsWith("not ")));
  const common = commonLines(
    own.map(({ text }) => same(text)),
    other,
  );
  const result: ConditionalLine[] = [];
  let [position, next] = [0, 0];
  const insertUntil = (end: number): void => {
    for (; next < end; next += 1) result.push({ text: other[next] ?? "", conditions: [`not (${condition})`] });
  };
  for (const line of lines) {
    if (!own.includes(line)) {
      result.push(line);
      continue;
    }
    const match = common.get(position);
    if (match === undefined) result.push({ ...line, conditions: [...line.conditions, condition] });
    else {
      insertUntil(match);
      result.push(line);
      next = match + 1;
    }
    position += 1;
  }
  insertUntil(other.length);
  return result;
}

/** The longest common subsequence, as positions in the second by positions in the first. */
function commonLines(first: readonly string[], second: readonly string[]): Map<number, number> {
  const lengths = Array.from({ length: first.length + 1 }, () => new Uint16Array(second.length + 1));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = first.length - 1; row >= 0; row -= 1) {
    for (let column = second.length - 1; column >= 0; column -= 1) {
      const best =
        first[row] === second[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
      (lengths[row] as Uint16Array)[column] = best;
    }
  }
  const common = new Map<number, number>();
  let [row, column] = [0, 0];
  while (row < first.length && column < second.length) {
    if (first[row] === second[column]) common.set(row++, column++);
    else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return common;
}

/** The lines as a template's text: neighbours of the same conditions in one block. */
export function conditionalText(lines: readonly ConditionalLine[]): string {
  const text: string[] = [];
  let open = "";
  for (const { text: line, conditions } of lines) {
    const wanted = allOf(conditions);
    if (wanted !== open) text.push(...between(open, wanted));
    open = wanted;
    text.push(line);
  }
  return `${[...text, ...between(open, "")].join("\n")}\n`;
}

function allOf(conditions: readonly string[]): string {
  return conditions.length > 1 ? `and ${conditions.map((one) => `(${one})`).join(" ")}` : (conditions[0] ?? "");
}

function between(open: string, wanted: string): string[] {
  if (wanted === `not (${open})`) return ["{{- else }}"];
  return [...(open === "" ? [] : ["{{- end }}"]), ...(wanted === "" ? [] : [`{{- if ${wanted} }}`])];
}
