import path from "node:path";
import type { Plugin } from "esbuild";

/**
 * Of the Kubernetes client library only its kubeconfig loader is used, yet that pulls in a class for every kind of object: megabytes to read
 * at each start. This takes the loader alone, and leaves out what it would make API classes with.
 */
export const slimKubernetesClient: Plugin = {
  name: "slim-kubernetes-client",
  setup(build) {
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, async (args) => {
      if (args.pluginData === RESOLVED) return undefined;
      const whole = await build.resolve(args.path, {
        kind: args.kind,
        resolveDir: args.resolveDir,
        importer: args.importer,
        pluginData: RESOLVED,
      });
      return { path: path.join(path.dirname(whole.path), "config.js"), namespace: "when-used" };
    });
    // The loader brings what every way to authenticate needs. It is read when a kubeconfig is, which most of the agent's processes never do.
    build.onLoad({ filter: /.*/, namespace: "when-used" }, (args) => ({
      contents: `module.exports = { get KubeConfig() { return require(${JSON.stringify(args.path)}).KubeConfig; } };`,
      resolveDir: path.dirname(args.path),
    }));
    build.onResolve({ filter: /^\.\/gen\/index\.js$/ }, (args) =>
      /client-node[\\/]dist[\\/]config\.js$/.test(args.importer)
        ? { path: "api-classes", namespace: "left-out" }
        : undefined,
    );
    // For one class that Node has itself it would bring tables of every character set and domain name.
    build.onResolve({ filter: /^node-fetch$/ }, (args) =>
      /client-node[\\/]dist[\\/]config\.js$/.test(args.importer)
        ? { path: "headers", namespace: "built-in" }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "built-in" }, () => ({
      // Node reads its own when it is first used.
      contents: "export class Headers { constructor(...given) { return new globalThis.Headers(...given); } }",
    }));
    build.onLoad({ filter: /.*/, namespace: "left-out" }, () => ({
      contents:
        'const absent = () => { throw new Error("API classes are left out of this bundle"); };\nexport { absent as createConfiguration };\nexport class ServerConfiguration { constructor() { absent(); } }',
    }));
  },
};

const RESOLVED = Symbol("resolved");
