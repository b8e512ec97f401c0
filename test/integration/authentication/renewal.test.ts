import { expect } from "chai";
import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import {
  DataKeys,
  ForeignClusterResource,
  IdentityResource,
  controlPlaneIdentityName,
  resourceSliceIdentityName,
  sliceKubeconfigSecretName,
  tenantNamespaceName,
  type Identity,
} from "../../../agent/api/index.js";
import { validityOf, type Validity } from "../../../agent/crypto/index.js";
import {
  CertificateSigningRequestResource,
  Informer,
  KubeClient,
  SecretResource,
  findCondition,
  objectPath,
} from "../../../agent/runtime/index.js";
import type { ApiServer } from "../support/api-server.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { startControlPlane, type ControlPlane } from "./control-plane.js";
import { authenticate, makeTenantNamespaces, requestSlice, waitForObject } from "./peering.js";

/** Renewal is due when a third is left: more than it takes where the machine has much else to do. */
const LIFETIME_SECONDS = 30;
/** Between two renegotiations: some hundred in all, without taking the machine for them. */
const PAUSE_MS = 200;

/** The provider's certificates come from the test, as no signer of Kubernetes makes such short ones. */
describe("identities that expire within seconds", function () {
  this.timeout(120_000);
  let consumer: ControlPlane;
  let provider: ControlPlane;
  let signer: Informer<CertificateSigningRequest>;
  let statuses: Informer<ReturnType<typeof ForeignClusterResource.build>>;
  const seen = new Set<string>();

  before(async function () {
    this.timeout(START_LIMIT_MS);
    [consumer, provider] = await Promise.all([
      // Asks often, and is patient: an identity that has expired is refused at once.
      startControlPlane("consumer", { pingIntervalSeconds: 1, pingTimeoutSeconds: 10 }),
      startControlPlane("provider", {}, { signer: false }),
    ]);
    signer = startSigner(provider.server);
    statuses = new Informer(consumer.client, ForeignClusterResource).onEvent(({ object }) => {
      seen.add(findCondition(object.status?.conditions, "APIServerStatus")?.status ?? "unknown");
    });
    await makeTenantNamespaces(consumer, provider);
    await authenticate(consumer, provider);
    await requestSlice(consumer, provider, { cpu: "1" });
    await waitForObject(
      consumer.client,
      ForeignClusterResource,
      { name: provider.id },
      "established",
      ({ status }) => findCondition(status?.conditions, "APIServerStatus")?.status === "Established",
    );
    statuses.start();
  });

  after(async () => {
    await statuses?.stop();
    await signer?.stop();
    await Promise.all([consumer?.stop(), provider?.stop()]);
  });

  it("are renewed in time, again and again, while replication goes on", async () => {
    const [first, ofSlice] = [await identity("control plane"), await identity("slice")];
    let renewals = 0;
    let negotiations = 0;
    for (let used = first; renewals < 2; negotiations += 1) {
      await requestSlice(consumer, provider, { cpu: String(2 + (negotiations % 7)) });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      const present = await identity("control plane");
      if (present.certificate === used.certificate) continue;
      // Not when it is seen here: a renegotiation lies in between.
      expect(used.notAfter, "renewed before it expired").to.be.greaterThan(present.notBefore);
      renewals += 1;
      used = present;
    }
    console.log(`      ${negotiations} renegotiations during ${renewals} renewals`);
    expect(Date.now(), "the first certificate has expired").to.be.greaterThan(first.notAfter);
    expect((await identity("slice")).certificate).not.to.equal(ofSlice.certificate);
    await theSliceIdentityWorks();
    expect([...seen]).to.deep.equal(["Established"]);
  });

  async function identity(of: "control plane" | "slice"): Promise<Validity & { certificate: string }> {
    const name = of === "slice" ? resourceSliceIdentityName(provider.id) : controlPlaneIdentityName(provider.id);
    const id = { name, namespace: tenantNamespaceName(provider.id) };
    const { spec } = await waitForObject<Identity>(consumer.client, IdentityResource, id, "certificate", (present) =>
      Boolean(present.spec.authParams?.signedCRT),
    );
    const certificate = spec.authParams?.signedCRT ?? "";
    return { certificate, ...(validityOf(Buffer.from(certificate, "base64")) ?? { notBefore: 0, notAfter: 0 }) };
  }

  async function theSliceIdentityWorks(): Promise<void> {
    const name = sliceKubeconfigSecretName(provider.id);
    const secret = await consumer.client.get(SecretResource, { name, namespace: tenantNamespaceName(provider.id) });
    const client = KubeClient.fromText(Buffer.from(secret?.data?.[DataKeys.kubeconfig] ?? "", "base64").toString());
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const { status } = await client.request<{ status: { userInfo: { groups: string[] } } }>("POST", path, {
      body: review,
    });
    expect(status.userInfo.groups).to.include(consumer.id);
    client.close();
  }
});

/** Signs what is approved. */
function startSigner({ client, authority }: ApiServer): Informer<CertificateSigningRequest> {
  const sign = async (request: CertificateSigningRequest): Promise<void> => {
    const { name = "" } = request.metadata ?? {};
    const pem = Buffer.from(request.spec.request, "base64").toString();
    const certificate = Buffer.from(await authority.sign(pem, LIFETIME_SECONDS)).toString("base64");
    const body = { ...request, status: { ...request.status, certificate } };
    await client.request("PUT", objectPath(CertificateSigningRequestResource, { name }, "status"), { body });
  };
  const isOpen = ({ status }: CertificateSigningRequest): boolean =>
    !status?.certificate && (status?.conditions?.some(({ type }) => type === "Approved") ?? false);
  const signed = new Set<string>();
  return new Informer(client, CertificateSigningRequestResource)
    .onEvent(({ type, object }) => {
      const { uid = "" } = object.metadata ?? {};
      if (type === "deleted" || !isOpen(object) || signed.has(uid)) return;
      signed.add(uid);
      void sign(object);
    })
    .start();
}
