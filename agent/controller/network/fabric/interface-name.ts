import { randomInt } from "node:crypto";

const CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

/** "liqo." and ten random characters: the longest name that Linux allows; CNIs are told to leave `liqo.*` alone. */
export function newInterfaceName(): string {
  return `liqo.${Array.from({ length: 10 }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join("")}`;
}
