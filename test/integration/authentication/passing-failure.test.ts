import { expect } from "chai";
import {
  IdentityResource,
  Labels,
  ResourceSliceResource,
  remoteCertificateSecretName,
  resourceSliceIdentityName,
  tenantNamespaceName,
  type ResourceSlice,
} from "../../../agent/api/index.js";
import { EventResource, Informer, findCondition } from "../../../agent/runtime/index.js";
import { waitFor } from "../../support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { startWriteProxy, type WriteProxy } from "../support/write-proxy.js";
import { startControlPlane, type ControlPlane } from "./control-plane.js";
import {
  authenticate,
  copyID,
  isAccepted,
  makeTenantNamespaces,
  requestSlice,
  sliceID,
  waitForObject,
} from "./peering.js";

/** The provider's controllers reach their API server by a proxy that fails what the test names. */
describe("a provider that cannot issue a certificate at the moment", function () {
  this.timeout(120_000);
  let consumer: ControlPlane;
  let provider: ControlPlane;
  let proxy: WriteProxy;
  let fails: (method: string, url: string) => number | undefined = () => undefined;
  /** The slices, on either side, that were denied at any time. */
  const denied = new Set<string>();
  const informers: Informer<ResourceSlice>[] = [];

  before(async function () {
    this.timeout(START_LIMIT_MS);
    const url = async (server: ControlPlane["server"]): Promise<string> => {
      proxy = await startWriteProxy(
        server,
        () => false,
        (method, path) => fails(method, path),
      );
      return proxy.url;
    };
    [consumer, provider] = await Promise.all([
      startControlPlane("consumer"),
      startControlPlane("provider", {}, { url }),
    ]);
    await makeTenantNamespaces(consumer, provider);
    await authenticate(consumer, provider);
    await requestSlice(consumer, provider, { cpu: "1" });
    for (const { client, id } of [consumer, provider]) {
      const informer = new Informer(client, ResourceSliceResource).onEvent(({ object }) => {
        if (authentication(object)?.status === "Denied") denied.add(`${id}: ${object.metadata.name}`);
      });
      informer.start();
      await informer.waitForSync(20_000);
      informers.push(informer);
    }
  });

  after(async () => {
    await Promise.all(informers.map((informer) => informer.stop()));
    await Promise.all([consumer?.stop(), provider?.stop()]);
    await proxy?.stop();
  });

  it("leaves an accepted slice as it is", async () => {
    const identity = await identityOf(provider.id);
    const certificate = `/secrets/${remoteCertificateSecretName(provider.id)}`;
    let asked = 0;
    // The first of them.
    fails = (method, url) => (method === "GET" && url.includes(certificate) && asked++ === 0 ? 500 : undefined);
    const touched = { metadata: { annotations: { touched: "1" } } };
    await provider.client.mergePatch(ResourceSliceResource, copyID(consumer, provider), touched);
    await told(provider.id);
    // By then both sides have looked at what came of it.
    await requestSlice(consumer, provider, { cpu: "2" });
    expect(asked).to.be.greaterThan(1);
    expect([...denied]).to.deep.equal([]);
    const after = await identityOf(provider.id);
    expect(after.metadata.uid).to.equal(identity.metadata.uid);
    expect(after.spec).to.deep.equal(identity.spec);
  });

  it("leaves a new slice pending, and says why", async () => {
    fails = (method, url) =>
      method === "GET" && url.includes(`/secrets/${remoteCertificateSecretName("new")}`) ? 500 : undefined;
    await ask("new");
    await told("new");
    const waiting = await copy("new", ({ status }) => findCondition(status?.conditions, "Resources"));
    expect(authentication(waiting)).to.equal(undefined);
    fails = () => undefined;
    await copy("new", isAccepted);
    expect([...denied]).to.deep.equal([]);
  });

  it("denies a slice whose request the API server turns down", async () => {
    fails = (method, url) => (method === "POST" && url.includes("/certificatesigningrequests") ? 422 : undefined);
    await ask("wrong");
    const refused = await copy("wrong", (slice) => authentication(slice)?.status === "Denied");
    expect(authentication(refused)?.message).to.match(/^no certificate could be issued: .*a fault of the test/);
    fails = () => undefined;
    await copy("wrong", isAccepted);
  });

  async function ask(name: string): Promise<void> {
    const present = await consumer.client.get(ResourceSliceResource, sliceID(provider));
    const labels = { ...present?.metadata.labels, [Labels.remoteID]: provider.id };
    const metadata = { ...sliceID(provider), name, labels };
    const slice = ResourceSliceResource.build({ metadata, spec: { class: "default" } });
    await consumer.client.create(ResourceSliceResource, slice);
  }

  function copy(name: string, predicate: (slice: ResourceSlice) => unknown): Promise<ResourceSlice> {
    const id = { ...copyID(consumer, provider), name };
    return waitForObject(provider.client, ResourceSliceResource, id, "its state", predicate);
  }

  /** Until the provider has said on its copy why it cannot issue the certificate. */
  async function told(name: string): Promise<void> {
    const options = { namespace: tenantNamespaceName(consumer.id), timeoutMs: 40_000, what: `an event on ${name}` };
    const event = await waitFor(provider.client, EventResource, options, (events) =>
      events.find((one) => one.reason === "CertificateNotIssued" && one.involvedObject.name === name),
    );
    expect(event.message).to.match(/^no certificate could be issued: /);
  }

  function identityOf(slice: string) {
    const id = { name: resourceSliceIdentityName(slice), namespace: tenantNamespaceName(provider.id) };
    return waitForObject(
      consumer.client,
      IdentityResource,
      id,
      "kubeconfig",
      ({ status }) => status?.kubeconfigSecretRef,
    );
  }
});

function authentication({ status }: ResourceSlice) {
  return findCondition(status?.conditions, "Authentication");
}
