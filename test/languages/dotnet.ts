import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { which } from "../clusters/support/packages.js";
import type { LanguageCheck } from "./index.js";
import { example, runTool } from "./toolchain.js";

/** Compiles the C# example, and with it the SDK that its project refers to, where .NET is installed. */
export const checkDotnet: LanguageCheck = async () => {
  const dotnet = which("dotnet", ["/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet"]);
  if (!dotnet)
    return { checked: false, why: "not compiled: there is no .NET SDK here, and Debian's packages have none" };
  const artifacts = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-dotnet-"));
  try {
    const project = path.join(example("peer-two-clusters-csharp"), "peer-two-clusters.csproj");
    const env = { ...process.env, DOTNET_CLI_TELEMETRY_OPTOUT: "1", DOTNET_NOLOGO: "1" };
    await runTool("the C# SDK and example", dotnet, ["build", project, "--artifacts-path", artifacts], { env });
  } finally {
    await rm(artifacts, { recursive: true, force: true });
  }
  return { checked: true };
};
