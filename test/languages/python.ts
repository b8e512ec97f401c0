import { cp, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { run, tryRun } from "../clusters/support/exec.js";
import { ensurePrograms, installPackages } from "../clusters/support/packages.js";
import type { Progress } from "../clusters/support/progress.js";
import type { LanguageCheck } from "./index.js";
import { writeSchemaExamples } from "./schema-examples.js";
import { cachedFolder, example, REPOSITORY, runTool, sdk } from "./toolchain.js";

const REQUIREMENTS = path.join(REPOSITORY, "test/languages/requirements.txt");

/** The interpreter of a virtual environment with what the SDK needs, but not the SDK itself. */
export async function pythonEnvironment(progress: Progress): Promise<string> {
  const folder = await cachedFolder("python", [REQUIREMENTS], async (made) => {
    await ensureVenv(progress);
    await progress.step("a virtual environment with Pulumi's Python SDK", () => install(made), true);
  });
  return path.join(folder, "venv/bin/python");
}

async function ensureVenv(progress: Progress): Promise<void> {
  await ensurePrograms([{ program: "python3", package: "python3" }], progress);
  const { code } = await tryRun("python3", ["-c", "import ensurepip, venv"]);
  if (code !== 0) await installPackages(["python3-venv"], "Python cannot make virtual environments.", progress);
}

async function install(folder: string): Promise<void> {
  const venv = path.join(folder, "venv");
  await run("python3", ["-m", "venv", venv]);
  await run(path.join(venv, "bin/python"), ["-m", "pip", "install", "-q", "-r", REQUIREMENTS]);
}

/** Builds the SDK's package and installs it into a folder, which goes on `PYTHONPATH`. The sources stay as they are. */
export async function installPythonSdk(python: string, folder: string): Promise<void> {
  const source = path.join(folder, "source");
  await cp(sdk("python"), source, { recursive: true });
  const flags = ["-q", "--no-deps", "--no-build-isolation", "--target", folder];
  await runTool("the package of the Python SDK", python, ["-m", "pip", "install", ...flags, source]);
}

/** Installs the SDK, imports every module of it, then checks the types of the example and of those in its documentation against it, strictly. */
export const checkPython: LanguageCheck = async (progress) => {
  const python = await pythonEnvironment(progress);
  const folder = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-python-"));
  try {
    await installPythonSdk(python, folder);
    const env = { ...process.env, PYTHONPATH: folder };
    await runTool("the Python SDK", python, ["-c", IMPORT_ALL], { env });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await checkTypes(python, path.join(example("peer-two-clusters-python"), "__main__.py"));
  const documented = path.join(REPOSITORY, "dist/documentation/python");
  // Each is a program by itself; checked together they need names of their own.
  const programs = await writeSchemaExamples("python", documented, "__init__.py");
  await checkTypes(python, ...programs);
  return { checked: true };
};

const IMPORT_ALL = `
import importlib, pkgutil, pulumi_liqo
for module in pkgutil.walk_packages(pulumi_liqo.__path__, "pulumi_liqo."):
    importlib.import_module(module.name)
`;

async function checkTypes(python: string, ...programs: string[]): Promise<void> {
  const config = path.join(REPOSITORY, "test/languages/mypy.ini");
  const cache = path.join(path.dirname(python), "../../mypy");
  const env = { ...process.env, MYPYPATH: sdk("python") };
  const args = ["-m", "mypy", "--config-file", config, "--cache-dir", cache, ...programs];
  await runTool("the Python examples", python, args, { env });
}
