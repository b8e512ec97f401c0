import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureTool, toolVersion } from "../components/ensure.js";
import { run } from "../support/exec.js";
import { sha256File } from "../support/files.js";
import { ensurePrograms, which } from "../support/packages.js";
import type { Progress } from "../support/progress.js";
import { buildArchive, type BuiltImage, type Layer } from "./archive.js";
import { coreDnsImage, metricsServerImage, PAUSE_IMAGE, TEST_TOOLS_IMAGE } from "./names.js";
import { copyFile, copyProgram, createRoot } from "./rootfs.js";

/** The images of the local clusters' own pods and of test pods, made of programs at hand: no registry is asked. */
export async function testImages(progress: Progress): Promise<BuiltImage[]> {
  await ensurePrograms(
    [
      { program: "busybox", package: "busybox-static" },
      { program: "iperf3", package: "iperf3" },
      { program: "wget", package: "wget" },
    ],
    progress,
  );
  return Promise.all([pause(progress), testTools(progress), coreDns(progress), metricsServer(progress)]);
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Holds a pod's namespaces. It must not end, and BusyBox ends on `sleep infinity`: it gets a number. */
async function pause(progress: Progress): Promise<BuiltImage> {
  const busybox = installed("busybox");
  const layer: Layer = {
    key: `pause ${await sha256File(busybox)}`,
    write: (root) => copyFile(root, busybox, "/sleep"),
  };
  const configuration = { entrypoint: ["/sleep"], cmd: ["2147483647"] };
  return buildArchive({ ref: PAUSE_IMAGE, layers: [layer], configuration }, progress);
}

async function testTools(progress: Progress): Promise<BuiltImage> {
  const busybox = installed("busybox");
  // BusyBox's own wget of Debian 12 crashes when it is given a time limit.
  const others = ["iperf3", "wget"].map((program) => ({ program, path: installed(program) }));
  const sums = await Promise.all([busybox, ...others.map(({ path }) => path)].map(sha256File));
  const layer: Layer = {
    key: `test-tools 2 ${sums.join(" ")}`,
    write: async (root) => {
      createRoot(root);
      await copyFile(root, busybox, "/usr/bin/busybox");
      for (const { program, path } of others) await copyProgram(root, path, `/usr/bin/${program}`);
      // One try, as BusyBox does, not twenty.
      writeFileSync(join(root, "etc/wgetrc"), "tries = 1\n");
      const applets = (await run(busybox, ["--list"])).split("\n").filter((name) => name !== "" && name !== "busybox");
      for (const applet of applets) {
        const path = join(root, "usr/bin", applet);
        if (!existsSync(path)) symlinkSync("busybox", path);
      }
      mkdirSync(join(root, "www"), { mode: 0o755 });
    },
  };
  const configuration = { cmd: ["/bin/sleep", "2147483647"], env: { PATH } };
  return buildArchive({ ref: TEST_TOOLS_IMAGE, layers: [layer], configuration }, progress);
}

async function coreDns(progress: Progress): Promise<BuiltImage> {
  return programImage("coredns", coreDnsImage(), progress);
}

async function metricsServer(progress: Progress): Promise<BuiltImage> {
  return programImage("metrics-server", metricsServerImage(), progress);
}

/** An image of one static program, which is its entry point. */
async function programImage(program: string, ref: string, progress: Progress): Promise<BuiltImage> {
  const path = await ensureTool(program, { progress });
  const layer: Layer = {
    key: `${program} ${toolVersion(program)}`,
    write: (root) => copyFile(root, path, `/${program}`),
  };
  return buildArchive({ ref, layers: [layer], configuration: { entrypoint: [`/${program}`] } }, progress);
}

function installed(program: string): string {
  const path = which(program);
  if (!path) throw new Error(`${program} is not installed`);
  return path;
}
