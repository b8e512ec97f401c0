import type { PolicyRule } from "kubernetes-types/rbac/v1";
import { pino } from "pino";
import {
  ConfigurationResource,
  ForeignClusterResource,
  IPResource,
  Labels,
  NamespaceMapResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import { policyRules } from "../../../agent/install/rbac/rule.js";
import { VIRTUAL_KUBELET_LOCAL_RULES, VIRTUAL_KUBELET_REMOTE_RULES } from "../../../agent/install/rbac/virtual-node.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  KubeClient,
  NamespaceResource,
  RoleBindingResource,
  SecretResource,
  ServiceAccountResource,
  createLogger,
  type KubeObject,
  type Logger,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { parseVirtualNodeArguments } from "../../../agent/virtual-node/arguments.js";
import { runVirtualNodeOf } from "../../../agent/virtual-node/main.js";
import { until } from "../../clusters/support/wait.js";
import { startApiServer, type ApiServer } from "../support/api-server.js";
import { freePorts } from "../support/programs.js";

export const TENANT = "liqo-tenant-provider";
export const NODE = "provider";
export const LOCAL_NAMESPACE = "shop";
export const REMOTE_NAMESPACE = "shop-consumer";
export const POD_CIDR = "10.201.0.0/16";

/** Two clusters without nodes, peered as far as a virtual node can see; its process runs with exactly the rights it is installed with. */
export interface Harness {
  consumer: ApiServer;
  provider: ApiServer;
  kubeletPort: number;
  /** The log of its process. */
  readonly lines: readonly LogLine[];
  /** Of that name: NODE, or another of the same provider, whose VirtualNode must be there. With further arguments, as its options make them. */
  startVirtualNode(name?: string, further?: string[]): Promise<void>;
  stopVirtualNode(name?: string): Promise<void>;
  map(phase: "Accepted" | "Terminating" | "CreationLoopBackOff"): Promise<void>;
  /** One process, NODE's, runs anew, and the namespace is offloaded if it ever was. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}

/** For a suite whose tests expect a virtual node at work: one that has failed half-way may have left it stopped, or with another beside it. */
export function healAfterFailure(harnessOf: () => Harness): void {
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await harnessOf().heal();
  });
}

const APPEARS_MS = 40_000;

export const local = (name: string): { name: string; namespace: string } => ({ name, namespace: LOCAL_NAMESPACE });
export const remote = (name: string): { name: string; namespace: string } => ({ name, namespace: REMOTE_NAMESPACE });

/** The object, once it is there and as wanted. */
export function appears<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  id: { name: string; namespace?: string },
  condition: (object: T) => boolean = () => true,
  limitMs = APPEARS_MS,
): Promise<T> {
  return until(
    `${type.kind} ${id.name}`,
    limitMs,
    async () => {
      const object = await client.get(type, id);
      return object && condition(object) ? object : undefined;
    },
    25,
  );
}

export interface LogLine {
  level: number;
  msg: string;
  cluster?: string;
  resource?: string;
  namespace?: string;
  name?: string;
}

export interface HarnessOptions {
  /** Further controllers of Kubernetes to run, by their names on the controller manager's command line. */
  consumerControllers?: string[];
  providerControllers?: string[];
  /** More of the API servers' own flags. */
  consumerFlags?: string[];
  providerFlags?: string[];
}

/** Who a virtual node is in the consumer's cluster, and at the provider. */
export const LOCAL_USER = `system:serviceaccount:${TENANT}:vk-${NODE}`;
export const REMOTE_USER = "provider-6bfbd709d5fd";

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const { consumerControllers = [], providerControllers = [], consumerFlags, providerFlags } = options;
  const [consumer, provider] = await Promise.all([
    startApiServer({
      name: "consumer",
      controllers: ["certificatesigningrequest-signing-controller", ...consumerControllers],
      flags: consumerFlags,
    }),
    startApiServer({
      name: "provider",
      controllers: ["garbage-collector-controller", ...providerControllers],
      flags: providerFlags,
    }),
  ]);
  await Promise.all([prepareConsumer(consumer, provider), prepareProvider(provider)]);
  const account = await consumer.kubeconfigFor(LOCAL_USER, ["system:serviceaccounts", "system:authenticated"]);
  const [kubeletPort = 0, healthPort = 0] = await freePorts(2);
  const lines: LogLine[] = [];
  const running = new Map<string, { abort: AbortController; ended: Promise<void> }>();
  const stopVirtualNode = async (name = NODE): Promise<void> => {
    const one = running.get(name);
    one?.abort.abort();
    await one?.ended;
    running.delete(name);
  };
  const startVirtualNode = async (name = NODE, further: string[] = []): Promise<void> => {
    const abort = new AbortController();
    const ports = name === NODE ? [kubeletPort, healthPort] : await freePorts(2);
    const argv = [...virtualNodeArguments(ports[0] ?? 0, ports[1] ?? 0, name), ...further];
    const config = parseVirtualNodeArguments(argv, { POD_NAME: `vk-${name}-0`, VIRTUALNODE_NAME: name });
    const local = KubeClient.fromText(account, { cluster: "consumer" });
    const ended = runVirtualNodeOf(config, local, recordingLogger(lines), abort.signal).finally(() => local.close());
    running.set(name, { abort, ended });
    return Promise.race([ended, Promise.resolve()]);
  };
  let isMapped = false;
  const stopAll = (): Promise<unknown> => Promise.all([...running.keys()].map((name) => stopVirtualNode(name)));
  return {
    consumer,
    provider,
    kubeletPort,
    lines,
    startVirtualNode,
    stopVirtualNode,
    map: async (phase) => {
      isMapped = true;
      await setMapping(consumer, phase);
    },
    heal: async () => {
      await stopAll();
      if (isMapped) await setMapping(consumer, "Accepted");
      await startVirtualNode();
    },
    stop: async () => {
      await stopAll();
      consumer.client.close();
      provider.client.close();
      await Promise.all([consumer.stop(), provider.stop()]);
    },
  };
}

/** Refusals are expected here; only what fails altogether is worth a line. */
export function quietLogger(): Logger {
  const logger = createLogger("test");
  logger.level = "error";
  return logger;
}

/** Keeps what is told; what fails altogether is printed, too. */
function recordingLogger(lines: LogLine[]): Logger {
  const write = (text: string): void => {
    const line = JSON.parse(text) as LogLine;
    lines.push(line);
    if (line.level >= pino.levels.values["error"]!) process.stderr.write(text);
  };
  return pino({ level: "info" }, { write });
}

/** The command line of its process. */
export function virtualNodeArguments(kubeletPort: number, healthPort: number, node = NODE): string[] {
  return [
    "--foreign-cluster-id=provider",
    `--nodename=${node}`,
    "--node-ip=127.0.0.1",
    `--tenant-namespace=${TENANT}`,
    "--liqo-namespace=liqo",
    "--home-cluster-id=consumer",
    "--foreign-kubeconfig-secret-name=kubeconfig-resourceslice-provider",
    "--create-node=true",
    "--node-check-network=true",
    `--local-podcidr=${POD_CIDR}`,
    `--kubelet-port=${kubeletPort}`,
    `--health-port=${healthPort}`,
  ];
}

async function prepareConsumer({ client }: ApiServer, provider: ApiServer): Promise<void> {
  await Promise.all(
    [TENANT, LOCAL_NAMESPACE, "liqo"].map((name) => client.create(NamespaceResource, { metadata: { name } })),
  );
  await grant(client, "liqo-virtual-kubelet-local", policyRules(VIRTUAL_KUBELET_LOCAL_RULES), {
    kind: "User",
    name: LOCAL_USER,
  });
  const kubeconfig = await provider.kubeconfigFor(REMOTE_USER, ["consumer"]);
  const metadata = { name: "provider", namespace: TENANT };
  const labels = { [Labels.remoteClusterID]: "provider" };
  await Promise.all([
    client.create(ServiceAccountResource, { metadata: { name: "default", namespace: LOCAL_NAMESPACE } }),
    client.create(SecretResource, {
      metadata: { name: "kubeconfig-resourceslice-provider", namespace: TENANT },
      data: { kubeconfig: Buffer.from(kubeconfig).toString("base64") },
    }),
    client.create(
      VirtualNodeResource,
      VirtualNodeResource.build({
        metadata: { ...metadata, labels },
        spec: {
          clusterID: "provider",
          createNode: true,
          kubeconfigSecretRef: { name: "kubeconfig-resourceslice-provider" },
          resourceQuota: { hard: { cpu: "4", memory: "8Gi", pods: "110" } },
          labels: { "liqo.io/provider": "lab" },
        },
      }),
    ),
    client.create(
      NamespaceMapResource,
      NamespaceMapResource.build({
        metadata: { ...metadata, labels: { ...labels, [Labels.remoteID]: "provider", [Labels.replication]: "true" } },
        spec: { desiredMapping: { [LOCAL_NAMESPACE]: REMOTE_NAMESPACE } },
      }),
    ),
    establishForeignCluster(client),
    remapPods(client),
    offerApiServer(client),
  ]);
}

async function establishForeignCluster(client: KubeClient): Promise<void> {
  const condition = (type: "NetworkConnectionStatus" | "APIServerStatus") => ({ type, status: "Established" as const });
  const object = ForeignClusterResource.build({ metadata: { name: "provider" }, spec: { clusterID: "provider" } });
  await client.create(ForeignClusterResource, object);
  const status = {
    observedGeneration: 1,
    role: "Provider",
    modules: {
      networking: { enabled: true, conditions: [condition("NetworkConnectionStatus")] },
      authentication: { enabled: true },
      offloading: { enabled: true },
    },
    conditions: [condition("APIServerStatus")],
  };
  await client.mergePatch(ForeignClusterResource, { name: "provider" }, { status }, { subresource: "status" });
}

/** Equal pod ranges on both sides: the provider's appear as 10.71.0.0/16. */
async function remapPods(client: KubeClient): Promise<void> {
  const id = { name: "provider", namespace: TENANT };
  await client.create(
    ConfigurationResource,
    ConfigurationResource.build({
      metadata: { ...id, labels: { [Labels.remoteClusterID]: "provider" } },
      spec: { remote: { cidr: { pod: [POD_CIDR], external: ["10.70.0.0/16"] } } },
    }),
  );
  const status = { remote: { cidr: { pod: ["10.71.0.0/16"], external: ["10.72.0.0/16"] } } };
  await client.mergePatch(ConfigurationResource, id, { status }, { subresource: "status" });
}

async function offerApiServer(client: KubeClient): Promise<void> {
  const id = { name: "api-server", namespace: "liqo" };
  const metadata = { ...id, labels: { [Labels.ipType]: "api-server" } };
  await client.create(IPResource, IPResource.build({ metadata, spec: { ip: "10.91.0.1" } }));
  await client.mergePatch(
    IPResource,
    id,
    { status: { ip: "10.70.0.7", cidr: "10.70.0.0/16" } },
    { subresource: "status" },
  );
}

async function prepareProvider({ client }: ApiServer): Promise<void> {
  await client.create(NamespaceResource, {
    metadata: { name: REMOTE_NAMESPACE, labels: { [Labels.remoteClusterID]: "consumer" } },
  });
  const name = "liqo-virtual-kubelet-remote";
  await client.create(ClusterRoleResource, { metadata: { name }, rules: policyRules(VIRTUAL_KUBELET_REMOTE_RULES) });
  await client.create(RoleBindingResource, {
    metadata: { name: "liqo-tenant-consumer", namespace: REMOTE_NAMESPACE },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "Group", name: "consumer", apiGroup: "rbac.authorization.k8s.io" }],
  });
}

async function grant(
  client: KubeClient,
  name: string,
  rules: PolicyRule[],
  subject: { kind: string; name: string },
): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  await client.create(ClusterRoleResource, { metadata: { name }, rules });
  await client.create(ClusterRoleBindingResource, {
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name },
    subjects: [{ ...subject, apiGroup }],
  });
}

async function setMapping(
  { client }: ApiServer,
  phase: "Accepted" | "Terminating" | "CreationLoopBackOff",
): Promise<void> {
  const status = { currentMapping: { [LOCAL_NAMESPACE]: { remoteNamespace: REMOTE_NAMESPACE, phase } } };
  await client.mergePatch(
    NamespaceMapResource,
    { name: "provider", namespace: TENANT },
    { status },
    { subresource: "status" },
  );
}
