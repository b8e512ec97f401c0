import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "kubernetes-types/admissionregistration/v1";
import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, Labels, Names } from "../../api/index.js";
import {
  Controller,
  isAlreadyExists,
  MutatingWebhookConfigurationResource,
  SecretResource,
  ValidatingWebhookConfigurationResource,
  type ResourceType,
} from "../../runtime/index.js";
import { firstCertificate, isServing, makeCertificates } from "./certificates.js";
import type { WebhookContext } from "./context.js";
import type { WebhookServer } from "./server.js";

type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

/** How often the certificate's remaining life is looked at. */
const CHECK_MS = 6 * 60 * 60 * 1000;
const KEY = "webhooks";

/**
 * Watches Secret liqo-webhook-certs and the webhook configurations labelled liqo.io/webhook=true. Owns the Secret: makes the certificates
 * when any is missing, near its end or not for our names. Writes the authority into the configurations and the
 * certificate into the running server. Runs on every replica, as each serves; whichever comes first makes the Secret.
 */
export function certificateController(context: WebhookContext, server: WebhookServer, hosts: string[]): Controller {
  const { client, informers, config, logger } = context;
  const name = Names.webhookSecret;
  const { namespace } = config;
  const secrets = informers.for(SecretResource, { namespace, fieldSelector: `metadata.name=${name}` });
  const labelSelector = `${Labels.webhook}=true`;
  const mutating = informers.for(MutatingWebhookConfigurationResource, { labelSelector });
  const validating = informers.for(ValidatingWebhookConfigurationResource, { labelSelector });
  let serving: string | undefined;

  async function ensureSecret(): Promise<Secret> {
    const present = secrets.find(namespace, name) ?? (await client.get(SecretResource, { name, namespace }));
    if (present && isUsable(present, hosts)) return present;
    const made = await makeCertificates(hosts);
    // The former authority stays trusted until every replica serves with the new certificate.
    const former = firstCertificate(decode(present, DataKeys.webhookCA));
    const secret: Secret = {
      metadata: {
        ...present?.metadata,
        name,
        namespace,
        labels: { ...present?.metadata?.labels, [Labels.webhook]: "true" },
      },
      type: present?.type ?? "Opaque",
      data: {
        [DataKeys.webhookCA]: encode(made.ca + former),
        [DataKeys.webhookCertificate]: encode(made.certificate),
        [DataKeys.webhookKey]: encode(made.key),
      },
    };
    logger.info({ renewed: present !== undefined }, "webhook certificates made");
    // With the resource version that was seen: of two replicas one wins, the other conflicts and looks again.
    if (present) return client.replace(SecretResource, secret);
    try {
      return await client.create(SecretResource, secret);
    } catch (error) {
      const other = isAlreadyExists(error) ? await client.get(SecretResource, { name, namespace }) : undefined;
      if (!other) throw error;
      return other;
    }
  }

  async function inject<T extends WebhookConfiguration>(type: ResourceType<T>, object: T, ca: string): Promise<void> {
    const operations = caBundlePatch(object, ca);
    if (operations.length === 0) return;
    await client.jsonPatch(type, { name: object.metadata?.name ?? "" }, operations);
  }

  const controller = new Controller({
    name: "webhook-certificates",
    workers: 1,
    logger,
    reconcile: async () => {
      await Promise.all([mutating.waitForSync(), validating.waitForSync(), secrets.waitForSync()]);
      const secret = await ensureSecret();
      const certificate = decode(secret, DataKeys.webhookCertificate);
      if (certificate !== serving) {
        server.use({ certificate, key: decode(secret, DataKeys.webhookKey) });
        serving = certificate;
      }
      const ca = secret.data?.[DataKeys.webhookCA] ?? "";
      await Promise.all([
        ...mutating.list().map((object) => inject(MutatingWebhookConfigurationResource, object, ca)),
        ...validating.list().map((object) => inject(ValidatingWebhookConfigurationResource, object, ca)),
      ]);
      return { requeueAfterMs: CHECK_MS };
    },
  });
  const one = (): string[] => [KEY];
  controller.watch(secrets, one).watch(mutating, one).watch(validating, one).enqueue(KEY);
  return controller;
}

/** The operations that put the authority into each webhook; each names the webhook that it expects at its place. */
export function caBundlePatch(object: WebhookConfiguration, ca: string): { op: string; path: string; value: string }[] {
  return (object.webhooks ?? []).flatMap((webhook, index) => {
    if (webhook.clientConfig.caBundle === ca) return [];
    const path = `/webhooks/${index}`;
    return [
      { op: "test", path: `${path}/name`, value: webhook.name },
      { op: "add", path: `${path}/clientConfig/caBundle`, value: ca },
    ];
  });
}

function isUsable(secret: Secret, hosts: string[]): boolean {
  const [ca, certificate, key] = [DataKeys.webhookCA, DataKeys.webhookCertificate, DataKeys.webhookKey].map((entry) =>
    decode(secret, entry),
  );
  return Boolean(ca && key && certificate && isServing(certificate, hosts));
}

function decode(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
