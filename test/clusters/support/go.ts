import { which } from "./packages.js";

/** Go's compiler. Throws `why` it is needed, and what to install, where there is none. */
export function requireGo(why: string, version: "1.24" | "1.26"): string {
  const go = which("go", ["/usr/local/go/bin"]);
  if (go === undefined) throw new Error(`${why}: install Go ${version} or later (https://go.dev/dl/)`);
  return go;
}
