import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Deployment } from "kubernetes-types/apps/v1";
import { ForeignClusterResource, ResourceSliceResource } from "../../agent/api/index.js";
import { DeploymentResource, Informer, NodeResource, findCondition, keyOf } from "../../agent/runtime/index.js";
import {
  authenticate,
  makeTenantNamespaces,
  requestSlice,
  sliceID,
  unpeerWithNode,
  waitForObject,
  type Peer,
} from "../integration/authentication/peering.js";
import { startSide } from "../integration/authentication/side.js";
import type { ApiServer } from "../integration/support/api-server.js";
import { freePorts, startProgram, type Program } from "../integration/support/programs.js";
import { startRelay, type Relay } from "../integration/support/relay.js";
import { REPOSITORY } from "../support/lab.js";
import { timed } from "./pulumi-commands.js";
import { atMost, median, type Result } from "./result.js";

const ROUNDS = 5;
const CONTROLLERS = ["serviceaccount-controller"];

/** Two clusters without networks that peer and unpeer, as a tool has them do it: only what the agents do is in the figures, and the start of the virtual node's process. */
export async function benchNegotiation(folder: string): Promise<Result[]> {
  let relay: Relay | undefined;
  const throughRelay = async ({ url }: ApiServer): Promise<string> => {
    relay = await startRelay(() => url);
    return `https://127.0.0.1:${relay.port}`;
  };
  const [consumer, provider] = await Promise.all([
    startSide("consumer", { folder, controllers: CONTROLLERS }),
    startSide("provider", { folder, controllers: CONTROLLERS, url: throughRelay }),
  ]);
  const virtualNodes = new VirtualNodeProcesses(consumer.server, folder);
  try {
    await makeTenantNamespaces(consumer, provider);
    const seconds = { peering: [] as number[], change: [] as number[], unpeering: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      seconds.peering.push(await timed(() => peer(consumer, provider)));
      seconds.change.push(await timed(() => change(consumer, provider, "3")));
      seconds.unpeering.push(await timed(() => unpeerWithNode(consumer, provider)));
    }
    // Last: the provider's own controller is cut off, too, and does not recover as soon.
    await peer(consumer, provider);
    await status(consumer, provider, "Established");
    relay?.freeze();
    const lost = await timed(() => status(consumer, provider, "Error"));
    relay?.thaw();
    const back = await timed(() => status(consumer, provider, "Established"));
    return [
      atMost("handshake to accepted slice and Ready node", median(seconds.peering), "s", 2.5),
      atMost("change of a slice to the node's allocatable", median(seconds.change), "s", 1),
      atMost("unpeering", median(seconds.unpeering), "s", 1.5),
      atMost("status of a provider that falls silent", lost, "s", 5),
      atMost("status of a provider that is back", back, "s", 5),
    ];
  } finally {
    await virtualNodes.stop();
    for (const side of [consumer, provider]) await side.stop();
    relay?.close();
  }
}

async function peer(consumer: Peer, provider: Peer): Promise<void> {
  await authenticate(consumer, provider);
  await requestSlice(consumer, provider, { cpu: "2" }, { withNode: true });
  await waitForObject(consumer.client, NodeResource, { name: provider.id }, "Ready", ({ status }) =>
    status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True"),
  );
}

async function change(consumer: Peer, provider: Peer, cpu: string): Promise<void> {
  await consumer.client.mergePatch(ResourceSliceResource, sliceID(provider), { spec: { resources: { cpu } } });
  await waitForObject(
    consumer.client,
    NodeResource,
    { name: provider.id },
    `allocatable cpu ${cpu}`,
    ({ status }) => status?.allocatable?.["cpu"] === cpu,
  );
}

async function status(consumer: Peer, provider: Peer, wanted: string): Promise<void> {
  await waitForObject(
    consumer.client,
    ForeignClusterResource,
    { name: provider.id },
    wanted,
    (foreign) => findCondition(foreign.status?.conditions, "APIServerStatus")?.status === wanted,
  );
}

/** Starts and ends what a kubelet would: the process of each virtual node's Deployment. */
class VirtualNodeProcesses {
  private readonly running = new Map<string, Promise<Program>>();
  private readonly deployments: Informer<Deployment>;

  constructor(
    private readonly server: ApiServer,
    private readonly folder: string,
  ) {
    this.deployments = new Informer(server.client, DeploymentResource).onEvent(({ type, object }) => {
      if (type === "added") this.running.set(keyOf(object), this.run(object));
      if (type === "deleted") void this.running.get(keyOf(object))?.then((program) => program.stop());
    });
    this.deployments.start();
  }

  async stop(): Promise<void> {
    await this.deployments.stop();
    for (const program of this.running.values()) await (await program).stop();
  }

  private async run({ metadata, spec }: Deployment): Promise<Program> {
    const { namespace = "", name = "" } = metadata ?? {};
    const { serviceAccountName: account = "", containers = [] } = spec?.template.spec ?? {};
    const [container] = containers;
    const kubeconfig = path.join(this.folder, `${name}.kubeconfig`);
    await writeFile(kubeconfig, await this.server.kubeconfigFor(`system:serviceaccount:${namespace}:${account}`));
    const [kubeletPort, healthPort] = await freePorts(2);
    const known: Record<string, string> = { POD_IP: "127.0.0.1", POD_NAME: `${name}-0`, POD_NAMESPACE: namespace };
    const environment = container?.env?.map(({ name: key, value }) => `${key}=${value ?? known[key] ?? ""}`) ?? [];
    return startProgram("env", [
      `KUBECONFIG=${kubeconfig}`,
      ...environment,
      process.execPath,
      path.join(REPOSITORY, "dist/agent/agent.cjs"),
      ...(container?.args ?? []).map((argument) => argument.replace("$(POD_IP)", "127.0.0.1")),
      `--kubelet-port=${kubeletPort}`,
      `--health-port=${healthPort}`,
    ]);
  }
}
