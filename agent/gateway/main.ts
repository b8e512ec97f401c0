import { Ports } from "../api/names.js";
import { HostRules, gatewayRuleOwner } from "../host-rules/index.js";
import { startHealthServer } from "../runtime/health.js";
import { LevelLoop, NftablesTable, applyRouting, applyVxlan, commandRunner, tellChanges } from "../net/index.js";
import { KubeClient, aborted, createLogger, delay, logChanges } from "../runtime/index.js";
import { parseGatewayArguments } from "./arguments.js";
import { collectState, tunnelState, type GatewayObjects } from "./collect-state.js";
import { ConnectionReporter } from "./connection-reporter.js";
import { FROM_TUNNEL } from "./constants.js";
import { explainNobody } from "./diagnosis.js";
import { EndpointChooser } from "./endpoint-chooser.js";
import { applyKernelSettings } from "./kernel-settings.js";
import { privateKeyOf } from "./key-source.js";
import { Leadership } from "./leadership/leadership.js";
import { gatewayMetrics } from "./metrics.js";
import { yieldOwnAddress } from "./own-address.js";
import { PeerKeeper } from "./peer-keeper.js";
import { gatewayLinks, gatewayRouting } from "./routing.js";
import { gatewayRuleset } from "./ruleset.js";
import { GatewaySources } from "./sources.js";
import type { GatewayState } from "./state.js";
import { createTunnelDevice } from "./tunnel-device.js";
import { TunnelWatch } from "./tunnel-watch.js";

/** Before anything is known of the cluster. */
const NOTHING: GatewayObjects = { tunnels: [], internalNodes: [], nodes: [], ips: [], podAddresses: () => [] };

/** A gateway's network is its own: that somebody else has undone something there is looked after rarely, as each look calls eight programs. */
const RESYNC_MS = 60_000;

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

  const loop = new LevelLoop({ apply: () => apply(), logger, wanted: () => wanted(), resyncMs: RESYNC_MS });
  const sources = new GatewaySources(client, args, logger, () => loop.notice());
  const tunnel = tunnelState(args);
  const endpoints = args.mode === "client" ? new EndpointChooser(args.endpointAddresses, args.endpointPort) : undefined;
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
  const watch = new TunnelWatch({ run, args, tunnel, table, endpoints, peer, reporter, logger });
  const leadership = args.leaderElection ? new Leadership(client, args, logger, () => onLeadership()) : undefined;
  const hostRules = new HostRules({
    client,
    run,
    logger,
    host: { node: args.nodeName, remoteClusterID: args.remoteClusterID },
    hostName: args.name,
    owner: gatewayRuleOwner(args),
    // In front of the gateway's own.
    defaultPriority: FROM_TUNNEL.priority - 1,
    reports: () => leadership === undefined || leadership.isLeader,
  });
  let isReady = false;

  const metrics = gatewayMetrics({
    remoteClusterID: args.remoteClusterID,
    device: tunnel.device,
    implementation: () => reporter.tunnel,
    isActive: () => leadership === undefined || leadership.isLeader,
    connection: () => reporter.result,
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
    sources.start(),
    endpoints?.refresh(),
    watch.listen(),
  ]);
  peer.deviceIsNew = implementation === "userspace";
  logger.info({ mode: args.mode, implementation, remoteClusterID: args.remoteClusterID }, "tunnel device ready");
  loop.start();
  hostRules.start();
  if (leadership) await leadership.start();
  // Before anybody takes this replica's readiness and another's word for a tunnel that works.
  else await reporter.begin();
  isReady = true;
  const names = endpoints && resolveNames(endpoints);
  await aborted(ended.signal);
  // Another replica takes over while this one still ends.
  await leadership?.stop();
  await Promise.all([loop.stop(), hostRules.stop()]);
  watch.close();
  health.close();
  await names;
  if (failure !== undefined && !signal.aborted) throw new Error(failure);

  function onLeadership(): void {
    loop.trigger();
    hostRules.trigger();
  }

  /** All that a pass goes by. */
  function wanted(): object {
    return {
      state: collectState(args, sources.objects()),
      keys: [sources.keySecret?.data, sources.publicKey?.spec.publicKey],
      hasConnection: sources.connection !== undefined,
    };
  }

  async function apply(): Promise<void> {
    const state = collectState(args, sources.objects());
    await Promise.all([connect(), route(state)]);
  }

  async function connect(): Promise<void> {
    const privateKey = await privateKeyOf(sources.keySecret, args.keysFolder);
    const serves = leadership === undefined || leadership.isLeader;
    const before = peer.configuredAt;
    const publicKey = sources.publicKey?.spec.publicKey;
    if (!(await peer.apply(privateKey, serves ? publicKey : undefined))) {
      watch.stop();
      if (serves) await stand(publicKey !== undefined);
      else reporter.yield();
      return;
    }
    watch.start();
    if (peer.configuredAt !== before) watch.ask();
    await reporter.ensure(implementation);
  }

  async function stand(isPeerKnown: boolean): Promise<void> {
    await reporter.stand({ reason: explainNobody({ ...args, isPeerKnown }), isPeerKnown });
  }

  async function route(state: GatewayState): Promise<void> {
    // Rules come first, so that nothing passes untranslated.
    await table.apply(gatewayRuleset(state));
    await applyVxlan(run, gatewayLinks(state));
    await applyRouting(run, gatewayRouting(state));
  }

  async function resolveNames(chooser: EndpointChooser): Promise<void> {
    while (!ended.signal.aborted && (chooser.hasNames || chooser.endpoint === undefined)) {
      await delay(chooser.intervalMs, ended.signal);
      const before = chooser.endpoint;
      await chooser.refresh();
      if (chooser.endpoint !== before) loop.trigger();
    }
  }
}
