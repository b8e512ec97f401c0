import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { slimKubernetesClient } from "./slim-kubernetes-client.js";
import { slimPulumiRuntime } from "./slim-pulumi-runtime.js";
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
  plugins: [slimKubernetesClient, slimPulumiRuntime, slimZod],
};

const EXECUTABLE = 0o755;

/** The agent's roles; each is started by `agent/ROLE/main.ts`. */
const AGENT_ROLES = ["controller", "fabric", "gateway", "proxy", "uninstall-guard", "virtual-node"] as const;

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

/**
 * Writes what differs from what is there, each file in one step: processes that start meanwhile, and builds under way at the
 * same time, see whole files.
 */
async function bundle(options: BuildOptions, mode = 0o644): Promise<void> {
  const { outputFiles } = await build({ ...COMMON, ...options, write: false });
  await Promise.all(outputFiles.map(({ path: file, contents }) => writeChanged(file, contents, mode)));
}

async function writeChanged(file: string, contents: Uint8Array, mode: number): Promise<void> {
  const present = await readFile(file).catch(() => undefined);
  if (present?.equals(contents)) return;
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, contents, { mode });
  await rename(temporary, file);
}

const writePackage = (folder: string): Promise<void> =>
  writeChanged(path.join(folder, "package.json"), Buffer.from('{ "type": "commonjs" }\n'), 0o644);

/** Another version of the package than the one that package.json names, and where it goes: for tests of upgrades. */
export interface ProviderBuild {
  version?: string;
  folder?: string;
}

const asVersion = (version: string): Plugin => ({
  name: "as-version",
  setup(build) {
    build.onLoad({ filter: /package\.json$/ }, async ({ path: file }) => {
      if (file !== path.join(root, "package.json")) return undefined;
      const manifest = JSON.parse(await readFile(file, "utf8")) as object;
      return { contents: JSON.stringify({ ...manifest, version }), loader: "json" };
    });
  },
});

/** Bundles the agent, into one file for what starts it and one for each role. Returns their paths. */
export async function buildAgentBundle(): Promise<string[]> {
  const outdir = path.join(root, "dist", "agent");
  const roles = AGENT_ROLES.map((role) => [role, `agent/${role}/main.ts`] as const);
  await bundle({
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
export async function buildProvider({
  version,
  folder = path.join(root, "dist", "provider"),
}: ProviderBuild = {}): Promise<string> {
  await bundle({
    entryPoints: ["provider/main.ts"],
    outfile: path.join(folder, "provider.cjs"),
    external: ["typescript", "ts-node"],
    ...(version === undefined ? {} : { plugins: [...(COMMON.plugins ?? []), asVersion(version)] }),
  });
  await buildLauncher(folder);
  return folder;
}

/** In MiB: three times V8's own beginning, as the plugin collects half as often then. It does not grow from there (provider/launcher.ts). */
const YOUNG_GENERATION = "--min-semi-space-size=3";

/**
 * The first lines of the executable are a shell's and JavaScript's at once: a string, and a comment to the one, commands to
 * the other. So whoever has no Node.js reads what is needed, not what the system says of a missing interpreter.
 */
const LAUNCHER_BANNER = `#!/bin/sh
":" //; command -v node >/dev/null || { echo "pulumi-resource-liqo: there is no node on PATH; install Node.js 20.19 or later" >&2; exit 1; }
":" //; exec node ${YOUNG_GENERATION} "$0" "$@"`;

/** The executable has no extension: the file beside it says that it is CommonJS. */
async function buildLauncher(folder: string): Promise<void> {
  const digest = createHash("sha256")
    .update(await readFile(path.join(folder, "provider.cjs")))
    .digest("hex")
    .slice(0, 16);
  for (const entry of await readdir(folder)) {
    if (entry.endsWith(".cache") && !entry.includes(digest)) await rm(path.join(folder, entry), { force: true });
  }
  const executable = path.join(folder, "pulumi-resource-liqo");
  const options = {
    entryPoints: ["provider/launcher.ts"],
    outfile: executable,
    banner: { js: LAUNCHER_BANNER },
    define: { BUNDLE_DIGEST: JSON.stringify(digest) },
  };
  await bundle(options, EXECUTABLE);
  await writePackage(folder);
  // The CLI takes a schema that it has kept for out of date when this is newer.
  await utimes(folder, new Date(), new Date());
}

/** Bundles the command line; returns its executable. */
export async function buildCli(): Promise<string> {
  const folder = path.join(root, "dist", "cli");
  const executable = path.join(folder, "pulumi-liqo");
  await bundle(
    { entryPoints: ["cli/main.ts"], outfile: executable, banner: { js: "#!/usr/bin/env node" } },
    EXECUTABLE,
  );
  await writePackage(folder);
  return executable;
}

const PARTS = { agent: buildAgentBundle, provider: buildProvider, cli: buildCli };

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const only = process.argv.indexOf("--only");
  const wanted = only < 0 ? Object.keys(PARTS) : process.argv.slice(only + 1);
  const parts = Object.entries(PARTS).filter(([name]) => wanted.includes(name));
  await Promise.all(parts.map(([, make]) => make()));
}
