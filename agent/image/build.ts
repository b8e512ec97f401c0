import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildAgentBundle } from "../../scripts/build.js";
import { archiveStem, buildArchive, type BuiltImage } from "../../test/clusters/images/archive.js";
import { ensureTool, toolVersion } from "../../test/clusters/index.js";
import { run, tryRun } from "../../test/clusters/support/exec.js";
import { cacheFolder, sha256, sha256File } from "../../test/clusters/support/files.js";
import { which } from "../../test/clusters/support/packages.js";
import { lineProgress, type Progress } from "../../test/clusters/support/progress.js";
import { baseLayer, bundleLayer, ENTRY_PATH, ENVIRONMENT } from "./files.js";
import { messageOf } from "../runtime/kube-error.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DOCKERFILE = join(ROOT, "agent/image/Dockerfile");
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The agent's image, tagged with a version: by default that of package.json. */
export function agentImageRef(version = packageVersion()): string {
  return `localhost/pulumi-liqo/agent:${version}`;
}

function packageVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;
}

export interface AgentImageOptions {
  /** Its tag. Default: the version of package.json. */
  version?: string;
  progress?: Progress;
}

/**
 * Bundles the agent and builds its image: by the Dockerfile where a Docker engine answers, else from this machine's
 * Node and Debian's packages. The archive is kept by its content: an unchanged agent is not built again.
 */
export async function buildAgentImage(options: AgentImageOptions = {}): Promise<BuiltImage> {
  const progress = options.progress ?? lineProgress();
  const bundle = await buildAgentBundle();
  const ref = agentImageRef(options.version);
  if (await dockerAnswers()) {
    try {
      return await buildWithDocker(ref, bundle, progress);
    } catch (error) {
      const reason = messageOf(error);
      progress.note(`Docker could not build the agent's image, it is built from Debian's packages instead: ${reason}`);
    }
  }
  const layers = [await baseLayer(await ensureTool("wireguard-go", { progress }), progress), await bundleLayer(bundle)];
  const configuration = { entrypoint: ["/usr/bin/node", ENTRY_PATH], env: { PATH, ...ENVIRONMENT } };
  return buildArchive({ ref, layers, configuration }, progress);
}

async function dockerAnswers(): Promise<boolean> {
  if (!which("docker")) return false;
  return (await tryRun("docker", ["info", "--format", "{{.ID}}"], { timeout: 5_000 })).code === 0;
}

async function buildWithDocker(ref: string, bundle: readonly string[], progress: Progress): Promise<BuiltImage> {
  const wireguardGo = toolVersion("wireguard-go");
  const sums = await Promise.all([DOCKERFILE, ...bundle].map(sha256File));
  const key = sha256([ref, wireguardGo, ...sums].join(" "));
  const folder = join(cacheFolder(), "images");
  const archive = join(folder, `${archiveStem(ref)}-docker-${key.slice(0, 16)}.tar`);
  if (existsSync(archive)) return { ref, archive };
  mkdirSync(folder, { recursive: true });
  await progress.step(`image ${ref}, by Docker`, async () => {
    const args = ["--file", DOCKERFILE, "--build-arg", `WIREGUARD_GO=${wireguardGo}`, "--tag", ref];
    await run("docker", ["build", ...args, dirname(bundle[0] ?? "")], { timeout: 30 * 60_000 });
    await run("docker", ["save", "--output", `${archive}.tmp`, ref]);
    renameSync(`${archive}.tmp`, archive);
  });
  return { ref, archive };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  buildAgentImage().then(
    ({ archive }) => process.stdout.write(`${archive}\n`),
    (error: unknown) => {
      process.stderr.write(`${messageOf(error)}\n`);
      process.exitCode = 1;
    },
  );
}
