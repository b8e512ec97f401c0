import { expect } from "chai";
import type { Event } from "kubernetes-types/core/v1";
import { ShadowEndpointSliceResource } from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  EndpointSliceResource,
  EventResource,
  IngressResource,
  LeaseResource,
  SecretResource,
  ServiceResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import {
  LOCAL_NAMESPACE,
  NODE,
  REMOTE_NAMESPACE,
  TENANT,
  appears,
  healAfterFailure,
  local,
  remote,
  startHarness,
  type Harness,
} from "./harness.js";

const SECONDS = 40_000;
/** A lease is asked for again, and events once more after that. */
const LEADS_MS = 60_000;
const POLICIES = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false };
const PolicyResource: ResourceType<KubeObject & { spec: object }> = {
  ...POLICIES,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
};
const PolicyBindingResource: ResourceType<KubeObject & { spec: object }> = {
  ...POLICIES,
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
};
const ALLOWED = { "liqo.io/allow-reflection": "true" };
const SKIPPED = { "liqo.io/skip-reflection": "true" };

describe("reflection of what is refused", function () {
  this.timeout(240_000);
  let harness: Harness;
  let consumer: KubeClient;
  let provider: KubeClient;

  const told = (kind: string, name: string, words: RegExp): Promise<Event> =>
    until(`an event on ${kind} ${name}`, SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      return items.find(
        ({ reason, message = "", involvedObject }) =>
          reason === "FailedReflection" &&
          involvedObject.kind === kind &&
          involvedObject.name === name &&
          words.test(message),
      );
    });
  const vanishes = (type: ResourceType, name: string): Promise<true> =>
    until(`${type.kind} ${name} to vanish`, SECONDS, async () =>
      (await provider.get(type, remote(name))) ? undefined : true,
    );
  /** Has the provider refuse ConfigMaps of a color, and waits until it does. */
  const forbid = async (color: string): Promise<void> => {
    const name = `no-${color}`;
    const rule = {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["configmaps"],
    };
    await provider.create(PolicyResource, {
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [
          {
            expression: `!has(object.data) || !('color' in object.data) || object.data.color != '${color}'`,
            message: `${color} is not to be`,
          },
        ],
      },
    });
    await provider.create(PolicyBindingResource, {
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    });
    const probe = { metadata: remote("probe"), data: { color } };
    await until("the policy in force", LEADS_MS, () =>
      provider.create(ConfigMapResource, probe, { dryRun: true }).then(
        () => undefined,
        () => true,
      ),
    );
  };

  before(async function () {
    this.timeout(START_LIMIT_MS);
    harness = await startHarness();
    consumer = harness.consumer.client;
    provider = harness.provider.client;
    await harness.map("Accepted");
  });
  after(() => harness?.stop());
  healAfterFailure(() => harness);

  it("tells in the end what the provider has said of Services while nobody led", async () => {
    const lease = { name: "virtual-kubelet-leader-election", namespace: TENANT };
    const now = new Date().toISOString().replace("Z", "000Z");
    await consumer.create(LeaseResource, {
      metadata: lease,
      spec: { holderIdentity: "another", leaseDurationSeconds: 600, acquireTime: now, renewTime: now },
    });
    await consumer.create(ServiceResource, { metadata: local("early"), spec: { ports: [{ port: 80 }] } });
    await provider.create(EventResource, {
      metadata: remote("early.1"),
      involvedObject: { apiVersion: "v1", kind: "Service", ...remote("early") },
      reason: "SyncLoadBalancerFailed",
      message: "no address is left",
      type: "Warning",
    });
    await harness.startVirtualNode();
    await provider.create(ConfigMapResource, { metadata: remote("marker") });
    // Long enough for the event to be seen.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await consumer.get(EventResource, local("early.1"))).to.equal(undefined);
    await consumer.delete(LeaseResource, lease);
    const event = await appears(consumer, EventResource, local("early.1"), () => true, LEADS_MS);
    expect(event.involvedObject).to.include({ kind: "Service", name: "early", namespace: LOCAL_NAMESPACE });
    await appears(provider, ServiceResource, remote("early"));
  });

  it("keeps a copy that works when the provider's policies refuse what it is to become", async () => {
    await consumer.create(ConfigMapResource, { metadata: local("changing"), data: { color: "red" } });
    await consumer.create(ConfigMapResource, { metadata: local("fixed"), data: { color: "red" }, immutable: true });
    const before = await appears(provider, ConfigMapResource, remote("changing"));
    const fixed = await appears(provider, ConfigMapResource, remote("fixed"));
    await forbid("blue");
    await consumer.mergePatch(ConfigMapResource, local("changing"), { data: { color: "blue" } });
    await told("ConfigMap", "changing", /blue is not to be/);

    // One that could only be made anew, which is refused as well. Whoever sees the first one go deletes its copy.
    await harness.stopVirtualNode();
    await consumer.delete(ConfigMapResource, local("fixed"));
    await consumer.create(ConfigMapResource, { metadata: local("fixed"), data: { color: "blue" }, immutable: true });
    await harness.startVirtualNode();
    await told("ConfigMap", "fixed", /immutable|blue is not to be/);
    for (const [name, { metadata }] of Object.entries({ changing: before, fixed })) {
      const copy = await provider.get(ConfigMapResource, remote(name));
      expect(copy?.metadata?.uid, name).to.equal(metadata?.uid);
      expect(copy?.data).to.deep.equal({ color: "red" });
    }
    await consumer.mergePatch(ConfigMapResource, local("changing"), { data: { color: "green" } });
    await appears(provider, ConfigMapResource, remote("changing"), ({ data }) => data?.["color"] === "green");
  });

  it("never overwrites the provider's own objects, of whatever kind, and says so on the consumer's", async () => {
    const spec = { ports: [{ port: 81 }] };
    const backend = (name: string) => ({ defaultBackend: { service: { name, port: { number: 80 } } } });
    const slice = { addressType: "IPv4", endpoints: [], ports: [] };
    await provider.create(ServiceResource, { metadata: remote("own"), spec });
    await provider.create(IngressResource, { metadata: remote("own"), spec: backend("theirs") });
    await provider.create(SecretResource, { metadata: remote("own"), stringData: { whose: "theirs" } });
    await provider.create(
      ShadowEndpointSliceResource,
      ShadowEndpointSliceResource.build({ metadata: remote("own"), spec: { template: { ...slice, ports: [] } } }),
    );
    const kinds: ResourceType[] = [ServiceResource, IngressResource, SecretResource, ShadowEndpointSliceResource];
    const versions = (): Promise<(string | undefined)[]> =>
      Promise.all(kinds.map(async (type) => (await provider.get(type, remote("own")))?.metadata?.resourceVersion));
    const before = await versions();

    await consumer.create(ServiceResource, { metadata: local("own"), spec: { ports: [{ port: 80 }] } });
    await consumer.create(IngressResource, { metadata: local("own"), spec: backend("ours") });
    await consumer.create(SecretResource, { metadata: local("own"), stringData: { whose: "ours" } });
    await consumer.create(EndpointSliceResource, { metadata: local("own"), ...slice });
    for (const kind of ["Service", "Ingress", "Secret", "EndpointSlice"])
      await told(kind, "own", /own already exists in cluster provider and was not reflected from here/);
    // Nor do their ends take those along.
    await consumer.delete(SecretResource, local("own"));
    await consumer.delete(ServiceResource, local("own"));
    await consumer.create(ConfigMapResource, { metadata: local("afterwards") });
    await appears(provider, ConfigMapResource, remote("afterwards"));
    expect(await versions()).to.deep.equal(before);
  });

  it("says of ConfigMaps and Secrets that they are too large for the provider, which must note more on them", async () => {
    // Its storage takes 1.5 MiB of an object, with a note of each key that is applied.
    const keys = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`${i}-`.padEnd(50, "k"), ""]));
    const metadata = { ...local("full"), annotations: { filler: "x".repeat(250 * 1024) } };
    const data = { ...keys, whole: "x".repeat(1024 * 1024) };
    await consumer.create(ConfigMapResource, { metadata, data });
    await consumer.create(SecretResource, { metadata, stringData: data });
    const types: ResourceType[] = [ConfigMapResource, SecretResource];
    for (const type of types) {
      await told(type.kind, "full", /too large/);
      expect(await provider.get(type, remote("full"))).to.equal(undefined);
      await consumer.delete(type, local("full"));
    }
  });

  it("says of an EndpointSlice whose annotations contradict each other that it cannot tell what is meant", async () => {
    const slice = (name: string, annotations: Record<string, string>) =>
      consumer.create(EndpointSliceResource, {
        metadata: { ...local(name), annotations },
        addressType: "IPv4",
        endpoints: [],
        ports: [],
      });
    await slice("both", { ...ALLOWED, ...SKIPPED });
    await told("EndpointSlice", "both", /skip-reflection|allow-reflection/);
    expect(await provider.get(ShadowEndpointSliceResource, remote("both"))).to.equal(undefined);
    const metadata = { annotations: { "liqo.io/skip-reflection": null } };
    await consumer.mergePatch(EndpointSliceResource, local("both"), { metadata });
    await appears(provider, ShadowEndpointSliceResource, remote("both"));
  });

  it("takes only what is annotated to be allowed, where its options say so, and the rest back", async () => {
    await consumer.create(ConfigMapResource, { metadata: { ...local("allowed"), annotations: ALLOWED } });
    await consumer.create(ConfigMapResource, { metadata: local("plain") });
    await consumer.create(SecretResource, { metadata: local("plain") });
    for (const name of ["allowed", "plain"]) await appears(provider, ConfigMapResource, remote(name));
    const before = await appears(provider, ConfigMapResource, remote("allowed"));
    await harness.stopVirtualNode();
    await harness.startVirtualNode(NODE, [
      "--configmap-reflection-type=AllowList",
      "--service-reflection-type=AllowList",
    ]);
    await vanishes(ConfigMapResource, "plain");
    await vanishes(ServiceResource, "early");
    expect((await provider.get(ConfigMapResource, remote("allowed")))?.metadata?.uid).to.equal(before.metadata?.uid);
    // Kinds without such an option are reflected as ever.
    expect(await provider.get(SecretResource, remote("plain"))).to.not.equal(undefined);

    // A Service's word counts for its slices, too.
    const labels = { "kubernetes.io/service-name": "early" };
    const slice = { metadata: { ...local("early-1"), labels }, addressType: "IPv4", endpoints: [], ports: [] };
    await consumer.create(EndpointSliceResource, slice);
    await consumer.mergePatch(ConfigMapResource, local("plain"), { metadata: { annotations: ALLOWED } });
    await appears(provider, ConfigMapResource, remote("plain"));
    expect(await provider.get(ShadowEndpointSliceResource, remote("early-1"))).to.equal(undefined);
    await consumer.mergePatch(ServiceResource, local("early"), { metadata: { annotations: ALLOWED } });
    await appears(provider, ServiceResource, remote("early"));
    await appears(provider, ShadowEndpointSliceResource, remote("early-1"));
    const taken = { annotations: { "liqo.io/allow-reflection": "false" } };
    await consumer.mergePatch(ServiceResource, local("early"), { metadata: taken });
    await vanishes(ServiceResource, "early");
    await vanishes(ShadowEndpointSliceResource, "early-1");
    const { items } = await provider.list(ConfigMapResource, { namespace: REMOTE_NAMESPACE });
    expect(items.map(({ metadata }) => metadata?.name)).to.include.members(["allowed", "plain"]);
  });
});
