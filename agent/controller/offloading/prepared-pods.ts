import type { MutatingWebhookConfiguration } from "kubernetes-types/admissionregistration/v1";
import type { Namespace } from "kubernetes-types/core/v1";
import { Labels } from "../../api/index.js";
import { MutatingWebhookConfigurationResource, type Informer } from "../../runtime/index.js";
import { POD_WEBHOOK } from "../webhooks/paths.js";
import type { ControllerContext } from "../context.js";
import { matchesLabelSelector } from "./label-selector.js";

type Selector = Parameters<typeof matchesLabelSelector>[0];

/** The agent's own configurations of webhooks. */
export function webhookConfigurations({
  informers,
}: Pick<ControllerContext, "informers">): Informer<MutatingWebhookConfiguration> {
  return informers.for(MutatingWebhookConfigurationResource, { labelSelector: `${Labels.webhook}=true` });
}

/**
 * Whether a pod that is made in a namespace now is prepared for virtual nodes. Read from what the API server goes by: beside the namespaces that the
 * agent leaves alone itself, platforms add some of their own to every webhook.
 */
export function preparesPods(
  configurations: readonly MutatingWebhookConfiguration[],
  namespace: Namespace | undefined,
): boolean {
  const selectors = configurations
    .flatMap(({ webhooks = [] }) => webhooks)
    .filter(({ name }) => name === POD_WEBHOOK)
    .map(({ namespaceSelector }) => (namespaceSelector ?? {}) as Selector);
  return selectors.some((selector) => namespace && matchesLabelSelector(selector, namespace.metadata?.labels));
}
