import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { run } from "../clusters/support/exec.js";
import { ensurePrograms, which } from "../clusters/support/packages.js";
import type { Progress } from "../clusters/support/progress.js";
import type { LanguageCheck } from "./index.js";
import { writeSchemaExamples } from "./schema-examples.js";
import { cachedFolder, example, runTool, sdk } from "./toolchain.js";

const PROGRAMS = [
  { program: "javac", package: "default-jdk-headless" },
  { program: "mvn", package: "maven" },
];

/** Compiles the SDK, the example and those in the SDK's documentation. */
export const checkJava: LanguageCheck = async (progress) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-java-"));
  try {
    const libraries = await compileJavaExample("peer-two-clusters-java", folder, progress);
    await compileDocumentation(folder, libraries);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return { checked: true };
};

/** Their programs all have one name: for the compiler each is in a package of its own. */
async function compileDocumentation(output: string, libraries: string): Promise<void> {
  const folder = path.join(output, "documentation");
  const sources = await writeSchemaExamples("java", folder, "App.java", (text, name) =>
    text.replace(/^package \w+;/, `package ${name.toLowerCase()};`),
  );
  await compile("the examples of the Java SDK's documentation", sources, output, libraries);
}

/** Compiles the SDK and an example into a folder; returns the class path that the example runs with. */
export async function compileJavaExample(name: string, output: string, progress: Progress): Promise<string> {
  await ensurePrograms(PROGRAMS, progress);
  const libraries = await classPath(progress);
  const folders = [path.join(sdk("java"), "src/main/java"), path.join(example(name), "src/main/java")];
  const sources = (await Promise.all(folders.map(javaFiles))).flat();
  await compile(`the Java SDK and the example ${name}`, sources, output, libraries);
  return [output, path.join(sdk("java"), "src/main/resources"), libraries].join(path.delimiter);
}

async function compile(what: string, sources: readonly string[], output: string, classPath: string): Promise<void> {
  await mkdir(output, { recursive: true });
  const list = path.join(output, "sources.txt");
  await writeFile(list, sources.join("\n"));
  const javac = which("javac") ?? "javac";
  // As the project files say it: the oldest Java that the SDK is for.
  await runTool(what, javac, [
    ...["-proc:none", "-Xlint:none", "--release", "11"],
    ...["-d", output, "-cp", classPath, `@${list}`],
  ]);
}

/** The libraries of the SDK's project file, fetched by Maven. */
async function classPath(progress: Progress): Promise<string> {
  const project = path.join(sdk("java"), "pom.xml");
  const folder = await cachedFolder("java", [project], (made) =>
    progress.step("libraries of the Java SDK", () => resolve(project, path.join(made, "classpath")), true),
  );
  return (await readFile(path.join(folder, "classpath"), "utf8")).trim();
}

async function resolve(project: string, file: string): Promise<void> {
  const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
  await run("mvn", ["-B", "-q", "-f", project, goal, `-Dmdep.outputFile=${file}`]);
}

async function javaFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith(".java")).map((name) => path.join(folder, name));
}
