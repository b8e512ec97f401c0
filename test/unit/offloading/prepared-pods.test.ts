import { expect } from "chai";
import type { MutatingWebhookConfiguration } from "kubernetes-types/admissionregistration/v1";
import type { Namespace } from "kubernetes-types/core/v1";
import { preparesPods } from "../../../agent/controller/offloading/prepared-pods.js";
import { preparationWarnings } from "../../../agent/controller/webhooks/namespace-offloading.js";
import { webhookManifests } from "../../../agent/install/webhook-manifests.js";

const [, installed] = webhookManifests({ namespace: "liqo" });
const namespace = (name: string, labels: Record<string, string> = {}): Namespace => ({
  metadata: { name, labels: { "kubernetes.io/metadata.name": name, ...labels } },
});
const labelled = { "liqo.io/scheduling-enabled": "true" };

/** As a platform writes into every webhook what it may not touch. */
function narrowed(configuration: MutatingWebhookConfiguration): MutatingWebhookConfiguration {
  const matchExpressions = [{ key: "control-plane", operator: "DoesNotExist" }];
  return {
    ...configuration,
    webhooks: configuration.webhooks?.map((webhook) => ({
      ...webhook,
      namespaceSelector: {
        ...webhook.namespaceSelector,
        matchExpressions: [...(webhook.namespaceSelector?.matchExpressions ?? []), ...matchExpressions],
      },
    })),
  };
}

describe("whether pods are prepared for virtual nodes", () => {
  it("follows the webhook's selector: the label, and not the cluster's and the agent's own namespaces", () => {
    expect(preparesPods([installed], namespace("app", labelled))).to.equal(true);
    expect(preparesPods([installed], namespace("app"))).to.equal(false);
    for (const name of ["kube-system", "liqo"])
      expect(preparesPods([installed], namespace(name, labelled)), name).to.equal(false);
    expect(preparesPods([installed], undefined)).to.equal(false);
  });

  it("follows what a platform has added to it, and is not so without any webhook", () => {
    const guarded = namespace("guarded", { ...labelled, "control-plane": "true" });
    expect(preparesPods([installed], guarded)).to.equal(true);
    expect(preparesPods([narrowed(installed)], guarded)).to.equal(false);
    expect(preparesPods([narrowed(installed)], namespace("app", labelled))).to.equal(true);
    expect(preparesPods([], namespace("app", labelled))).to.equal(false);
  });

  it("is said to whoever offloads a namespace, before its label is there", () => {
    expect(preparationWarnings("app", [installed], namespace("app"))).to.deep.equal([]);
    const [warning] = preparationWarnings("kube-system", [installed], namespace("kube-system"));
    expect(warning).to.contain("pods of namespace kube-system are not prepared").and.to.contain("RuntimeClass liqo");
  });
});
