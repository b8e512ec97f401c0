import { createRequire } from "node:module";
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from "@grpc/grpc-js";
import type { RunRequest, RunResponse } from "@pulumi/pulumi/proto/language_pb.js";
import { exec } from "../support/exec.js";

const require = createRequire(import.meta.url);
const { LanguageRuntimeService } = require("@pulumi/pulumi/proto/language_grpc_pb.js") as {
  LanguageRuntimeService: import("@grpc/grpc-js").ServiceDefinition;
};
const messages = require("@pulumi/pulumi/proto/language_pb.js") as typeof import("@pulumi/pulumi/proto/language_pb.js");
const plugins = require("@pulumi/pulumi/proto/plugin_pb.js") as typeof import("@pulumi/pulumi/proto/plugin_pb.js");

/** How to start a program of some language. */
export interface ProgramCommand {
  program: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** Stands where a language's host would: the CLI is told its address (`--client`), and it starts the program. */
export interface LanguageHost {
  address: string;
  close(): void;
}

const RUN_DEADLINE_MS = 120_000;

/**
 * Serves the engine's language protocol for one program. Programs of compiled languages find engine and settings in their
 * environment, under the same names in each; the others are started by a few lines that read them there.
 */
export async function hostProgram({ program, args, cwd, env }: ProgramCommand): Promise<LanguageHost> {
  const server = new Server();
  server.addService(LanguageRuntimeService, {
    getRequiredPlugins: (_call: unknown, answer: sendUnaryData<unknown>) =>
      answer(null, new messages.GetRequiredPluginsResponse()),
    getRequiredPackages: (_call: unknown, answer: sendUnaryData<unknown>) =>
      answer(null, new messages.GetRequiredPackagesResponse()),
    getPluginInfo: (_call: unknown, answer: sendUnaryData<unknown>) => answer(null, new plugins.PluginInfo()),
    run: ({ request }: ServerUnaryCall<RunRequest, RunResponse>, answer: sendUnaryData<RunResponse>) => {
      const response = new messages.RunResponse();
      exec(program, args, { cwd, env: { ...env, ...settingsOf(request) }, timeoutMs: RUN_DEADLINE_MS })
        .catch((error: unknown) => response.setError(error instanceof Error ? error.message : String(error)))
        .finally(() => answer(null, response));
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { address: `127.0.0.1:${port}`, close: () => server.forceShutdown() };
}

/** What a program is told of the engine, as Pulumi's language hosts put it into the environment. */
function settingsOf(request: RunRequest): NodeJS.ProcessEnv {
  return {
    PULUMI_PROJECT: request.getProject(),
    PULUMI_STACK: request.getStack(),
    PULUMI_ORGANIZATION: request.getOrganization(),
    PULUMI_CONFIG: JSON.stringify(Object.fromEntries(request.getConfigMap().toArray())),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
    PULUMI_DRY_RUN: String(request.getDryrun()),
    PULUMI_PARALLEL: String(request.getParallel()),
    PULUMI_MONITOR: request.getMonitorAddress(),
    PULUMI_ENGINE: request.getArgsList()[0] ?? "",
  };
}
