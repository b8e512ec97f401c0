import { Ports } from "../api/names.js";
import { HostRules, gatewayRuleOwner } from "../host-rules/index.js";
import { startHealthServer } from "../runtime/health.js";
import { LevelLoop, LinkWatch, NftablesTable, commandRunner, tellChanges, type Occasion } from "../net/index.js";
import { KubeClient, aborted, createLogger, delay, logChanges } from "../runtime/index.js";
import { parseGatewayArguments } from "./arguments.js";
import { collectState, lentAddresses, tunnelState, type GatewayObjects } from "./collect-state.js";
import { ConnectionReporter } from "./connection-reporter.js";
import { FROM_TUNNEL } from "./constants.js";
import { explainNobody } from "./diagnosis.js";
import { EndpointChooser } from "./endpoint-chooser.js";
import { EndpointRecord } from "./endpoint-record.js";
import { FastPathTable } from "./fast-path-table.js";
import { applyKernelSettings } from "./kernel-settings.js";
import { privateKeyOf } from "./key-source.js";
import { Leadership } from "./leadership/leadership.js";
import { gatewayMetrics } from "./metrics.js";
import { ownAddresses, yieldOwnAddress } from "./own-address.js";
import { Paths } from "./paths.js";
import { PeerKeeper } from "./peer-keeper.js";
import { gatewayRuleset } from "./ruleset.js";
import { GatewaySources } from "./sources.js";
import { createTunnelDevice } from "./tunnel-device.js";
import { TunnelWatch } from "./tunnel-watch.js";

/** Before anything is known of the cluster. */
const NOTHING: GatewayObjects = { tunnels: [], internalNodes: [], nodes: [], ips: [], podAddresses: () => [] };

/** A gateway's network is its own: that somebody else has undone something there is looked after rarely, as each look calls eight programs. */
const RESYNC_MS = 60_000;

/** Every gateway knows every address that is lent: where links or pods come in numbers, each of them must not be a pass of each gateway. */
const GATHER_LENT_MS = 1_000;

/**
 * The gateway role: one end of the tunnel to one peer, in a network namespace of its own. No packet passes through this process:
 * it sets up WireGuard, links, routes and rules, checks the connection and reports. Of several replicas one serves; the others have all but
 * the peer set up. Ends when told to, or when the userspace tunnel dies.
 */
export async function runGateway(argv: string[], signal: AbortSignal): Promise<void> {
  const args = parseGatewayArguments(argv);
  const logger = createLogger("gateway");
  const run = tellChanges(commandRunner(), logger);
  const client = KubeClient.inCluster();
  logChanges(client.transport, logger);
  const ended = new AbortController();
  signal.addEventListener("abort", () => ended.abort(), { once: true });
  let failure: string | undefined;

  const tunnelLoop = new LevelLoop({ apply: () => connect(), logger, wanted: () => peerWanted(), resyncMs: RESYNC_MS });
  const pathsLoop = new LevelLoop({
    apply: (occasion) => route(occasion),
    logger,
    wanted: () => [collectState(args, { ...sources.objects(), ips: [] }), hostRules.isUnused],
    gathered: { wanted: () => lentAddresses(sources.objects()), forMs: GATHER_LENT_MS },
    resyncMs: RESYNC_MS,
  });
  const sources = new GatewaySources(client, args, logger, () => {
    tunnelLoop.notice();
    pathsLoop.notice();
  });
  const tunnel = tunnelState(args);
  const given = { addresses: args.endpointAddresses, port: args.endpointPort };
  const endpoints = args.mode === "client" ? new EndpointChooser(given) : undefined;
  const record = args.mode === "client" ? new EndpointRecord(client, sources, given, logger) : undefined;
  const table = new NftablesTable(run);
  const peer = new PeerKeeper(run, args, endpoints, logger);
  const reporter = new ConnectionReporter(
    client,
    args,
    () => sources.connection,
    (c) => sources.observeConnection(c),
    logger,
    () => (endpoints ? endpoints.endpoint : `:${args.listenPort}`),
  );
  const watch = new TunnelWatch({
    run,
    args,
    tunnel,
    table,
    endpoints,
    peer,
    reporter,
    onEndpoint: (endpoint) => record?.keep(endpoint),
    logger,
  });
  const leadership = args.leaderElection ? new Leadership(client, args, logger, () => onLeadership()) : undefined;
  const hostRules: HostRules = new HostRules({
    client,
    run,
    logger,
    host: { node: args.nodeName, remoteClusterID: args.remoteClusterID },
    hostName: args.name,
    owner: gatewayRuleOwner(args),
    // In front of the gateway's own.
    defaultPriority: FROM_TUNNEL.priority - 1,
    reports: () => leadership === undefined || leadership.isLeader,
    onNews: () => pathsLoop.notice(),
    makeWay: () => fastPath.remove(),
  });
  const fastPath: FastPathTable = new FastPathTable(run, () => hostRules.isUnused, logger);
  const linkWatch = new LinkWatch({ objects: ["link"], onChange: () => pathsLoop.trigger() });
  const paths = new Paths({ run, table, fastPath });
  let isReady = false;

  const metrics = gatewayMetrics({
    remoteClusterID: args.remoteClusterID,
    device: tunnel.device,
    implementation: () => reporter.tunnel,
    isActive: () => leadership === undefined || leadership.isLeader,
    connection: () => reporter.result,
    counters: () => table.counters(),
  });
  const health = startHealthServer(() => isReady, Ports.health, metrics);
  const [implementation] = await Promise.all([
    createTunnelDevice({
      run,
      tunnel,
      implementation: args.implementation,
      onWords: (words) => logger.warn({ words }, "wireguard-go"),
      onExit: (reason) => {
        failure = reason;
        ended.abort();
      },
    }),
    // The guard stands before there is anybody to guard against.
    table
      .apply(gatewayRuleset(collectState(args, NOTHING)))
      .then(applyKernelSettings)
      .then(() => yieldOwnAddress(run)),
    ownAddresses(run).then((own) => sources.start(own.map(({ address }) => address))),
    endpoints?.refresh(),
    watch.listen(),
  ]);
  peer.deviceIsNew = implementation === "userspace";
  logger.info({ mode: args.mode, implementation, remoteClusterID: args.remoteClusterID }, "tunnel device ready");
  tunnelLoop.start();
  pathsLoop.start();
  linkWatch.start();
  hostRules.start();
  if (leadership) await leadership.start();
  // Before anybody takes this replica's readiness and another's word for a tunnel that works.
  else await reporter.begin();
  isReady = true;
  const names = endpoints && resolveNames(endpoints);
  await aborted(ended.signal);
  // Another replica takes over while this one still ends.
  await leadership?.stop();
  linkWatch.stop();
  await Promise.all([tunnelLoop.stop(), pathsLoop.stop(), hostRules.stop(), sources.stop()]);
  watch.close();
  health.close();
  await names;
  if (failure !== undefined && !signal.aborted) throw new Error(failure);

  function onLeadership(): void {
    tunnelLoop.trigger();
    hostRules.trigger();
  }

  /** All that the tunnel's end goes by. */
  function peerWanted(): object {
    return {
      keys: [sources.keySecret?.data, sources.publicKey?.spec.publicKey],
      hasConnection: sources.connection !== undefined,
      announced: record?.announced,
      ownEndpoint: sources.ownEndpoint,
    };
  }

  async function connect(): Promise<void> {
    const privateKey = await privateKeyOf(sources.keySecret, args.keysFolder);
    const serves = leadership === undefined || leadership.isLeader;
    const before = peer.configuredAt;
    const announced = record?.announced;
    if (await endpoints?.learn(announced)) logger.info({ ...announced }, "where the server says it is");
    watch.announce(sources.ownEndpoint);
    const publicKey = sources.publicKey?.spec.publicKey;
    const isReachable = await peer.apply(privateKey, serves ? publicKey : undefined).finally(() => {
      if (peer.configuredAt !== before) watch.ask();
    });
    if (!isReachable) {
      watch.stop();
      if (serves) await stand(publicKey !== undefined);
      else reporter.yield();
      return;
    }
    watch.start();
    await reporter.ensure(implementation);
    record?.note();
  }

  async function stand(isPeerKnown: boolean): Promise<void> {
    await reporter.stand({ reason: explainNobody({ ...args, isPeerKnown }), isPeerKnown });
  }

  async function route({ isThorough }: Occasion): Promise<void> {
    await paths.apply(collectState(args, sources.objects()), isThorough);
  }

  async function resolveNames(chooser: EndpointChooser): Promise<void> {
    while (!ended.signal.aborted) {
      await delay(chooser.intervalMs, ended.signal);
      if (!chooser.hasNames) continue;
      const before = chooser.endpoint;
      await chooser.refresh();
      if (chooser.endpoint !== before) tunnelLoop.trigger();
    }
  }
}
