import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { definedResources } from "../../../../agent/api/index.js";
import { NamespaceResource, SecretResource, type ResourceType } from "../../../../agent/runtime/index.js";
import { buildProvider } from "../../../../scripts/build.js";
import { pulumiFolder } from "../../../clusters/index.js";
import { PulumiStack } from "../../../support/pulumi.js";
import {
  SIDES,
  startSimulatedPair,
  type Side,
  type SimulatedPair,
} from "../../provider-resources/support/simulated-pair.js";
import type { ApiServer } from "../../support/api-server.js";

/** A resource of a YAML program. */
export interface Declared {
  /** Of this package, unless it says which. */
  type: string;
  properties: Record<string, unknown>;
  options?: Record<string, unknown>;
}

/** The real CLI with the real plugin on two real API servers, whose agents are simulated. */
export class EngineLab {
  private readonly stacks: PulumiStack[] = [];

  private constructor(
    readonly folder: string,
    private readonly simulated: SimulatedPair,
    private readonly pluginFolder: string,
    private readonly binFolder: string,
  ) {}

  static async start(): Promise<EngineLab> {
    const binFolder = await pulumiFolder();
    const pluginFolder = await buildProvider();
    const simulated = await startSimulatedPair({ signing: ["provider"], namespacesEnd: true });
    const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-engine-"));
    return new EngineLab(folder, simulated, pluginFolder, binFolder);
  }

  /** The same with a plugin that notes in a file whatever it writes beside its answers. */
  async listeningTo(file: string): Promise<EngineLab> {
    const folder = path.join(this.folder, "listened");
    await mkdir(folder, { recursive: true });
    const real = path.join(this.pluginFolder, "pulumi-resource-liqo");
    // Its first line tells the engine its port.
    const script = `#!/bin/bash\nexec "${real}" "$@" > >(tee -a "${file}") 2> >(tee -a "${file}" >&2)\n`;
    await writeFile(path.join(folder, "pulumi-resource-liqo"), script, { mode: 0o755 });
    return new EngineLab(this.folder, this.simulated, folder, this.binFolder);
  }

  async stop(): Promise<void> {
    await this.simulated.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Both clusters as properties of a resource. */
  get pair(): Record<Side, { kubeconfig: string }> {
    return this.simulated.clusters;
  }

  get servers(): Record<Side, ApiServer> {
    return this.simulated.servers;
  }

  /** KUBECONFIG with both clusters' contexts. */
  get KUBECONFIG(): string {
    return this.simulated.KUBECONFIG;
  }

  /** A stack of a project with this program; several stacks share the backend. */
  async stack(project: string, resources: Record<string, Declared>, env: NodeJS.ProcessEnv = {}): Promise<PulumiStack> {
    await this.write(project, resources);
    const { folder: stateFolder, binFolder } = this;
    const options = {
      project: path.join(this.folder, project),
      stateFolder,
      stack: project,
      binFolder,
      config: {},
      env,
    };
    const stack = new PulumiStack(options);
    await stack.init();
    this.stacks.push(stack);
    return stack;
  }

  /** The same, brought up. */
  async make(project: string, resources: Record<string, Declared>, env?: NodeJS.ProcessEnv): Promise<PulumiStack> {
    const stack = await this.stack(project, resources, env);
    await stack.up();
    return stack;
  }

  /** Takes away every stack that there is, with what it has made, protected or not. */
  async clear(): Promise<void> {
    for (const stack of this.stacks.splice(0)) {
      await stack.pulumi(["state", "unprotect", "--all", "--yes"], { allowFailure: true });
      await stack.destroy({ allowFailure: true });
      await stack.remove();
    }
  }

  /** Changes the program of a project. */
  async write(project: string, resources: Record<string, Declared>): Promise<void> {
    const program = {
      name: project,
      runtime: "yaml",
      plugins: { providers: [{ name: "liqo", path: this.pluginFolder, version: "0.1.0" }] },
      resources: Object.fromEntries(
        Object.entries(resources).map(([name, { type, ...rest }]) => [
          name,
          { type: type.includes(":") ? type : `liqo:${type}`, ...rest },
        ]),
      ),
    };
    await mkdir(path.join(this.folder, project), { recursive: true });
    // What is JSON is YAML, too.
    await writeFile(path.join(this.folder, project, "Pulumi.yaml"), JSON.stringify(program));
  }

  /** Every object of a peering in both clusters, with UID and version, once the agents have answered all: equal where nothing has touched them. */
  async objects(): Promise<Map<string, string>> {
    await this.simulated.rest();
    const types = [...definedResources(), NamespaceResource, SecretResource] as ResourceType[];
    const found = new Map<string, string>();
    for (const side of SIDES) {
      const lists = await Promise.all(types.map((type) => this.servers[side].client.list(type)));
      for (const { kind, metadata } of lists.flatMap(({ items }) => items)) {
        const { namespace = "", name = "", uid, resourceVersion } = metadata ?? {};
        found.set(`${side} ${kind} ${namespace}/${name}`, `${uid} ${resourceVersion}`);
      }
    }
    return found;
  }
}

/** How a program's resource is named in the state. */
export function urnOf(project: string, type: string, name: string): string {
  return `urn:pulumi:${project}::${project}::liqo:index:${type}::${name}`;
}
