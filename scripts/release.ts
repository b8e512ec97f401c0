import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { messageOf } from "../agent/runtime/kube-error.js";
import { registry } from "../provider/resources/index.js";
import { packageSchema } from "../provider/schema/package-schema.js";
import { VERSION } from "../provider/version.js";
import { run } from "../test/clusters/support/exec.js";
import { sha256File } from "../test/clusters/support/files.js";
import { buildCli, buildProvider } from "./build.js";
import { generateSdks, WRITTEN_BY_HAND } from "./generate-sdks.js";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** The platforms that the engine asks archives for, by its names. All hold the same files: the plugin runs on Node.js. */
const PLATFORMS = ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"] as const;
const PLUGIN_FILES = ["pulumi-resource-liqo", "provider.cjs", "package.json"] as const;

export interface ReleaseOptions {
  /** Where the files go; default dist/release. What is there is replaced. */
  folder?: string;
  /**
   * Where the archives will be published: the SDKs name it, and the engine downloads the plugin from there by itself.
   * Absent: whoever uses an SDK installs the plugin from its archive.
   */
  server?: string;
}

/** The name by which the engine looks for the plugin on a server. */
export function archiveName(platform: string): string {
  return `pulumi-resource-liqo-v${VERSION}-${platform}.tar.gz`;
}

/**
 * Makes what a release publishes: the plugin's archive for each platform, the npm package, the sources of the other SDKs,
 * and the SHA-256 sums of the files. Returns the folder.
 *
 * @throws Error when the server is no URL that the engine downloads from
 */
export async function release(options: ReleaseOptions = {}): Promise<string> {
  const server = options.server === undefined ? undefined : checkedServer(options.server);
  const folder = options.folder ?? path.join(root, "dist", "release");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all([packPlugin(folder), packSdks(folder, server)]);
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  const sums = await Promise.all(
    files.map(async ({ name }) => `${await sha256File(path.join(folder, name))}  ${name}\n`),
  );
  await writeFile(path.join(folder, "SHA256SUMS"), sums.sort().join(""));
  return folder;
}

function checkedServer(server: string): string {
  if (/^(https?|github|gitlab):\/\/\S+$/.test(server)) return server.replace(/\/+$/, "");
  throw new Error(
    `--server ${server}: the engine downloads plugins from https://, http://, github:// or gitlab:// alone`,
  );
}

async function packPlugin(folder: string): Promise<void> {
  const plugin = await buildProvider();
  // Nobody's files, of no particular time: the same source makes the same archive.
  const anonymous = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=2000-01-01"];
  for (const platform of PLATFORMS) {
    const archive = path.join(folder, archiveName(platform));
    await run("tar", [...anonymous, "-czf", archive, "-C", plugin, ...PLUGIN_FILES]);
  }
}

async function packSdks(folder: string, server: string | undefined): Promise<void> {
  const sdks = path.join(folder, "sdk");
  await writeSdks(sdks, server);
  const staging = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-npm-"));
  try {
    await compileNodejs(path.join(sdks, "nodejs"), staging);
    await addCommandLine(staging);
    await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: staging });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function writeSdks(folder: string, server: string | undefined): Promise<void> {
  const schemaFile = path.join(folder, "schema.json");
  const schema = { ...packageSchema(registry, VERSION), ...(server ? { pluginDownloadURL: server } : {}) };
  await mkdir(folder, { recursive: true });
  await writeFile(schemaFile, `${JSON.stringify(schema, null, 2)}\n`);
  await generateSdks(schemaFile, folder);
  for (const file of WRITTEN_BY_HAND) await cp(path.join(root, "sdk", file), path.join(folder, file));
}

/** Compiles the SDK as users load it, its package.json beside the result: it reads its version from there. */
async function compileNodejs(source: string, folder: string): Promise<void> {
  const project = ts.parseJsonConfigFileContent(
    JSON.parse(await readFile(path.join(source, "tsconfig.json"), "utf8")),
    ts.sys,
    source,
    {
      outDir: folder,
      types: ["node"],
      typeRoots: [path.join(root, "node_modules/@types")],
      skipLibCheck: true,
      baseUrl: root,
      paths: { "@pulumi/*": ["node_modules/@pulumi/*"] },
    },
  );
  const program = ts.createProgram(project.fileNames, project.options);
  const { diagnostics } = program.emit();
  const found = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (found.length > 0) throw new Error(`the Node.js SDK does not compile:\n${formatted(found)}`);
  for (const name of ["package.json", "README.md"]) await cp(path.join(source, name), path.join(folder, name));
}

/** The command `pulumi-liqo` comes with the package: `npx pulumi-liqo`. */
async function addCommandLine(folder: string): Promise<void> {
  const name = "cli/pulumi-liqo";
  await mkdir(path.join(folder, "cli"));
  await cp(await buildCli(), path.join(folder, name));
  const file = path.join(folder, "package.json");
  const manifest = JSON.parse(await readFile(file, "utf8")) as object;
  await writeFile(file, `${JSON.stringify({ ...manifest, bin: { "pulumi-liqo": name } }, null, 2)}\n`);
}

function formatted(diagnostics: readonly ts.Diagnostic[]): string {
  const host = { getCanonicalFileName: String, getCurrentDirectory: () => root, getNewLine: () => "\n" };
  return ts.formatDiagnostics(diagnostics, host);
}

/** `npm run release -- [--server URL]` */
async function main(args: string[]): Promise<void> {
  const [option, server, ...rest] = args;
  if ((option !== undefined && option !== "--server") || (option && !server) || rest.length > 0)
    throw new Error("usage: npm run release -- [--server URL]");
  const folder = await release({ server });
  process.stdout.write(await readFile(path.join(folder, "SHA256SUMS"), "utf8"));
  process.stdout.write(`written to ${path.relative(process.cwd(), folder) || "."}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  });
}
