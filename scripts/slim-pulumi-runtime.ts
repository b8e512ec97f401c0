import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

const LOG = /@pulumi[\\/]pulumi[\\/]log[\\/]index\.js$/;
const DEBUGGABLE = /@pulumi[\\/]pulumi[\\/]runtime[\\/]debuggable\.js$/;
/** Where both are used. */
const REGISTRATION = /@pulumi[\\/]pulumi[\\/]runtime[\\/]resource\.js$/;

/**
 * Leaves out of the SDK's runtime what it does for those who debug it, which components of a large program would spend most of their time on: for every
 * resource a handful of debug lines, each sent to the engine once the one before has been answered, whichever component it came from; and for
 * every promise the stack that made it. The engine tells by itself, at the same level, what is registered with it.
 */
export const slimPulumiRuntime: Plugin = {
  name: "slim-pulumi-runtime",
  setup(build) {
    const seen = new Set<RegExp>();
    build.onLoad({ filter: REGISTRATION }, () => {
      seen.add(REGISTRATION);
      return undefined;
    });
    build.onLoad({ filter: LOG }, async ({ path }) => {
      seen.add(LOG);
      return { contents: `${await readFile(path, "utf8")}\nexports.debug = () => Promise.resolve();\n` };
    });
    build.onLoad({ filter: DEBUGGABLE }, () => {
      seen.add(DEBUGGABLE);
      return { contents: PLAIN_PROMISES };
    });
    build.onEnd(() => {
      const isMissed = seen.has(REGISTRATION) && !(seen.has(LOG) && seen.has(DEBUGGABLE));
      return isMissed
        ? { errors: [{ text: "the SDK's runtime is not where slim-pulumi-runtime looks for it" }] }
        : undefined;
    });
  },
};

/** The module's functions, as they are for who debugs nothing. */
const PLAIN_PROMISES = `
  exports.debugPromiseLeaks = false;
  exports.debuggablePromise = (promise) => promise;
  exports.leakedPromises = () => [new Set(), ""];
  exports.promiseDebugString = String;
  exports.errorString = (error) => error.stack ?? String(error);
`;
