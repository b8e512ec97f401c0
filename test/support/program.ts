import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { REPOSITORY, type Lab, type LabCluster } from "./lab.js";
import { PulumiStack } from "./pulumi.js";

/** A resource of a program: type without its package, properties, and the names of those that come first. */
export interface ProgramResource {
  type: string;
  properties: Record<string, unknown>;
  dependsOn?: string[];
}

/** A stack of a program in YAML that consists of these resources; both program and state are kept in the folder. */
export async function writeProgram(
  lab: Pick<Lab, "pulumiBin">,
  folder: string,
  name: string,
  resources: Record<string, ProgramResource>,
): Promise<PulumiStack> {
  const project = path.join(folder, name);
  mkdirSync(project, { recursive: true });
  const program = {
    name,
    runtime: "yaml",
    plugins: { providers: [{ name: "liqo", path: path.join(REPOSITORY, "dist/provider"), version: "0.1.0" }] },
    resources: Object.fromEntries(
      Object.entries(resources).map(([key, { type, properties, dependsOn = [] }]) => [
        key,
        { type: `liqo:${type}`, properties, options: { dependsOn: dependsOn.map((other) => `\${${other}}`) } },
      ]),
    ),
  };
  // What is JSON is YAML, too.
  writeFileSync(path.join(project, "Pulumi.yaml"), JSON.stringify(program, null, 2));
  const stack = new PulumiStack({ project, stateFolder: folder, stack: name, binFolder: lab.pulumiBin, config: {} });
  await stack.init();
  return stack;
}

/** How a program refers to a test cluster. */
export function access({ cluster }: LabCluster): { kubeconfig: string; context: string } {
  return { kubeconfig: cluster.kubeconfigPath, context: cluster.context };
}
