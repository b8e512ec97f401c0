import { Names, Ports } from "../../api/index.js";
import type { AdmissionHandler } from "./admission.js";
import { certificateController } from "./certificate-controller.js";
import { configurationValidator, mutateConfiguration } from "./configuration.js";
import type { WebhookContext } from "./context.js";
import { mutateDaemonSet } from "./daemon-set.js";
import { mutateForeignCluster } from "./foreign-cluster.js";
import { gatewayValidator } from "./gateway.js";
import {
  firewallConfigurationValidator,
  mutateFirewallConfiguration,
  routeConfigurationValidator,
} from "./host-rules.js";
import { namespaceOffloadingValidator } from "./namespace-offloading.js";
import { WebhookPaths } from "./paths.js";
import { peerWriteValidator } from "./peer-writes.js";
import { peeringUserValidator } from "./peering-user-writes.js";
import { podMutator } from "./pod.js";
import { validatePodRoom } from "./pod-room.js";
import { resourceSliceValidator } from "./resource-slice.js";
import { WebhookServer } from "./server.js";
import { shadowPodMutator, shadowPodValidator } from "./shadow-pod.js";
import { mutateTenant, tenantValidator } from "./tenant.js";
import { virtualNodeMutator, virtualNodeValidator } from "./virtual-node.js";

export { WebhookPaths } from "./paths.js";

export interface WebhookOptions {
  /** Default 9443; 0 = any free one. */
  port?: number;
  /** Names and addresses that the certificate is for, besides the Service's. */
  extraHosts?: string[];
}

export interface Webhooks {
  port: number;
  /** Whether the API server can be answered. */
  isReady(): boolean;
  stop(): Promise<void>;
}

/**
 * Admission webhooks, served by every replica. Asks for its informers when called, so that the caller can start them all together; the
 * handlers and the certificate controller wait for them by themselves.
 */
export async function startWebhooks(context: WebhookContext, options: WebhookOptions = {}): Promise<Webhooks> {
  const server = new WebhookServer(handlersOf(context), context.logger);
  const hosts = [...serviceHosts(context.config.namespace), ...(options.extraHosts ?? [])];
  const certificates = certificateController(context, server, hosts);
  const port = await server.listen(options.port ?? Ports.webhook);
  certificates.start();
  return {
    port,
    isReady: () => server.isReady,
    stop: async () => {
      await certificates.stop();
      await server.stop();
    },
  };
}

function serviceHosts(namespace: string): string[] {
  const service = `${Names.webhookService}.${namespace}`;
  return [Names.webhookService, service, `${service}.svc`, `${service}.svc.cluster.local`];
}

function handlersOf(context: WebhookContext): Map<string, AdmissionHandler> {
  return new Map<string, AdmissionHandler>([
    [WebhookPaths.pod, podMutator(context)],
    [WebhookPaths.podRoom, validatePodRoom],
    [WebhookPaths.daemonSets, mutateDaemonSet],
    [WebhookPaths.mutateShadowPods, shadowPodMutator(context)],
    [WebhookPaths.validateShadowPods, shadowPodValidator(context)],
    [WebhookPaths.foreignCluster, mutateForeignCluster],
    [WebhookPaths.mutateVirtualNodes, virtualNodeMutator(context)],
    [WebhookPaths.validateVirtualNodes, virtualNodeValidator(context)],
    [WebhookPaths.mutateConfigurations, mutateConfiguration],
    [WebhookPaths.validateConfigurations, configurationValidator(context)],
    [WebhookPaths.validateGateways, gatewayValidator(context)],
    [WebhookPaths.mutateFirewallConfigurations, mutateFirewallConfiguration],
    [WebhookPaths.validateFirewallConfigurations, firewallConfigurationValidator(context)],
    [WebhookPaths.validateRouteConfigurations, routeConfigurationValidator(context)],
    [WebhookPaths.mutateTenants, mutateTenant],
    [WebhookPaths.validateTenants, tenantValidator(context)],
    [WebhookPaths.peerWrites, peerWriteValidator(context)],
    [WebhookPaths.peeringUserWrites, peeringUserValidator(context)],
    [WebhookPaths.resourceSlices, resourceSliceValidator(context)],
    [WebhookPaths.namespaceOffloading, namespaceOffloadingValidator(context)],
  ]);
}
