import * as automation from "@pulumi/pulumi/automation";
import * as liqo from "pulumi-liqo";

/** A cluster by a context of the kubeconfig; its ID is the context's name. */
function cluster(context: string): liqo.types.input.Cluster {
  return { context };
}

/** Peers one consumer with a provider; the agents are there already. */
function peer(consumer: string, provider: string): automation.PulumiFn {
  return () => {
    const peering = new liqo.Peering("peering", {
      consumer: cluster(consumer),
      provider: cluster(provider),
      gatewayServer: { type: liqo.GatewayServiceType.NodePort },
      cpu: "2",
      memory: "4Gi",
    });
    return Promise.resolve({ virtualNodeName: peering.virtualNodeName, endpoint: peering.endpoint });
  };
}

/** Brings a consumer's peerings to exactly these providers, one stack each, side by side. */
async function main([consumer, ...providers]: string[]): Promise<void> {
  if (!consumer) throw new Error("usage: main.ts CONSUMER_CONTEXT PROVIDER_CONTEXT...");
  const projectName = `peerings-of-${consumer}`;
  const workspace = await automation.LocalWorkspace.create({
    projectSettings: { name: projectName, runtime: "nodejs" },
  });
  const known = (await workspace.listStacks()).map(({ name }) => name);
  const gone = known.filter((name) => !providers.includes(name));
  await Promise.all([
    ...providers.map((provider) => up(projectName, consumer, provider)),
    ...gone.map((provider) => destroy(projectName, consumer, provider)),
  ]);
}

async function up(projectName: string, consumer: string, provider: string): Promise<void> {
  const program = peer(consumer, provider);
  const stack = await automation.LocalWorkspace.createOrSelectStack({ projectName, stackName: provider, program });
  const { outputs } = await stack.up();
  console.log(`${consumer} → ${provider}: node ${String(outputs.virtualNodeName?.value)}`);
}

async function destroy(projectName: string, consumer: string, provider: string): Promise<void> {
  const program = peer(consumer, provider);
  const stack = await automation.LocalWorkspace.selectStack({ projectName, stackName: provider, program });
  await stack.destroy({ remove: true });
  console.log(`${consumer} → ${provider}: unpeered`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
