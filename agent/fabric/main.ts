import { parseArgs } from "node:util";
import {
  GeneveTunnelResource,
  IPResource,
  InternalFabricResource,
  InternalNodeResource,
  Labels,
  Names,
  Ports,
  NetworkResource,
  NetworkType,
  lentPart,
} from "../api/index.js";
import { LevelLoop, LinkWatch, NftablesTable, commandRunner, tellChanges } from "../net/index.js";
import {
  Informer,
  KubeClient,
  aborted,
  createLogger,
  lastLook,
  logChanges,
  messageOf,
  type KubeObject,
} from "../runtime/index.js";
import { FirewallTables, HostRules, applyTablePlans } from "../host-rules/index.js";
import { applyFabric, removeFabric } from "./apply.js";
import { serveMetrics } from "../runtime/health.js";
import { collectFabricState } from "./collect-state.js";
import { LinkNews } from "./link-news.js";
import { fabricMetrics } from "./metrics.js";
import { AddressReport, isAddressNews } from "./node-addresses.js";
import { FABRIC } from "./plan.js";
import type { FabricState } from "./state.js";

interface FabricArguments {
  nodeName: string;
  podName: string;
  /** The agent's namespace, where the cluster's Networks are. */
  namespace: string;
  /** Take everything off the node and end. */
  cleanup: boolean;
}

function parseArguments(argv: string[], env: NodeJS.ProcessEnv): FabricArguments {
  const { values } = parseArgs({
    args: argv,
    options: {
      "node-name": { type: "string", default: env["NODE_NAME"] ?? "" },
      "liqo-namespace": { type: "string", default: env["POD_NAMESPACE"] ?? Names.namespace },
      cleanup: { type: "boolean", default: false },
    },
  });
  if (!values["node-name"] && !values.cleanup) throw new Error("--node-name or NODE_NAME is required");
  return {
    nodeName: values["node-name"],
    podName: env["POD_NAME"] ?? values["node-name"],
    namespace: values["liqo-namespace"],
    cleanup: values.cleanup,
  };
}

/** Links and offloaded pods come in numbers, each with an address that is lent: one pass for those that come within this time. */
const GATHER_LENT_MS = 1_000;

/** Of the ten seconds that a pod has for its end. */
const LAST_LOOK_MS = 3_000;

function lent(state: FabricState | undefined): object {
  return [state?.lentTargets, state?.masqueraded];
}

/**
 * The fabric role: on each node, in the host's network namespace, brings traffic for remote clusters to their gateways whatever the
 * CNI (network specification, §8, §10). What it has set up stays when it ends, so that an upgrade does not interrupt traffic, and
 * goes when no gateway is left, or, where the node was cut off meanwhile, when at its end the installation is found to be gone.
 */
export async function runFabric(argv: string[], signal: AbortSignal): Promise<void> {
  const args = parseArguments(argv, process.env);
  const logger = createLogger("fabric");
  const run = tellChanges(commandRunner(), logger);
  const table = new NftablesTable(run);
  if (args.cleanup) return removeAll();
  const client = KubeClient.inCluster();
  logChanges(client.transport, logger);
  const { nodeName, namespace } = args;
  const fabrics = new Informer(client, InternalFabricResource, { logger });
  const internalNodes = new Informer(client, InternalNodeResource, {
    fieldSelector: `metadata.name=${nodeName}`,
    logger,
  });
  const tunnels = new Informer(client, GeneveTunnelResource, {
    labelSelector: `${Labels.internalNodeName}=${nodeName}`,
    logger,
  });
  const networks = new Informer(client, NetworkResource, {
    namespace,
    labelSelector: `${Labels.networkType}=${NetworkType.pod}`,
    logger,
  });
  const ips = new Informer(client, IPResource, { logger, trim: lentPart });

  const loop = new LevelLoop({
    apply,
    logger,
    wanted: () => wanted([]),
    gathered: { wanted: () => lent(wanted()), forMs: GATHER_LENT_MS },
  });
  const addresses = new AddressReport(client, run, internalNodes);
  const addressLoop = new LevelLoop({ apply: () => addresses.apply(), logger, wanted: () => addresses.told ?? null });
  internalNodes.onEvent(() => addressLoop.notice());
  let links = 0;
  let noDirectLink: string | undefined;
  const metrics = fabricMetrics({
    links: () => links,
    passes: () => loop.figures.passes,
    failures: () => loop.figures.failures,
  });
  const health = serveMetrics(metrics, Ports.health, logger);
  const all = [fabrics, internalNodes, tunnels, networks, ips] as unknown as Informer<KubeObject>[];
  for (const informer of all) informer.onEvent(() => loop.notice()).start();
  // One that is told to end before has its last look all the same.
  await Promise.race([Promise.all(all.map((informer) => informer.waitForSync())), aborted(signal)]);
  if (!signal.aborted) for (const one of [loop, addressLoop]) one.start();
  const news = new LinkNews(() => fabrics.list().map(({ spec }) => spec.gatewayIP));
  const onChange = (line: string): void => {
    if (news.hear(line)) loop.trigger();
    if (isAddressNews(line)) addressLoop.trigger();
  };
  const watch = new LinkWatch({ objects: ["link", "neigh", "address"], onChange });
  watch.start();
  const hostRules = new HostRules({
    client,
    run,
    logger,
    host: { node: nodeName },
    hostName: args.podName,
    owner: nodeName,
    // In front of the agent's own.
    defaultPriority: FABRIC.priority - 1,
  });
  hostRules.start();
  await aborted(signal);
  watch.stop();
  await addressLoop.stop();
  const look = await lastLook(
    [...all, ...hostRules.sources],
    KubeClient.inCluster(),
    AbortSignal.timeout(LAST_LOOK_MS),
  );
  if (look === "current") loop.start();
  // What a pass under way could not see any more, as at an uninstallation the end of the last gateway.
  await Promise.all([loop.settle(), hostRules.stop()]);
  if (look === "gone") await removeAll();
  health.close();

  async function removeAll(): Promise<void> {
    await removeFabric(run, table);
    await new FirewallTables(run).apply(new Map());
    await applyTablePlans(run, []);
  }

  function wanted(lentAddresses = ips.list()): FabricState | undefined {
    return collectFabricState({
      internalNode: internalNodes.list()[0],
      fabrics: fabrics.list(),
      tunnels: tunnels.list(),
      podNetworks: networks.list(),
      ips: lentAddresses,
    });
  }

  async function apply(): Promise<void> {
    const state = wanted();
    links = state?.links.length ?? 0;
    const isChanged = state ? await applyFabric({ run, table, onNoDirectLink }, state) : await removeFabric(run, table);
    if (isChanged) hostRules.trigger();
  }

  /** Each pass tries again; the same reason is told once. */
  function onNoDirectLink(error: unknown): void {
    const reason = messageOf(error);
    if (reason !== noDirectLink)
      logger.info({ reason }, "no direct link to a gateway of this node: what goes there is encapsulated");
    noDirectLink = reason;
  }
}
