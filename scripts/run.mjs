// Runs one of the repository's TypeScript programs, after installing the npm dependencies if they are missing or out of date.
// Plain JavaScript on purpose: it is what starts on a fresh clone.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const stamp = path.join(root, "node_modules", ".installed-lock");

function ensureDependencies() {
  const lock = createHash("sha256")
    .update(readFileSync(path.join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  const started = Date.now();
  process.stderr.write("Installing npm dependencies...\n");
  const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (npm.status !== 0) {
    process.stderr.write("npm ci failed; its message above says why.\n");
    process.exit(1);
  }
  writeFileSync(stamp, lock);
  process.stderr.write(`Installed npm dependencies (${((Date.now() - started) / 1000).toFixed(1)} s)\n`);
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Node.js 20.19 or later is needed, this is ${process.versions.node}.\n`);
  process.exit(1);
}
ensureDependencies();

const [program, ...args] = process.argv.slice(2);
const child = spawn(process.execPath, ["--import", "tsx", path.join(root, program), ...args], {
  cwd: root,
  stdio: "inherit",
});
// The terminal sends Ctrl-C to the whole group: the program decides how it ends, this shim only passes its outcome on.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal ? 130 : 1)));
