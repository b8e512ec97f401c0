import { Labels, Names } from "../../../agent/api/index.js";
import type { ControllerConfig, ControllerContext, Startable } from "../../../agent/controller/context.js";
import { setupAuthentication } from "../../../agent/controller/authentication/index.js";
import { setupReplication } from "../../../agent/controller/replication/index.js";
import { setupStatus } from "../../../agent/controller/status/index.js";
import { startWebhooks } from "../../../agent/controller/webhooks/index.js";
import {
  AUTHENTICATION_CONTROLLER_RULES,
  REMOTE_CONTROLPLANE_RULES,
  REPLICATION_RULES,
  STATUS_RULES,
} from "../../../agent/install/rbac/authentication.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  EventRecorder,
  KubeClient,
  NamespaceResource,
  SharedInformers,
  createLogger,
} from "../../../agent/runtime/index.js";
import { WEBHOOK_RULES } from "../../../agent/install/rbac/offloading.js";
import { policyRules, type ReasonedRule } from "../../../agent/install/rbac/rule.js";
import { VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES } from "../../../agent/install/rbac/virtual-node.js";
import { installWebhooks } from "../offloading/harness.js";
import { startApiServer, type ApiServer } from "../support/api-server.js";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const CONTROLLER = "liqo-controller-manager";

/** A cluster with the control plane's controllers, acting with exactly the rights that an installation gives them. */
export interface ControlPlane {
  id: string;
  server: ApiServer;
  /** The administrator's. */
  client: KubeClient;
  /** Ends the controllers and starts new ones, as a restarted pod would. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** @param options webhooks: judge what is written, as an installation does; signer: false leaves certificates to the test; url: where the controllers find the API server */
export async function startControlPlane(
  id: string,
  overrides: Partial<ControllerConfig> = {},
  options: { webhooks?: boolean; signer?: boolean; url?: (server: ApiServer) => Promise<string> } = {},
): Promise<ControlPlane> {
  const server = await startApiServer({
    name: id,
    controllers: [
      ...(options.signer === false ? [] : ["certificatesigningrequest-signing-controller"]),
      "garbage-collector-controller",
      "namespace-controller",
    ],
  });
  const { client } = server;
  await prepare(client);
  const direct = await server.kubeconfigFor(CONTROLLER);
  const kubeconfig = options.url ? direct.replaceAll(server.url, await options.url(server)) : direct;
  const start = () => startControllers(kubeconfig, { ...configuration(id, server), ...overrides }, options.webhooks);
  let running = await start();
  if (running.webhookPort !== undefined) await installWebhooks(client, running.webhookPort);
  return {
    id,
    server,
    client,
    restart: async () => {
      await running.stop();
      running = await start();
    },
    stop: async () => {
      await running.stop();
      await server.stop();
    },
  };
}

async function prepare(client: KubeClient): Promise<void> {
  await client.create(NamespaceResource, { metadata: { name: Names.namespace } });
  await role(client, Names.remoteControlPlaneRole, REMOTE_CONTROLPLANE_RULES);
  await role(client, Names.virtualKubeletRemoteClusterwideRole, VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES);
  await role(client, CONTROLLER, [
    ...AUTHENTICATION_CONTROLLER_RULES,
    ...REPLICATION_RULES,
    ...STATUS_RULES,
    ...WEBHOOK_RULES,
  ]);
  await client.create(ClusterRoleBindingResource, {
    metadata: { name: CONTROLLER },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: CONTROLLER },
    subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: CONTROLLER }],
  });
}

async function role(client: KubeClient, name: string, rules: ReasonedRule[]): Promise<void> {
  const labels = { [Labels.appName]: name.replace(/^liqo-/, "") };
  await client.create(ClusterRoleResource, { metadata: { name, labels }, rules: policyRules(rules) });
}

async function startControllers(
  kubeconfig: string,
  config: ControllerConfig,
  withWebhooks = false,
): Promise<{ stop(): Promise<void>; webhookPort?: number }> {
  const client = KubeClient.fromText(kubeconfig, { cluster: config.clusterId });
  const logger = createLogger(config.clusterId);
  logger.level = process.env["LOG_LEVEL"] ?? "silent";
  const context: ControllerContext = {
    client,
    informers: new SharedInformers(client, logger),
    config,
    logger,
    recorder: (component) => new EventRecorder(client, component, logger),
  };
  const startables: Startable[] = [setupAuthentication, setupReplication, setupStatus].flatMap((setup) =>
    setup(context),
  );
  const webhooks = withWebhooks ? await startWebhooks(context, { port: 0, extraHosts: ["127.0.0.1"] }) : undefined;
  await context.informers.start();
  for (const startable of startables) await startable.start();
  return {
    webhookPort: webhooks?.port,
    stop: async () => {
      await Promise.all(startables.map((startable) => startable.stop()));
      await webhooks?.stop();
      await context.informers.stop();
      client.close();
    },
  };
}

function configuration(clusterId: string, server: ApiServer): ControllerConfig {
  return {
    clusterId,
    namespace: Names.namespace,
    clusterLabels: { "liqo.io/provider": "test" },
    image: "",
    imagePullPolicy: "IfNotPresent",
    imagePullSecrets: [],
    podName: "test",
    apiServerAddress: server.url,
    apiServerCA: "",
    trustedCA: false,
    tlsCompatibilityMode: false,
    networkingEnabled: true,
    defaultSliceClassEnabled: true,
    resourceEnforcement: true,
    defaultLimitsEnforcement: "None",
    defaultSliceResources: { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "20Gi" },
    storageEnabled: true,
    realStorageClass: "",
    ingressClasses: ["nginx"],
    loadBalancerClasses: [],
    pingIntervalSeconds: 2,
    pingTimeoutSeconds: 2,
    ipamPools: [],
  };
}
