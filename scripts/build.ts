import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { slimKubernetesClient } from "./slim-kubernetes-client.js";
import { slimZod } from "./slim-zod.js";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

const COMMON: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  sourcemap: false,
  minifySyntax: true,
  minifyWhitespace: true,
  // Names stay readable in the rare trace that a developer asks for.
  keepNames: true,
  legalComments: "none",
  logLevel: "warning",
  plugins: [slimKubernetesClient, slimZod],
};

/** The agent's roles; each is started by `agent/ROLE/main.ts`. */
const AGENT_ROLES = ["controller", "fabric", "gateway", "proxy", "virtual-node"] as const;

/** Leaves the roles out of the bundle that starts them: they are files beside it. A process of a few megabytes would pay for the text of all. */
const rolesApart: Plugin = {
  name: "roles-apart",
  setup(build) {
    build.onResolve({ filter: /^\.\/[a-z-]+\/main\.js$/ }, ({ path: imported, importer }) =>
      importer === path.join(root, "agent/main.ts")
        ? { path: `${path.dirname(imported)}.cjs`, external: true }
        : undefined,
    );
  },
};

/** Bundles the agent, into one file for what starts it and one for each role. Returns their paths. */
export async function buildAgentBundle(): Promise<string[]> {
  const outdir = path.join(root, "dist", "agent");
  const roles = AGENT_ROLES.map((role) => [role, `agent/${role}/main.ts`] as const);
  await build({
    ...COMMON,
    entryPoints: { agent: "agent/main.ts", ...Object.fromEntries(roles) },
    outdir,
    outExtension: { ".js": ".cjs" },
    // Roles are loaded by require: Node's loader of modules alone takes as much memory as a small role.
    supported: { "dynamic-import": false },
    plugins: [...(COMMON.plugins ?? []), rolesApart],
  });
  return ["agent", ...AGENT_ROLES].map((name) => path.join(outdir, `${name}.cjs`));
}

/** Bundles the provider and puts the executable that the engine starts beside it; returns the folder that Pulumi.yaml names. */
export async function buildProvider(): Promise<string> {
  const folder = path.join(root, "dist", "provider");
  await mkdir(folder, { recursive: true });
  await build({
    ...COMMON,
    entryPoints: ["provider/main.ts"],
    outfile: path.join(folder, "provider.cjs"),
    external: ["typescript", "ts-node"],
  });
  await buildLauncher(folder);
  return folder;
}

/**
 * The first lines of the executable are a shell's and JavaScript's at once: a string, and a comment to the one, commands to
 * the other. So whoever has no Node.js reads what is needed, not what the system says of a missing interpreter.
 */
const LAUNCHER_BANNER = `#!/bin/sh
":" //; command -v node >/dev/null || { echo "pulumi-resource-liqo: there is no node on PATH; install Node.js 20.19 or later" >&2; exit 1; }
":" //; exec node "$0" "$@"`;

/** The executable has no extension: the file beside it says that it is CommonJS. */
async function buildLauncher(folder: string): Promise<void> {
  const digest = createHash("sha256")
    .update(await readFile(path.join(folder, "provider.cjs")))
    .digest("hex")
    .slice(0, 16);
  for (const entry of await readdir(folder)) {
    if (entry.endsWith(".cache") && !entry.includes(digest)) await rm(path.join(folder, entry));
  }
  const executable = path.join(folder, "pulumi-resource-liqo");
  await build({
    ...COMMON,
    entryPoints: ["provider/launcher.ts"],
    outfile: executable,
    banner: { js: LAUNCHER_BANNER },
    define: { BUNDLE_DIGEST: JSON.stringify(digest) },
  });
  await chmod(executable, 0o755);
  await writeFile(path.join(folder, "package.json"), '{ "type": "commonjs" }\n');
  // The CLI takes a schema that it has kept for out of date when this is newer.
  await utimes(folder, new Date(), new Date());
}

/** Bundles the command line; returns its executable. */
export async function buildCli(): Promise<string> {
  const folder = path.join(root, "dist", "cli");
  const executable = path.join(folder, "pulumi-liqo");
  await build({
    ...COMMON,
    entryPoints: ["cli/main.ts"],
    outfile: executable,
    banner: { js: "#!/usr/bin/env node" },
  });
  await chmod(executable, 0o755);
  await writeFile(path.join(folder, "package.json"), '{ "type": "commonjs" }\n');
  return executable;
}

const PARTS = { agent: buildAgentBundle, provider: buildProvider, cli: buildCli };

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const only = process.argv.indexOf("--only");
  const wanted = only < 0 ? Object.keys(PARTS) : process.argv.slice(only + 1);
  const parts = Object.entries(PARTS).filter(([name]) => wanted.includes(name));
  await Promise.all(parts.map(([, make]) => make()));
}
