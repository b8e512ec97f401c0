import { Writable } from "node:stream";
import type { LimitRange } from "kubernetes-types/core/v1";
import { pino } from "pino";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import type { ControllerContext } from "../../../agent/controller/context.js";
import { setupOffloading } from "../../../agent/controller/offloading/index.js";
import { startWebhooks } from "../../../agent/controller/webhooks/index.js";
import { ForeignClusterResource, Labels, NamespaceOffloadingResource, Names } from "../../../agent/api/index.js";
import { CONTROLLER_PROCESS_RULES } from "../../../agent/install/rbac/controller.js";
import {
  OFFLOADING_CONTROLLER_RULES,
  STORAGE_NAMESPACE_RULES,
  WEBHOOK_RULES,
} from "../../../agent/install/rbac/offloading.js";
import { policyRules } from "../../../agent/install/rbac/rule.js";
import { webhookManifests } from "../../../agent/install/webhook-manifests.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  EventRecorder,
  KubeClient,
  MutatingWebhookConfigurationResource,
  NamespaceResource,
  RoleBindingResource,
  RoleResource,
  SharedInformers,
  ValidatingWebhookConfigurationResource,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import type { ApiServer } from "../support/api-server.js";

const CONTROLLER_USER = "test-controller";

export const LimitRangeResource: ResourceType<LimitRange> = {
  group: "",
  version: "v1",
  kind: "LimitRange",
  plural: "limitranges",
  namespaced: true,
};

/** What runs in the tests' process in place of one cluster's controller. */
export interface RunningController {
  context: ControllerContext;
  stop(): Promise<void>;
}

/**
 * Starts the offloading controllers, and the webhooks when asked, against a test's API server, with the rights that an installation gives
 * them and no more.
 */
export async function startController(
  server: ApiServer,
  clusterId: string,
  options: { webhooks?: boolean } = {},
): Promise<RunningController> {
  await grantRights(server.client);
  await grantStorageRights(server.client);
  const client = KubeClient.fromText(await server.kubeconfigFor(CONTROLLER_USER));
  const logger = pino(
    { level: process.env["LOG_LEVEL"] ?? "silent" },
    process.env["LOG_LEVEL"] ? process.stderr : discard(),
  );
  const context: ControllerContext = {
    client,
    informers: new SharedInformers(client, logger),
    config: parseControllerArguments([`--cluster-id=${clusterId}`, "--image=agent:test"], {}),
    logger,
    recorder: (component) => new EventRecorder(client, component, logger),
  };
  await ensureNamespace(server.client, "liqo");
  const controllers = setupOffloading(context);
  const webhooks = options.webhooks ? await startWebhooks(context, { port: 0, extraHosts: ["127.0.0.1"] }) : undefined;
  await context.informers.start();
  if (webhooks) await installWebhooks(server.client, webhooks.port);
  for (const controller of controllers) await controller.start();
  return {
    context,
    stop: async () => {
      await Promise.all(controllers.map((controller) => controller.stop()));
      await webhooks?.stop();
      await context.informers.stop();
      client.close();
    },
  };
}

async function grantRights(admin: KubeClient): Promise<void> {
  const by = { fieldManager: "test" };
  const rules = policyRules([...CONTROLLER_PROCESS_RULES, ...OFFLOADING_CONTROLLER_RULES, ...WEBHOOK_RULES]);
  const metadata = { name: CONTROLLER_USER };
  await admin.apply(ClusterRoleResource, { metadata, rules }, by);
  for (const name of [Names.virtualKubeletLocalRole, Names.virtualKubeletRemoteRole]) {
    // Rights that the controller does not have itself: it may bind them all the same.
    const secrets = { apiGroups: [""], resources: ["secrets"], verbs: ["*"] };
    await admin.apply(ClusterRoleResource, { metadata: { name }, rules: [secrets] }, by);
  }
  const apiGroup = "rbac.authorization.k8s.io";
  const binding = {
    metadata,
    roleRef: { apiGroup, kind: "ClusterRole", name: CONTROLLER_USER },
    subjects: [{ apiGroup, kind: "User", name: CONTROLLER_USER }],
  };
  await admin.apply(ClusterRoleBindingResource, binding, by);
}

async function grantStorageRights(admin: KubeClient): Promise<void> {
  const metadata = { name: CONTROLLER_USER, namespace: Names.storageNamespace };
  await ensureNamespace(admin, Names.storageNamespace);
  await admin.apply(RoleResource, { metadata, rules: policyRules(STORAGE_NAMESPACE_RULES) }, { fieldManager: "test" });
  const apiGroup = "rbac.authorization.k8s.io";
  const binding = {
    metadata,
    roleRef: { apiGroup, kind: "Role", name: CONTROLLER_USER },
    subjects: [{ apiGroup, kind: "User", name: CONTROLLER_USER }],
  };
  await admin.apply(RoleBindingResource, binding, { fieldManager: "test" });
}

/** Has the API server ask the webhooks at a port of this machine, once it can trust them. */
export async function installWebhooks(client: KubeClient, port: number): Promise<void> {
  const [, mutating, validating] = webhookManifests({ namespace: "liqo", url: `https://127.0.0.1:${port}` });
  const by = { fieldManager: "test" };
  await client.apply(MutatingWebhookConfigurationResource, mutating, by);
  await client.apply(ValidatingWebhookConfigurationResource, validating, by);
  await eventually("the authority in every webhook", async () => {
    const present = await Promise.all([
      client.get(MutatingWebhookConfigurationResource, { name: "liqo-webhook" }),
      client.get(ValidatingWebhookConfigurationResource, { name: "liqo-webhook" }),
    ]);
    return present.every((one) => one?.webhooks?.every(({ clientConfig }) => clientConfig.caBundle));
  });
  await webhooksInForce(client);
}

/** An API server begins to ask its webhooks, and to trust them, some time after it has stored that. All of one configuration come into force together. */
async function webhooksInForce(client: KubeClient): Promise<void> {
  const name = "probe";
  const dryRun = { dryRun: true };
  await eventually("an answer of the mutating webhooks", async () => {
    const probe = ForeignClusterResource.build({ metadata: { name }, spec: { clusterID: name } });
    const { metadata } = await client.create(ForeignClusterResource, probe, dryRun);
    return metadata.labels?.[Labels.remoteClusterID] === name;
  });
  await eventually("an answer of the validating webhooks", async () => {
    const probe = NamespaceOffloadingResource.build({ metadata: { name, namespace: "default" }, spec: {} });
    const refused = (error: Error): string => error.message;
    const answer = await client.create(NamespaceOffloadingResource, probe, dryRun).then(() => "", refused);
    if (answer.includes("must be named")) return true;
    throw new Error(answer || "not refused");
  });
}

export async function ensureNamespace(
  client: KubeClient,
  name: string,
  labels: Record<string, string> = {},
): Promise<void> {
  await client.apply(NamespaceResource, { metadata: { name, labels } }, { fieldManager: "test" });
}

export function tenantLabels(clusterId: string): Record<string, string> {
  return { "liqo.io/remote-cluster-id": clusterId, "liqo.io/tenant-namespace": "true" };
}

/** Looks every 50 ms until the answer is neither undefined nor false; fails after 40 s with what was waited for and what went wrong last. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = Date.now() + 40_000;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const answer = await look();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what}: not within 40 s${last instanceof Error ? `: ${last.message}` : ""}`);
}

export async function gone<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  id: { name: string; namespace?: string },
): Promise<void> {
  await eventually(`the end of ${type.kind} ${id.name}`, async () => (await client.get(type, id)) === undefined);
}

function discard(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
