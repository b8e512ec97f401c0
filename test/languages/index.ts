import type { Progress } from "../clusters/support/progress.js";

/** How the check of a language ended; what is not at hand and cannot be installed is told, and never counts as passed. */
export type Outcome = { checked: true } | { checked: false; why: string };

/**
 * Checks the SDK of a language and its example with the language's own toolchain, which it installs where that is possible.
 *
 * @throws Error with the toolchain's output when it finds fault
 */
export type LanguageCheck = (progress: Progress) => Promise<Outcome>;
