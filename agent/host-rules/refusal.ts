import type { CommandError } from "../net/index.js";

/** Why nft or ip refused what it was told, in its own words. */
export function refusalText({ standardError, message }: CommandError): string {
  const [first = message] = standardError
    .split("\n")
    .map((line) => line.replace(/^\S*: ?(RTNETLINK answers|Error): /, "").trim())
    .filter((line) => line !== "");
  return `refused: ${first}`;
}
