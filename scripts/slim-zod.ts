import type { Plugin } from "esbuild";

/** Leaves zod's translations of messages out of a bundle: English is built in, and reading fifty other languages costs at each start. */
export const slimZod: Plugin = {
  name: "slim-zod",
  setup(build) {
    build.onResolve({ filter: /locales\/index\.js$/ }, (args) =>
      /[\\/]zod[\\/]v4[\\/]/.test(args.importer) ? { path: "locales", namespace: "no-locales" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "no-locales" }, () => ({ contents: "export {};" }));
  },
};
