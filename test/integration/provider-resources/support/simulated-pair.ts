import path from "node:path";
import { isDeleting, NamespaceResource } from "../../../../agent/runtime/index.js";
import { until } from "../../../clusters/support/wait.js";
import { startApiServer, type ApiServer } from "../../support/api-server.js";
import { endNamespaces } from "./namespace-ends.js";
import { simulateAgents, type SimulatedAgents } from "./simulated-agents.js";

export const SIDES = ["consumer", "provider"] as const;
export type Side = (typeof SIDES)[number];

/** What kubeconfigs call the clusters, whose IDs are "consumer" and "provider". */
export const WEST_AND_EAST: Record<Side, string> = { consumer: "west", provider: "east" };

/** Signs what PeeringUsers ask for. */
const SIGNING = "certificatesigningrequest-signing-controller";
const REST_MS = 60_000;

export interface SimulatedPairOptions {
  /** Default: their IDs. */
  names?: Record<Side, string>;
  podCIDRs?: Record<Side, string>;
  /** Where the agents are installed. Default: liqo. */
  agentNamespaces?: Partial<Record<Side, string>>;
  /** The clusters that sign certificates. Default none: quicker. */
  signing?: readonly Side[];
  /** Whether gateways come up. Default true. */
  gatewaysRun?: boolean;
  /** Whether namespaces that are deleted end, and at once. Default false: they stay as they are. */
  namespacesEnd?: boolean;
  /** Whether plugins of this process know the clusters as contexts, which is how imports name them. Default false. */
  asContexts?: boolean;
}

/** Two real API servers whose agents are simulated. */
export interface SimulatedPair {
  servers: Record<Side, ApiServer>;
  /** Both clusters as properties of a resource: the paths of their kubeconfigs. */
  clusters: Record<Side, { kubeconfig: string }>;
  /** KUBECONFIG with both clusters' contexts. */
  KUBECONFIG: string;
  /**
   * Waits until the agents have answered all that there is by now, and namespaces that are to end have ended: what agents write last is waited for by no
   * resource, and they may still be about what somebody has changed and a resource has changed back.
   */
  rest(): Promise<void>;
  stop(): Promise<void>;
}

/** Some seconds. Stop it in `after`. */
export async function startSimulatedPair(options: SimulatedPairOptions = {}): Promise<SimulatedPair> {
  const servers = await startServers(options);
  const ended = new AbortController();
  let agents: SimulatedAgents | undefined;
  let ends: Promise<void>[] = [];
  const KUBECONFIG = SIDES.map((side) => servers[side].kubeconfigPath).join(path.delimiter);
  const saved = process.env["KUBECONFIG"];
  const stop = async (): Promise<void> => {
    if (options.asContexts) restore(saved);
    ended.abort();
    await Promise.allSettled(ends);
    await agents?.stop();
    await stopAll(servers);
  };
  try {
    const { consumer = "10.200.0.0/16", provider = "10.201.0.0/16" } = options.podCIDRs ?? {};
    const namespaces = options.agentNamespaces ?? {};
    agents = await simulateAgents(
      { id: "consumer", client: servers.consumer.client, podCIDR: consumer, agentNamespace: namespaces.consumer },
      { id: "provider", client: servers.provider.client, podCIDR: provider, agentNamespace: namespaces.provider },
      { gatewaysRun: options.gatewaysRun },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  if (options.namespacesEnd) ends = SIDES.map((side) => endNamespaces(servers[side].client, ended.signal));
  if (options.asContexts) process.env["KUBECONFIG"] = KUBECONFIG;
  const clusterOf = (side: Side) => ({ kubeconfig: servers[side].kubeconfigPath });
  const namespaceEnds = async (side: Side): Promise<boolean> =>
    (await servers[side].client.list(NamespaceResource)).items.some(isDeleting);
  const rest = async (): Promise<true | undefined> => {
    const isEnding = options.namespacesEnd && (await Promise.all(SIDES.map(namespaceEnds))).includes(true);
    return (!isEnding && (await agents?.areAtRest())) || undefined;
  };
  return {
    servers,
    clusters: { consumer: clusterOf("consumer"), provider: clusterOf("provider") },
    KUBECONFIG,
    rest: async () => void (await until("the simulated agents' rest", REST_MS, rest)),
    stop,
  };
}

/** Both, or none. */
async function startServers({ names, signing = [] }: SimulatedPairOptions): Promise<Record<Side, ApiServer>> {
  const started = await Promise.allSettled(
    SIDES.map((side) =>
      startApiServer({ name: names?.[side] ?? side, controllers: signing.includes(side) ? [SIGNING] : [] }),
    ),
  );
  const servers = started.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const [consumer, provider] = servers;
  if (consumer && provider) return { consumer, provider };
  await Promise.all(servers.map((server) => server.stop()));
  throw started.find((outcome) => outcome.status === "rejected")?.reason;
}

async function stopAll(servers: Record<Side, ApiServer>): Promise<void> {
  await Promise.all(SIDES.map((side) => servers[side].stop()));
}

function restore(kubeconfig: string | undefined): void {
  if (kubeconfig === undefined) delete process.env["KUBECONFIG"];
  else process.env["KUBECONFIG"] = kubeconfig;
}
