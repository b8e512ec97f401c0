import { expect } from "chai";
import { ShadowEndpointSliceResource } from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  EndpointSliceResource,
  EventResource,
  IngressResource,
  SecretResource,
  ServiceResource,
  type KubeClient,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { LOCAL_NAMESPACE, NODE, startHarness, type Harness, appears, local, remote } from "./harness.js";

const SECONDS = 40_000;
const SOLVER = "acme.cert-manager.io/http01-solver";

describe("reflection of what selectors choose", function () {
  this.timeout(240_000);
  let harness: Harness;
  let consumer: KubeClient;
  let provider: KubeClient;

  const vanishes = (type: ResourceType, name: string): Promise<true> =>
    until(`${type.kind} ${name} to vanish`, SECONDS, async () =>
      (await provider.get(type, remote(name))) ? undefined : true,
    );
  const label = (type: ResourceType, name: string, labels: Record<string, string | null>): Promise<unknown> =>
    consumer.mergePatch(type, local(name), { metadata: { labels } });
  const makeIngress = (name: string, labels: Record<string, string> = {}): Promise<unknown> => {
    const defaultBackend = { service: { name: "web", port: { number: 80 } } };
    return consumer.create(IngressResource, { metadata: { ...local(name), labels }, spec: { defaultBackend } });
  };

  before(async function () {
    this.timeout(START_LIMIT_MS);
    harness = await startHarness();
    consumer = harness.consumer.client;
    provider = harness.provider.client;
    await harness.startVirtualNode(NODE, [
      `--ingress-reflection-selector=!${SOLVER}`,
      "--service-reflection-selector=tier in (front,edge)",
      "--configmap-reflection-selector=reflected=yes",
      "--secret-reflection-selector=reflected notin (no)",
    ]);
    await harness.map("Accepted");
  });
  after(() => harness?.stop());

  it("leaves an Ingress here that solves a certificate's challenge", async () => {
    await makeIngress("solver", { [SOLVER]: "true" });
    await makeIngress("first");
    await makeIngress("shop");
    await appears(provider, IngressResource, remote("first"));
    await appears(provider, IngressResource, remote("shop"));
    expect(await provider.get(IngressResource, remote("solver"))).to.equal(undefined);
  });

  it("takes back what is not selected any more, says so, and reflects it again once it is", async () => {
    const status = { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] } };
    await provider.mergePatch(IngressResource, remote("shop"), { status }, { subresource: "status" });
    const key = "published-at.offloading.liqo.io/provider";
    await appears(consumer, IngressResource, local("shop"), ({ metadata }) => key in (metadata?.annotations ?? {}));
    await label(IngressResource, "shop", { [SOLVER]: "true" });
    await vanishes(IngressResource, "shop");
    await until("the event on the Ingress", SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      return items.find(({ reason, involvedObject: { name } }) => reason === "ReflectionDisabled" && name === "shop");
    });
    await appears(consumer, IngressResource, local("shop"), ({ metadata }) => !(key in (metadata?.annotations ?? {})));
    await label(IngressResource, "shop", { [SOLVER]: null });
    await appears(provider, IngressResource, remote("shop"));
  });

  it("leaves the slices of a Service here together with it", async () => {
    const slice = (name: string, service: string): Promise<unknown> =>
      consumer.create(EndpointSliceResource, {
        metadata: { ...local(name), labels: { "kubernetes.io/service-name": service } },
        addressType: "IPv4",
        ports: [{ port: 80 }],
        endpoints: [],
      });
    const service = (name: string, tier: string): Promise<unknown> =>
      consumer.create(ServiceResource, {
        metadata: { ...local(name), labels: { tier } },
        spec: { ports: [{ port: 80 }] },
      });
    await service("database", "back");
    await service("web", "front");
    await slice("database-1", "database");
    await slice("web-1", "web");
    await appears(provider, ServiceResource, remote("web"));
    await appears(provider, ShadowEndpointSliceResource, remote("web-1"));
    expect(await provider.get(ServiceResource, remote("database"))).to.equal(undefined);
    expect(await provider.get(ShadowEndpointSliceResource, remote("database-1"))).to.equal(undefined);

    await label(ServiceResource, "database", { tier: "edge" });
    await appears(provider, ServiceResource, remote("database"));
    await appears(provider, ShadowEndpointSliceResource, remote("database-1"));
    await label(ServiceResource, "web", { tier: null });
    await vanishes(ServiceResource, "web");
    await vanishes(ShadowEndpointSliceResource, "web-1");
  });

  it("selects ConfigMaps and Secrets, and always takes the cluster's CA along", async () => {
    const rootCa = "kube-root-ca.crt";
    await consumer.create(ConfigMapResource, { metadata: local(rootCa), data: { "ca.crt": "first" } });
    await consumer.create(ConfigMapResource, { metadata: local("own"), data: {} });
    await consumer.create(ConfigMapResource, { metadata: { ...local("settings"), labels: { reflected: "yes" } } });
    await consumer.create(SecretResource, { metadata: { ...local("own"), labels: { reflected: "no" } } });
    await consumer.create(SecretResource, { metadata: local("password") });
    await appears(provider, ConfigMapResource, remote("settings"));
    await appears(provider, SecretResource, remote("password"));
    expect(await provider.get(ConfigMapResource, remote("own"))).to.equal(undefined);
    expect(await provider.get(SecretResource, remote("own"))).to.equal(undefined);

    const copy = remote(`${rootCa}.consu`);
    await appears(provider, ConfigMapResource, copy, ({ data }) => data?.["ca.crt"] === "first");
    await consumer.mergePatch(ConfigMapResource, local(rootCa), { data: { "ca.crt": "second" } });
    await appears(provider, ConfigMapResource, copy, ({ data }) => data?.["ca.crt"] === "second");
    await provider.delete(ConfigMapResource, copy);
    await appears(provider, ConfigMapResource, copy);
  });

  it("takes back what a changed selector leaves out, and the rest stays as it is", async () => {
    const before = await appears(provider, ServiceResource, remote("database"));
    await harness.stopVirtualNode();
    await harness.startVirtualNode(NODE, [
      "--ingress-reflection-selector=public",
      "--secret-reflection-selector=public",
    ]);
    await vanishes(IngressResource, "shop");
    await vanishes(SecretResource, "password");
    // Without a selector everything is reflected.
    await appears(provider, ShadowEndpointSliceResource, remote("web-1"));
    await appears(provider, ConfigMapResource, remote("own"));
    const after = await appears(provider, ServiceResource, remote("database"));
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
  });
});
