#!/usr/bin/env node
// The command `pulumi-liqo` of a clone: runs the bundle, which is made on first use. Plain JavaScript, as it is what starts.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const bundle = path.join(root, "dist", "cli", "pulumi-liqo");

if (!existsSync(bundle)) {
  process.stderr.write("Building pulumi-liqo, once...\n");
  const build = spawnSync(process.execPath, ["scripts/run.mjs", "scripts/build.ts", "--only", "cli"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (build.status !== 0) {
    process.stderr.write("error: the build failed; its message above says why\n");
    process.exit(1);
  }
}
createRequire(import.meta.url)(bundle);
