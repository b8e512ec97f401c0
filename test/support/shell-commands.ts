/** A command of a shell block, as far as documentation needs it. */
export interface ShellCommand {
  /** Without quotes; what a shell would put in place of a variable or a substitution stays as it is written. */
  words: string[];
  /** The block's line, from 0. */
  line: number;
}

/** The commands of a block: without comments, joined over lines that end in a backslash, and those of a pipe or a list apart. */
export function shellCommands(text: string): ShellCommand[] {
  const commands: ShellCommand[] = [];
  let [joined, begin] = ["", 0];
  for (const [index, line] of text.split("\n").entries()) {
    if (joined === "") begin = index;
    joined += line.replace(/\\$/, " ");
    if (line.endsWith("\\")) continue;
    for (const words of split(joined)) commands.push({ words, line: begin });
    joined = "";
  }
  return commands;
}

/** A word in quotes or brackets is one; `#` begins a comment where a word could begin. */
const TOKEN = /\$\([^)]*\)|"(?:[^"\\]|\\.)*"|'[^']*'|&&|\|\||[|;]|[^\s"'|;]/y;

function split(line: string): string[][] {
  const commands: string[][] = [[]];
  let [word, position] = [undefined as string | undefined, 0];
  const finish = (): void => {
    if (word !== undefined) commands.at(-1)?.push(word);
    word = undefined;
  };
  while (position < line.length) {
    if (/\s/.test(line[position] ?? "")) {
      finish();
      position += 1;
      continue;
    }
    if (line[position] === "#" && word === undefined) break;
    TOKEN.lastIndex = position;
    const [token = line[position] ?? ""] = TOKEN.exec(line) ?? [];
    position += token.length;
    if (["&&", "||", "|", ";"].includes(token)) {
      finish();
      commands.push([]);
    } else word = (word ?? "") + (/^["']/.test(token) ? token.slice(1, -1) : token);
  }
  finish();
  return commands.filter((words) => words.length > 0);
}
