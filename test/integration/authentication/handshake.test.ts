import { expect } from "chai";
import {
  ForeignClusterResource,
  IdentityResource,
  Names,
  QuotaResource,
  RenewResource,
  ResourceSliceResource,
  TenantResource,
  controlPlaneIdentityName,
  kubeconfigSecretName,
  remoteCertificateSecretName,
  resourceSliceIdentityName,
  sliceUserName,
  tenantNamespaceName,
} from "../../../agent/api/index.js";
import {
  CertificateSigningRequestResource,
  EventResource,
  KubeClient,
  RoleBindingResource,
  SecretResource,
  findCondition,
  isForbidden,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { startControlPlane, type ControlPlane } from "./control-plane.js";
import {
  authenticate,
  copyID,
  exchangeNonce,
  forgeTenant,
  makeTenantNamespaces,
  requestSlice,
  sliceID,
  unpeer,
  waitForObject,
  waitUntilGone,
} from "./peering.js";
import { waitFor } from "../../support/wait.js";

describe("the control plane of two clusters", function () {
  this.timeout(240_000);
  let consumer: ControlPlane;
  let provider: ControlPlane;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    [consumer, provider] = await Promise.all([startControlPlane("consumer"), startControlPlane("provider")]);
    await makeTenantNamespaces(consumer, provider);
  });

  after(async () => {
    await Promise.all([consumer?.stop(), provider?.stop()]);
  });

  it("refuses a Tenant whose signature is forged, and says so", async () => {
    const signature = Buffer.from(await exchangeNonce(consumer, provider), "base64");
    signature[0] = (signature[0] ?? 0) ^ 1;
    const tenant = await forgeTenant(consumer, signature.toString("base64"));
    await provider.client.apply(TenantResource, tenant, { fieldManager: "test" });
    const namespace = tenantNamespaceName(consumer.id);
    await waitFor(provider.client, EventResource, { namespace, timeoutMs: 40_000, what: "the event" }, (events) =>
      events.some(({ reason }) => reason === "SignatureVerificationFailed"),
    );
    const refused = await provider.client.get(TenantResource, { name: consumer.id, namespace });
    expect(refused?.status).to.equal(undefined);
    expect((await provider.client.list(RoleBindingResource, { namespace })).items).to.have.length(0);
    expect((await provider.client.list(CertificateSigningRequestResource)).items).to.have.length(0);
    await provider.client.delete(TenantResource, { name: consumer.id, namespace });
    await waitUntilGone(provider.client, TenantResource, { name: consumer.id, namespace });
  });

  for (const round of [1, 2, 3]) {
    it(`peers, renegotiates and unpeers, round ${round}`, async () => {
      const started = Date.now();
      await authenticate(consumer, provider);
      const accepted = await requestSlice(consumer, provider, { cpu: "2" });
      const took = Date.now() - started;
      console.log(`      handshake to accepted slice: ${took} ms`);
      expect(took).to.be.below(5_000);
      expect(accepted.status?.resources).to.deep.equal({
        cpu: "2",
        memory: "8Gi",
        pods: "110",
        "ephemeral-storage": "20Gi",
      });
      expect(accepted.status?.ingressClasses).to.deep.equal([{ ingressClassName: "nginx", default: true }]);
      expect(accepted.status?.nodeLabels).to.deep.equal({ "liqo.io/provider": "test" });

      await theSliceIdentityWorks();
      await theCopyIsLabelled();
      await renegotiation();
      await bothForeignClusters();

      const unpeering = Date.now();
      await unpeer(consumer, provider);
      console.log(`      unpeering: ${Date.now() - unpeering} ms`);
      await nothingIsLeft();
    });
  }

  it("continues where it was when both controllers restart in the middle", async () => {
    await authenticate(consumer, provider);
    const identity = { name: controlPlaneIdentityName(provider.id), namespace: tenantNamespaceName(provider.id) };
    const secretID = { name: kubeconfigSecretName(identity.name), namespace: identity.namespace };
    const before = await consumer.client.get(SecretResource, secretID);
    await Promise.all([consumer.restart(), provider.restart()]);
    await requestSlice(consumer, provider, { cpu: "1" });
    const after = await consumer.client.get(SecretResource, secretID);
    expect(after?.data).to.deep.equal(before?.data);
  });

  it("carries a renewed certificate to the consumer", async () => {
    const identity = { name: controlPlaneIdentityName(provider.id), namespace: tenantNamespaceName(provider.id) };
    const used = (await consumer.client.get(IdentityResource, identity))?.spec.authParams?.signedCRT;
    const namespace = tenantNamespaceName(consumer.id);
    // What is stored for another key is no answer; certificates tell their time in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const stored = { name: remoteCertificateSecretName(), namespace };
    const other = Buffer.from(provider.server.authority.certificate).toString("base64");
    await provider.client.mergePatch(SecretResource, stored, { data: { certificate: other } });
    const touched = { metadata: { annotations: { touched: "1" } } };
    await provider.client.mergePatch(TenantResource, { name: consumer.id, namespace }, touched);
    const renewed = await waitForObject(
      consumer.client,
      IdentityResource,
      identity,
      "a new certificate",
      ({ spec }) => spec.authParams?.signedCRT !== used,
    );
    const secret = { name: kubeconfigSecretName(identity.name), namespace: identity.namespace };
    await waitForObject(consumer.client, SecretResource, secret, "it", ({ data }) =>
      Buffer.from(data?.["kubeconfig"] ?? "", "base64")
        .toString()
        .includes(renewed.spec.authParams?.signedCRT ?? "-"),
    );
    // Replication goes on with it.
    await requestSlice(consumer, provider, { cpu: "7" });
  });

  it("goes on with its former key where it has a new one, until the provider knows that, and then with the new one", async () => {
    const { client } = consumer;
    const namespace = tenantNamespaceName(provider.id);
    const [own, ofSlice] = [controlPlaneIdentityName(provider.id), resourceSliceIdentityName(provider.id)];
    const kubeconfig = (identity: string) => ({ name: kubeconfigSecretName(identity), namespace });
    const before = await Promise.all([own, ofSlice].map((name) => client.get(SecretResource, kubeconfig(name))));
    const identity = await client.get(IdentityResource, { name: ofSlice, namespace });
    const keys = { name: Names.authenticationKeysSecret, namespace: Names.namespace };
    const former = await client.get(SecretResource, keys);
    const signedID = { name: Names.signedNonceSecret, namespace };
    const signed = await client.get(SecretResource, signedID);
    await client.delete(SecretResource, keys);
    await waitForObject(
      client,
      SecretResource,
      keys,
      "new ones",
      ({ metadata }) => metadata?.uid !== former?.metadata?.uid,
    );
    for (const name of [own, ofSlice]) {
      const what = `the warning on Identity ${name}`;
      await waitFor(client, EventResource, { namespace, timeoutMs: 40_000, what }, (events) =>
        events.some(({ reason, involvedObject }) => reason === "CertificateOfOtherKey" && involvedObject.name === name),
      );
    }
    await requestSlice(consumer, provider, { cpu: "8" });
    const between = await Promise.all([own, ofSlice].map((name) => client.get(SecretResource, kubeconfig(name))));
    expect(between.map((secret) => secret?.data)).to.deep.equal(before.map((secret) => secret?.data));

    await waitForObject(client, SecretResource, signedID, "a signature by the new key", ({ data }) =>
      Boolean(data?.["signedNonce"] && data["signedNonce"] !== signed?.data?.["signedNonce"]),
    );
    await authenticate(consumer, provider);
    for (const [index, name] of [own, ofSlice].entries())
      await waitForObject(client, SecretResource, kubeconfig(name), "the new key", ({ data }) =>
        Boolean(data?.["kubeconfig"] && data["kubeconfig"] !== before[index]?.data?.["kubeconfig"]),
      );
    const after = await client.get(IdentityResource, { name: ofSlice, namespace });
    expect(after?.metadata.uid, "the slice's identity").to.equal(identity?.metadata.uid);
    await requestSlice(consumer, provider, { cpu: "9" });
  });

  it("withdraws a drained tenant's rights, and gives them back", async () => {
    const tenant = { name: consumer.id, namespace: tenantNamespaceName(consumer.id) };
    await provider.client.mergePatch(TenantResource, tenant, { spec: { tenantCondition: "Drained" } });
    await waitUntilGone(provider.client, RoleBindingResource, {
      name: Names.remoteControlPlaneBinding,
      namespace: tenant.namespace,
    });
    await waitUntilGone(provider.client, ResourceSliceResource, copyID(consumer, provider));
    await provider.client.mergePatch(TenantResource, tenant, { spec: { tenantCondition: "Active" } });
    await waitForObject(
      provider.client,
      ResourceSliceResource,
      copyID(consumer, provider),
      "return",
      ({ status }) => findCondition(status?.conditions, "Resources")?.status === "Accepted",
    );
  });

  it("lets the consumer go although the provider has withdrawn its rights for good", async () => {
    const tenant = { name: consumer.id, namespace: tenantNamespaceName(consumer.id) };
    await provider.client.delete(TenantResource, tenant);
    await waitUntilGone(provider.client, TenantResource, tenant);
    await unpeer(consumer, provider);
    await waitUntilGone(consumer.client, ForeignClusterResource, { name: provider.id });
  });

  /** What goes with something else goes a moment later than that. */
  async function none(client: KubeClient, type: ResourceType, namespace?: string): Promise<void> {
    const options = { namespace, timeoutMs: 40_000, what: `no ${type.plural}` };
    await waitFor(client, type, options, (objects) => objects.length === 0);
  }

  async function theSliceIdentityWorks(): Promise<void> {
    const identityName = resourceSliceIdentityName(provider.id);
    const namespace = tenantNamespaceName(provider.id);
    await waitForObject(
      consumer.client,
      IdentityResource,
      { name: identityName, namespace },
      "kubeconfig",
      ({ status }) => status?.kubeconfigSecretRef?.name,
    );
    const secret = await consumer.client.get(SecretResource, { name: kubeconfigSecretName(identityName), namespace });
    const client = KubeClient.fromText(Buffer.from(secret?.data?.["kubeconfig"] ?? "", "base64").toString());
    const review = await client.request<{ status: { userInfo: { username: string; groups: string[] } } }>(
      "POST",
      "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      { body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" } },
    );
    expect(review.status.userInfo.username).to.equal(sliceUserName(provider.id, consumer.id));
    expect(review.status.userInfo.groups).to.include(consumer.id);
    const refused = await client.list(SecretResource, { namespace: "kube-system" }).catch((error: unknown) => error);
    expect(isForbidden(refused)).to.equal(true);
    client.close();
  }

  async function theCopyIsLabelled(): Promise<void> {
    const copy = await provider.client.get(ResourceSliceResource, copyID(consumer, provider));
    expect(copy?.metadata.labels).to.include({
      "liqo.io/replication": "false",
      "liqo.io/replicated": "true",
      "liqo.io/originID": consumer.id,
      "liqo.io/remoteID": provider.id,
      "liqo.io/remote-cluster-id": consumer.id,
    });
    expect(copy?.metadata.finalizers).to.equal(undefined);
    const quotaID = {
      name: sliceUserName(provider.id, consumer.id),
      namespace: tenantNamespaceName(consumer.id),
    };
    await waitForObject(provider.client, QuotaResource, quotaID, "cpu 2", ({ spec }) => spec.resources["cpu"] === "2");
  }

  async function renegotiation(): Promise<void> {
    const started = Date.now();
    await requestSlice(consumer, provider, { cpu: "3", "example.com/gpu": "1" });
    const accepted = await requestSlice(consumer, provider, { cpu: "1500m" });
    console.log(`      two renegotiations: ${Date.now() - started} ms`);
    expect(accepted.status?.resources).not.to.have.property("example.com/gpu");
  }

  async function bothForeignClusters(): Promise<void> {
    const onConsumer = await waitForObject(
      consumer.client,
      ForeignClusterResource,
      { name: provider.id },
      "established",
      ({ status }) =>
        findCondition(status?.conditions, "APIServerStatus")?.status === "Established" &&
        findCondition(status?.modules.authentication.conditions, "AuthIdentityControlPlaneStatus")?.status === "Ready",
    );
    expect(onConsumer.status).to.deep.include({
      role: "Provider",
      apiServerUrl: provider.server.url,
      tenantNamespace: { local: tenantNamespaceName(provider.id), remote: tenantNamespaceName(consumer.id) },
    });
    expect(onConsumer.status?.modules.networking).to.deep.equal({ enabled: false });
    expect(onConsumer.status?.modules.offloading).to.deep.equal({ enabled: false });
    const onProvider = await waitForObject(
      provider.client,
      ForeignClusterResource,
      { name: consumer.id },
      "tenant",
      ({ status }) => findCondition(status?.modules.authentication.conditions, "AuthTenantStatus")?.status === "Ready",
    );
    expect(onProvider.status?.role).to.equal("Consumer");
  }

  async function nothingIsLeft(): Promise<void> {
    const onProvider = tenantNamespaceName(consumer.id);
    const { client } = provider;
    await waitUntilGone(client, SecretResource, { name: remoteCertificateSecretName(), namespace: onProvider });
    await waitUntilGone(client, SecretResource, {
      name: remoteCertificateSecretName(provider.id),
      namespace: onProvider,
    });
    await waitUntilGone(client, ForeignClusterResource, { name: consumer.id });
    await waitUntilGone(consumer.client, ForeignClusterResource, { name: provider.id });
    await none(client, CertificateSigningRequestResource);
    await none(client, QuotaResource);
    await none(client, RoleBindingResource, onProvider);
    for (const { client: either } of [consumer, provider]) {
      await none(either, RenewResource);
      await none(either, ResourceSliceResource);
      await none(either, IdentityResource);
    }
    expect(await consumer.client.get(ResourceSliceResource, sliceID(provider))).to.equal(undefined);
  }
});
