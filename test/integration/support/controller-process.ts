import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { agentManifests } from "../../../agent/install/index.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import { controllerArguments } from "../../../agent/install/workloads.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { REPOSITORY } from "../../support/lab.js";
import type { ApiServer } from "./api-server.js";
import { freePorts, startProgram, type Program } from "./programs.js";

const NAMESPACE = "liqo";
const ACCOUNT = "liqo-controller-manager";
/** Its pods do not run here, and nothing would answer the webhooks. */
const LEFT_OUT = [
  "Deployment",
  "DaemonSet",
  "Service",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
];

export interface ControllerProcessOptions {
  clusterId: string;
  /** Where it, and consumers, find the API server. Default: the server itself. */
  url?: string;
  /** A folder for its kubeconfig. */
  folder: string;
}

/** The agent's controller as an installation runs it, in a process of its own, with an installation's rights. */
export class ControllerProcess {
  private program: Program;

  private constructor(
    private readonly command: string[],
    /** Its log, of all its lives. */
    readonly logFile: string,
  ) {
    this.program = this.start();
  }

  /** Installs all of the agent but its pods, and starts the controller. */
  static async install(server: ApiServer, options: ControllerProcessOptions): Promise<ControllerProcess> {
    const { clusterId, folder, url = server.url } = options;
    const inputs = installInputs(agentInputs.parse({ clusterId }), {
      podCIDRs: ["10.200.0.0/16"],
      serviceCIDR: "10.90.0.0/16",
      apiServerAddress: url,
    });
    for (const manifest of agentManifests(inputs)) {
      if (LEFT_OUT.includes(manifest.kind ?? "")) continue;
      await server.client.apply(resourceTypeOf(manifest), manifest, { fieldManager: "test" });
    }
    const kubeconfig = join(folder, `${clusterId}.kubeconfig`);
    await writeFile(kubeconfig, await accountKubeconfig(server, url), { mode: 0o600 });
    const [webhookPort, healthPort] = await freePorts(2);
    const environment = { KUBECONFIG: kubeconfig, POD_NAME: "controller", POD_NAMESPACE: NAMESPACE };
    const command = [
      ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      process.execPath,
      join(REPOSITORY, "dist/agent/agent.cjs"),
      "controller",
      ...controllerArguments(inputs),
      `--webhook-port=${webhookPort}`,
      `--health-port=${healthPort}`,
    ];
    return new ControllerProcess(command, join(folder, `${clusterId}.log`));
  }

  get pid(): number {
    return this.program.pid ?? 0;
  }

  /** Why it does not run any more, if so. */
  get failure(): string | undefined {
    return this.program.failure();
  }

  /** Kills it without a word, as a node that fails does, and starts it anew. */
  async killAndRestart(): Promise<void> {
    await this.program.stop();
    this.program = this.start();
  }

  stop(): Promise<void> {
    return this.program.stop();
  }

  private start(): Program {
    return startProgram("env", this.command, this.logFile);
  }
}

async function accountKubeconfig(server: ApiServer, url: string): Promise<string> {
  const user = `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`;
  const config = parse(await server.kubeconfigFor(user)) as { clusters: { cluster: { server: string } }[] };
  for (const { cluster } of config.clusters) cluster.server = url;
  return stringify(config);
}
