import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import {
  DataKeys,
  LabelValues,
  Labels,
  Names,
  QuotaResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
  remoteCertificateSecretName,
  sliceKubeconfigSecretName,
  sliceUserName,
  tenantNamespaceName,
  type Quota,
  type ResourceSlice,
  type ResourceSliceSpec,
  type Tenant,
  type VirtualNode,
} from "../../../agent/api/index.js";
import { readCertificateRequest } from "../../../agent/crypto/index.js";
import {
  CertificateSigningRequestResource,
  EventResource,
  KubeError,
  NamespaceResource,
  NodeResource,
  RoleBindingResource,
  SecretResource,
  findCondition,
  kubeTime,
  ownerReference,
} from "../../../agent/runtime/index.js";
import { requestFor, type RelativeName } from "../../support/certificate-request.js";
import { waitFor } from "../../support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { startControlPlane, type ControlPlane } from "./control-plane.js";
import {
  authenticate,
  exchangeNonce,
  forgeTenant,
  isAccepted,
  makeTenantNamespaces,
  waitForObject,
  waitUntilGone,
} from "./peering.js";

const MANAGER = { fieldManager: "test" };

/** A request that is right but for another group. */
function greedy(user: RelativeName[number], group: RelativeName[number]): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return text(requestFor([[group], [["O", "admins"]], [user]], key));
}

describe("slices of any class, and what is not acceptable", function () {
  this.timeout(240_000);
  let consumer: ControlPlane;
  let provider: ControlPlane;
  /** Where slices are asked for, and where their copies lie. */
  let here: string;
  let there: string;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    [consumer, provider] = await Promise.all([
      startControlPlane("consumer", { tlsCompatibilityMode: true }),
      startControlPlane("provider", {}, { webhooks: true }),
    ]);
    here = tenantNamespaceName(provider.id);
    there = tenantNamespaceName(consumer.id);
    await makeTenantNamespaces(consumer, provider);
  });

  after(async () => {
    await Promise.all([consumer?.stop(), provider?.stop()]);
  });

  it("are asked for by an RSA key in TLS compatibility mode, by an Ed25519 key otherwise", async () => {
    const keyTypeOf = async ({ client }: ControlPlane): Promise<string | undefined> => {
      const id = { name: Names.authenticationKeysSecret, namespace: Names.namespace };
      const keys = await client.get(SecretResource, id);
      return createPublicKey(Buffer.from(keys?.data?.[DataKeys.publicKey] ?? "", "base64")).asymmetricKeyType;
    };
    expect(await Promise.all([consumer, provider].map(keyTypeOf))).to.deep.equal(["rsa", "ed25519"]);
  });

  describe("a Tenant is refused", () => {
    let good: Tenant;

    before(async () => {
      good = await forgeTenant(consumer, await exchangeNonce(consumer, provider));
    });

    it("for the cluster itself", async () => {
      const namespace = "of-itself";
      const labels = { [Labels.remoteClusterID]: provider.id, [Labels.tenantNamespace]: "true" };
      await provider.client.create(NamespaceResource, { metadata: { name: namespace, labels } });
      const tenant = changed({ clusterID: provider.id });
      tenant.metadata = { name: provider.id, namespace, labels: { [Labels.remoteClusterID]: provider.id } };
      await refused(provider.client.create(TenantResource, tenant), /is this cluster itself/);
      await provider.client.delete(NamespaceResource, { name: namespace });
    });

    it("a second time in a namespace, and in another cluster's", async () => {
      await provider.client.create(TenantResource, good);
      // By then it has come to the webhooks, too, which judge by the controllers' own watch.
      await waitForObject(provider.client, TenantResource, tenantID(), "acceptance", ({ status }) => status);
      await refused(
        provider.client.create(TenantResource, { ...good, metadata: { ...good.metadata, name: "second" } }),
        /has a Tenant already/,
      );
      await refused(
        provider.client.create(TenantResource, { ...good, metadata: { ...good.metadata, namespace: "default" } }),
        /must be created in a tenant namespace/,
      );
      await remove();
    });

    const LONG = "x".repeat(64);
    for (const clusterID of ["", "Upper", "under_score", "-dash", LONG]) {
      it(`whose cluster ID is "${clusterID.slice(0, 20)}"`, async () => {
        await refused(provider.client.create(TenantResource, changed({ clusterID })), /clusterID|cluster ID/);
      });
    }

    it("whose request is no base64", async () => {
      await refused(provider.client.create(TenantResource, changed({ csr: "%%%" })), /spec\.csr/);
    });

    for (const [what, spec, reason] of [
      ["a public key that is none", { publicKey: text("none") }, "SignatureVerificationFailed"],
      ["a signature that is none", { signature: text("none") }, "SignatureVerificationFailed"],
      ["a request that is none", { csr: text("none") }, "InvalidCSR"],
      ["a request for another group besides", { csr: greedy(["CN", "consumer"], ["O", "liqo.io"]) }, "InvalidCSR"],
    ] as const) {
      it(`with ${what}, in an event, and nothing is made`, async () => {
        await provider.client.create(TenantResource, changed(spec));
        await waitFor(provider.client, EventResource, { namespace: there, timeoutMs: 40_000, what: reason }, (events) =>
          events.some((event) => event.reason === reason),
        );
        expect((await provider.client.get(TenantResource, tenantID()))?.status).to.equal(undefined);
        expect((await provider.client.list(RoleBindingResource, { namespace: there })).items).to.deep.equal([]);
        const certificate = { name: remoteCertificateSecretName(), namespace: there };
        expect(await provider.client.get(SecretResource, certificate)).to.equal(undefined);
        await remove();
        for (const { metadata } of (await provider.client.list(EventResource, { namespace: there })).items)
          await provider.client.delete(EventResource, { name: metadata?.name ?? "", namespace: there });
      });
    }

    function changed(spec: Partial<Tenant["spec"]>): Tenant {
      return { ...good, metadata: { ...good.metadata }, spec: { ...good.spec, ...spec } };
    }

    async function remove(): Promise<void> {
      await provider.client.delete(TenantResource, tenantID());
      await waitUntilGone(provider.client, TenantResource, tenantID());
    }

    function tenantID(): { name: string; namespace: string } {
      return { name: consumer.id, namespace: there };
    }
  });

  describe("a slice", () => {
    before(() => authenticate(consumer, provider));

    it("of a user's class waits for that class's controller, which may grant less than was asked for", async () => {
      await ask("special", { class: "gpu", resources: { cpu: "8", "example.com/gpu": "2" } });
      const waiting = await copy("special", ({ status }) => condition(status, "Authentication") === "Accepted");
      expect(condition(waiting.status, "Resources")).to.equal(undefined);
      await decide("special", "Accepted", "half of it", { cpu: "4", "example.com/gpu": "1" });
      const granted = await source("special", isAccepted);
      expect(granted.status?.resources).to.deep.equal({ cpu: "4", "example.com/gpu": "1" });
      await quota("special", ({ spec }) => spec.resources["cpu"] === "4" && !spec.cordoned);
    });

    it("of a user's class is left as that class's controller decided, whatever else happens", async () => {
      const tenant = { name: consumer.id, namespace: there };
      await provider.client.mergePatch(TenantResource, tenant, { metadata: { annotations: { touched: "1" } } });
      await ask("witness", { class: "default" });
      await source("witness", isAccepted);
      expect((await source("special", () => true)).status?.resources?.["cpu"]).to.equal("4");
    });

    it("that is denied says why, and gets no more pods", async () => {
      await decide("special", "Denied", "the devices are taken", { cpu: "4" });
      const denied = await source("special", ({ status }) => condition(status, "Resources") === "Denied");
      expect(findCondition(denied.status?.conditions, "Resources")?.message).to.equal("the devices are taken");
      await quota("special", ({ spec }) => spec.cordoned);
    });

    it("among several ends by itself", async () => {
      await ask("second", { class: "default", resources: { cpu: "3" } });
      await source("second", isAccepted);
      await consumer.client.delete(ResourceSliceResource, { name: "special", namespace: here });
      await waitUntilGone(consumer.client, ResourceSliceResource, { name: "special", namespace: here });
      // Quotas come and go a moment after their slices.
      const users = ["second", "witness"].map((name) => sliceUserName(name, consumer.id)).sort();
      const options = { namespace: there, timeoutMs: 40_000, what: `the Quotas of ${users.join(" and ")} alone` };
      await waitFor(provider.client, QuotaResource, options, (quotas) => {
        const present = quotas.map(({ spec }) => spec.user).sort();
        return JSON.stringify(present) === JSON.stringify(users);
      });
      const remaining = await source("second", () => true);
      expect(isAccepted(remaining) && remaining.status?.resources?.["cpu"]).to.equal("3");
    });

    it("tells of what architecture the provider's nodes are, as long as it is one and none that goes without saying", async () => {
      const architecture = "kubernetes.io/arch";
      const ofArchitecture = (told: string | undefined): Promise<ResourceSlice> =>
        source("second", (slice) => isAccepted(slice) && slice.status?.nodeLabels?.[architecture] === told);
      const join = (name: string, of: string, labels: Record<string, string> = {}): Promise<unknown> =>
        provider.client.create(NodeResource, { metadata: { name, labels: { ...labels, [architecture]: of } } });
      await ofArchitecture(undefined);
      await join("one", "arm64");
      await join("virtual", "amd64", { [Labels.type]: LabelValues.virtualNodeType });
      expect((await ofArchitecture("arm64")).status?.nodeLabels).to.include({ "liqo.io/provider": "test" });
      await join("other", "amd64");
      await ofArchitecture(undefined);
      await provider.client.mergePatch(NodeResource, { name: "other" }, { spec: { unschedulable: true } });
      await ofArchitecture("arm64");
      for (const name of ["one", "virtual", "other"]) await provider.client.delete(NodeResource, { name });
      await ofArchitecture(undefined);
    });

    it("is given back once the virtual nodes that it owns have drained, and leaves those of others alone", async () => {
      await ask("backed", { class: "default" });
      const slice = await source("backed", isAccepted);
      const owner = ownerReference(ResourceSliceResource, slice);
      const finalizers = ["example.com/drain"];
      await virtualNode("own", { ownerReferences: [owner], finalizers });
      await virtualNode("others", {});
      await consumer.client.delete(ResourceSliceResource, { name: "backed", namespace: here });
      const own = { name: "own", namespace: here };
      await waitForObject(
        consumer.client,
        VirtualNodeResource,
        own,
        "its drain",
        (node) => node.metadata.deletionTimestamp,
      );
      const options = { namespace: here, timeoutMs: 40_000, what: "what the slice waits for" };
      await waitFor(consumer.client, EventResource, options, (events) =>
        events.some(
          ({ reason, message }) =>
            reason === "WaitingForVirtualNodes" && message?.includes("VirtualNode " + here + "/own"),
        ),
      );
      await quota("backed", ({ metadata }) => !metadata.deletionTimestamp);
      expect((await copy("backed", () => true)).metadata.deletionTimestamp).to.equal(undefined);

      await consumer.client.mergePatch(VirtualNodeResource, own, { metadata: { finalizers: null } });
      await waitUntilGone(consumer.client, ResourceSliceResource, { name: "backed", namespace: here });
      const others = await consumer.client.get(VirtualNodeResource, { name: "others", namespace: here });
      expect(others?.metadata.deletionTimestamp, "the one made by hand").to.equal(undefined);

      async function virtualNode(name: string, metadata: Partial<VirtualNode["metadata"]>): Promise<void> {
        const kubeconfigSecretRef = { name: sliceKubeconfigSecretName("backed") };
        const spec = { clusterID: provider.id, kubeconfigSecretRef };
        const labels = { [Labels.resourceSliceName]: "backed" };
        const object = VirtualNodeResource.build({ metadata: { name, namespace: here, labels, ...metadata }, spec });
        await consumer.client.create(VirtualNodeResource, object);
      }
    });

    it("with a request that is none is denied, and says what is wrong", async () => {
      await ask("forged", { class: "default", csr: text("none") });
      const denied = await source("forged", ({ status }) => condition(status, "Authentication") === "Denied");
      expect(findCondition(denied.status?.conditions, "Authentication")?.message).to.match(/^spec\.csr: /);
      expect(denied.status?.authParams).to.equal(undefined);
      const certificate = { name: remoteCertificateSecretName("forged"), namespace: there };
      expect(await provider.client.get(SecretResource, certificate)).to.equal(undefined);
    });

    it("with a request for another group besides is denied, and no certificate made", async () => {
      // Of a consumer whose controllers are its own.
      const namespace = tenantNamespaceName("ghost");
      const ofGhost = { [Labels.remoteClusterID]: "ghost" };
      const labels = { ...ofGhost, [Labels.tenantNamespace]: "true" };
      await provider.client.create(NamespaceResource, { metadata: { name: namespace, labels } });
      const tenant = { metadata: { name: "ghost", namespace, labels: ofGhost } };
      const spec = { clusterID: "ghost", authzPolicy: "TolerateNoHandshake" } as const;
      await provider.client.create(TenantResource, TenantResource.build({ ...tenant, spec }));
      const csr = greedy(["CN", sliceUserName("greedy", "ghost")], ["O", "ghost"]);
      const id = { name: "greedy", namespace };
      const copied = { ...ofGhost, [Labels.replicated]: "true", [Labels.originID]: "ghost" };
      const asked = { class: "default", consumerClusterID: "ghost", providerClusterID: provider.id, csr };
      await provider.client.create(
        ResourceSliceResource,
        ResourceSliceResource.build({ metadata: { ...id, labels: copied }, spec: asked }),
      );
      const denied = await waitForObject(provider.client, ResourceSliceResource, id, "its state", ({ status }) =>
        condition(status, "Authentication"),
      );
      expect(findCondition(denied.status?.conditions, "Authentication")).to.include({
        status: "Denied",
        message: 'spec.csr: its organization is "ghost" and "admins", not "ghost" alone',
      });
      const certificate = { name: remoteCertificateSecretName("greedy"), namespace };
      expect(await provider.client.get(SecretResource, certificate)).to.equal(undefined);
      const requests = await provider.client.list(CertificateSigningRequestResource);
      const subjects = requests.items.map(({ spec }) => Buffer.from(spec.request, "base64").toString());
      expect(subjects.map(readCertificateRequest).flatMap(({ organizations }) => organizations)).not.to.contain(
        "admins",
      );
    });

    it("with an amount that is none is refused", async () => {
      await refused(ask("malformed", { class: "default", resources: { cpu: "much" } }), /resources/);
    });
  });

  async function ask(name: string, spec: ResourceSliceSpec): Promise<void> {
    const labels = {
      [Labels.replication]: "true",
      [Labels.remoteID]: provider.id,
      [Labels.remoteClusterID]: provider.id,
    };
    await consumer.client.apply(ResourceSliceResource, { metadata: { name, namespace: here, labels }, spec }, MANAGER);
  }

  function source(name: string, predicate: (slice: ResourceSlice) => unknown): Promise<ResourceSlice> {
    return waitForObject(consumer.client, ResourceSliceResource, { name, namespace: here }, "its state", predicate);
  }

  function copy(name: string, predicate: (slice: ResourceSlice) => unknown): Promise<ResourceSlice> {
    return waitForObject(provider.client, ResourceSliceResource, { name, namespace: there }, "its state", predicate);
  }

  async function quota(name: string, predicate: (quota: Quota) => unknown): Promise<void> {
    const id = { name: sliceUserName(name, consumer.id), namespace: there };
    await waitForObject(provider.client, QuotaResource, id, "its quota", predicate);
  }

  /** What the controller of a class writes, and nothing else. */
  async function decide(
    name: string,
    status: "Accepted" | "Denied",
    message: string,
    resources: Record<string, string>,
  ): Promise<void> {
    const present = await copy(name, () => true);
    const others = present.status?.conditions?.filter(({ type }) => type !== "Resources") ?? [];
    const decision = {
      type: "Resources" as const,
      status,
      reason: "ByClass",
      message,
      lastTransitionTime: kubeTime(),
    };
    await provider.client.mergePatch(
      ResourceSliceResource,
      { name, namespace: there },
      { status: { resources, conditions: [...others, decision] } },
      { subresource: "status" },
    );
  }
});

function condition(status: ResourceSlice["status"], type: "Authentication" | "Resources"): string | undefined {
  return findCondition(status?.conditions, type)?.status;
}

function text(value: string): string {
  return Buffer.from(value).toString("base64");
}

async function refused(attempt: Promise<unknown>, why: RegExp): Promise<void> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(KubeError);
  expect((error as KubeError).message).to.match(why);
}
