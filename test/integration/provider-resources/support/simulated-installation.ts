import { NetworkResource } from "../../../../agent/api/index.js";
import {
  DaemonSetResource,
  delay,
  DeploymentResource,
  isNotFound,
  MutatingWebhookConfigurationResource,
  ValidatingWebhookConfigurationResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../../agent/runtime/index.js";
import { follow, setStatus } from "./simulated-agents.js";

/** While the kind is not served. */
const ASK_AGAIN_MS = 200;
const MANAGER = { fieldManager: "simulated-agent" };
const NEVER = [{ name: "never", expression: "false" }];
const NOTHING = (): Promise<void> => Promise.resolve();

type WebhookConfiguration = KubeObject & { webhooks?: { matchConditions?: object[] }[] };

/**
 * Lets an installation come up on an API server that has no nodes: workloads count as running, ranges as allocated, and the webhooks, which nobody would answer,
 * are asked nothing. Until the signal.
 */
export async function simulateInstallation(client: KubeClient, signal: AbortSignal): Promise<void> {
  const muted = (type: ResourceType<WebhookConfiguration>): Promise<void> =>
    follow(
      client,
      type,
      {
        changed: async ({ metadata, webhooks = [] }) => {
          if (webhooks.every(({ matchConditions }) => matchConditions)) return;
          const never = webhooks.map((webhook) => ({ matchConditions: NEVER, ...webhook }));
          await client.mergePatch(type, { name: metadata?.name ?? "" }, { webhooks: never }, MANAGER);
        },
        removed: NOTHING,
      },
      signal,
    );
  await Promise.all([
    muted(MutatingWebhookConfigurationResource as ResourceType),
    muted(ValidatingWebhookConfigurationResource as ResourceType),
    follow(
      client,
      DeploymentResource,
      {
        changed: ({ metadata, spec }) => {
          const replicas = spec?.replicas ?? 1;
          return setStatus(client, DeploymentResource, metadata, {
            observedGeneration: metadata?.generation,
            replicas,
            readyReplicas: replicas,
            updatedReplicas: replicas,
            availableReplicas: replicas,
          });
        },
        removed: NOTHING,
      },
      signal,
    ),
    follow(
      client,
      DaemonSetResource,
      {
        changed: ({ metadata }) =>
          setStatus(client, DaemonSetResource, metadata, {
            observedGeneration: metadata?.generation,
            currentNumberScheduled: 0,
            desiredNumberScheduled: 0,
            numberMisscheduled: 0,
            numberReady: 0,
          }),
        removed: NOTHING,
      },
      signal,
    ),
    wheneverServed(
      () =>
        follow(
          client,
          NetworkResource,
          {
            changed: async ({ metadata, spec, status }) => {
              if (!status?.cidr) await setStatus(client, NetworkResource, metadata, { cidr: spec.cidr });
            },
            removed: NOTHING,
          },
          signal,
        ),
      signal,
    ),
  ]);
}

/** Goes on with a kind that comes and goes with the installation. */
async function wheneverServed(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await work().catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    await delay(ASK_AGAIN_MS, signal);
  }
}
