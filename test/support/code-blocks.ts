import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "../languages/toolchain.js";

/** A fenced block of a page. */
export interface CodeBlock {
  /** Path below the repository. */
  page: string;
  /** Of its first line, from 1. */
  line: number;
  /** The word behind the fence; "" where there is none. */
  language: string;
  text: string;
}

/** The pages that people write and read; those of the SDKs are their generators'. */
export function pages(): string[] {
  const below = (folder: string): string[] =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
      .map((name) => path.join(folder, name));
  return ["README.md", "CONTRIBUTING.md", ...below("docs").sort(), ...below("examples").sort()];
}

/** Every fenced block of these pages. */
export function codeBlocks(): CodeBlock[] {
  return pages().flatMap((page) => blocksIn(page, readFileSync(path.join(REPOSITORY, page), "utf8")));
}

/** @throws Error when a fence is not closed */
export function blocksIn(page: string, text: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { fence: string; indent: number; block: CodeBlock; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const [, indent = "", fence = "", language = ""] = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(line) ?? [];
    if (!open && fence) {
      open = { fence, indent: indent.length, block: { page, line: index + 2, language, text: "" }, lines: [] };
    } else if (open && fence === open.fence && !language) {
      blocks.push({ ...open.block, text: open.lines.map((one) => `${one}\n`).join("") });
      open = undefined;
    } else open?.lines.push(line.slice(Math.min(open.indent, line.length)));
  }
  if (open) throw new Error(`${page}:${open.block.line - 1}: the block is not closed`);
  return blocks;
}
