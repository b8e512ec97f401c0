import {
  Controller,
  EventRecorder,
  KubeClient,
  LeaderElection,
  SharedInformers,
  aborted,
  createLogger,
  logChanges,
  messageOf,
} from "../runtime/index.js";
import { ForeignClusterResource } from "../api/kinds.js";
import { Ports } from "../api/names.js";
import { setupAuthentication } from "./authentication/index.js";
import { parseControllerArguments } from "./arguments.js";
import type { ControllerContext, Startable } from "./context.js";
import { startHealthServer } from "../runtime/health.js";
import { controllerMetrics } from "./metrics.js";
import { setupNetwork } from "./network/index.js";
import { setupOffloading } from "./offloading/index.js";
import { setupPullSecrets } from "./pull-secrets/index.js";
import { setupReplication } from "./replication/index.js";
import { setupServingCertificateApprover } from "../virtual-node/serving-certificate/approver.js";
import { setupStatus } from "./status/index.js";
import { startWebhooks } from "./webhooks/index.js";

/**
 * The controller role: webhooks on every replica, all reconcilers on the elected leader. Resolves when the process is told to end; leadership
 * lost ends it too, so that the next one starts from a clean cache.
 */
export async function runController(argv: string[], signal: AbortSignal): Promise<void> {
  const config = parseControllerArguments(argv);
  const logger = createLogger("controller");
  const client = KubeClient.inCluster({ cluster: config.clusterId });
  logChanges(client.transport, logger);
  const recorders = new Map<string, EventRecorder>();
  const context: ControllerContext = {
    client,
    informers: new SharedInformers(client, logger),
    config,
    logger,
    recorder: (component) => {
      const recorder = recorders.get(component) ?? new EventRecorder(client, component, logger);
      recorders.set(component, recorder);
      return recorder;
    },
  };
  const ended = new AbortController();
  signal.addEventListener("abort", () => ended.abort(), { once: true });

  const areas = [
    setupNetwork,
    setupAuthentication,
    setupReplication,
    setupOffloading,
    setupPullSecrets,
    setupServingCertificateApprover,
    setupStatus,
  ];
  const startables: Startable[] = areas.flatMap((setup) => setup(context));
  const webhooks = await startWebhooks(context, { port: config.webhookPort });
  const foreignClusters = context.informers.for(ForeignClusterResource);
  await context.informers.start();
  let isLeader = false;
  const metrics = controllerMetrics({
    isLeader: () => isLeader,
    controllers: () => startables.filter((one) => one instanceof Controller).map(({ figures }) => figures),
    foreignClusters: () => foreignClusters.list(),
  });
  const health = startHealthServer(() => webhooks.isReady(), config.healthPort ?? Ports.health, metrics);

  const election = new LeaderElection(client, {
    namespace: config.namespace,
    name: "liqo-controller-manager",
    identity: config.podName,
    logger,
  });
  if (await election.acquire(ended.signal, () => ended.abort())) {
    isLeader = true;
    for (const startable of startables) await startable.start();
    logger.info({ clusterId: config.clusterId, controllers: startables.length }, "controllers started");
    await aborted(ended.signal);
  }
  await Promise.all(
    startables.map((startable) => startable.stop().catch((error: unknown) => logger.warn(messageOf(error)))),
  );
  await election.release().catch((error: unknown) => logger.debug({ reason: messageOf(error) }, "lease not released"));
  await webhooks.stop();
  health.close();
  await context.informers.stop();
}
