import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import https from "node:https";
import { TLSSocket } from "node:tls";
import type { Event, Node, Pod, PodStatus, Service } from "kubernetes-types/core/v1";
import {
  Annotations,
  ConfigurationResource,
  IPResource,
  Labels,
  NamespaceOffloadingResource,
  ShadowEndpointSliceResource,
  ShadowPodResource,
  VirtualNodeResource,
  type ShadowPod,
} from "../../../agent/api/index.js";
import {
  CertificateSigningRequestResource,
  ConfigMapResource,
  EndpointSliceResource,
  EventResource,
  IngressResource,
  LeaseResource,
  NodeResource,
  PodResource,
  RoleBindingResource,
  SecretResource,
  ServiceAccountResource,
  ServiceResource,
  SharedInformers,
  findCondition,
  ownerReference,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import type { ControllerContext, Startable } from "../../../agent/controller/context.js";
import { setupServingCertificateApprover } from "../../../agent/virtual-node/serving-certificate/approver.js";
import { median } from "../../bench/result.js";
import { until } from "../../clusters/support/wait.js";
import { POD_FIELDS } from "../../support/pod-fields.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import {
  LOCAL_NAMESPACE,
  NODE,
  POD_CIDR,
  REMOTE_NAMESPACE,
  TENANT,
  quietLogger,
  startHarness,
  type Harness,
  appears,
  healAfterFailure,
  local,
  remote,
} from "./harness.js";

const SECONDS = 40_000;
/** A crowd's minor changes wait for ten seconds, and twelve take their time. */
const CROWD_MS = 60_000;
const START = "2026-01-01T00:00:00Z";
/** A lease is renewed each ten seconds, at the latest after twenty, and is good for forty. */
const HEARTBEAT_MS = 30_000;
/** What follows at once does so on two busy cores within this, at the median; alone it is a few milliseconds. */
const AT_ONCE_MS = 1_000;
/** What has failed for a while is tried again after some seconds only. */
const RETRIED_MS = 80_000;

describe("virtual node between two API servers", function () {
  this.timeout(240_000);
  let harness: Harness;
  let consumer: KubeClient;
  let provider: KubeClient;

  healAfterFailure(() => harness);

  const vanishes = (client: KubeClient, type: ResourceType, id: { name: string; namespace?: string }): Promise<true> =>
    until(
      `${type.kind} ${id.name} to vanish`,
      SECONDS,
      async () => ((await client.get(type, id)) ? undefined : true),
      25,
    );

  /** For pods whose token is asked for. */
  const withToken: Partial<NonNullable<Pod["spec"]>> = {
    serviceAccountName: "default",
    volumes: [{ name: "api", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
  };
  const refusal = (kind: string, name: string): Promise<Event> =>
    until(`the refusal of ${kind} ${name}`, SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      return items.find(
        ({ reason, involvedObject: on }) => reason === "FailedReflection" && on.kind === kind && on.name === name,
      );
    });
  const createPod = (
    name: string,
    spec: Partial<NonNullable<Pod["spec"]>> = {},
    annotations: Record<string, string> = {},
  ): Promise<Pod> =>
    consumer.create(PodResource, {
      metadata: { ...local(name), labels: { app: "shop" }, annotations },
      spec: {
        nodeName: NODE,
        containers: [{ name: "main", image: "web" }],
        tolerations: [{ key: "virtual-node.liqo.io/not-allowed", operator: "Exists" }],
        ...spec,
      },
    });

  /** Which process reflects what belongs to no node. */
  const holder = async (): Promise<string | undefined> => {
    const id = { name: "virtual-kubelet-leader-election", namespace: TENANT };
    return (await consumer.get(LeaseResource, id))?.spec?.holderIdentity;
  };
  /** Plays the provider's controller and kubelet. */
  const runRemotely = async (name: string, status: PodStatus): Promise<Pod> => {
    const shadow = await appears(provider, ShadowPodResource, remote(name));
    if (!(await provider.get(PodResource, remote(name)))) {
      // A LimitRange of the provider may give its pods another quality of service.
      const resources = { limits: { cpu: "1", memory: "1Gi" } };
      const containers = (shadow.spec.pod?.containers ?? []).map((container) => ({ ...container, resources }));
      const metadata = {
        ...remote(name),
        labels: shadow.metadata.labels,
        ownerReferences: [ownerReference(ShadowPodResource, shadow)],
      };
      await provider.create(PodResource, {
        metadata,
        // Debuggers are added later only.
        spec: { ...shadow.spec.pod, containers, ephemeralContainers: undefined },
      });
    }
    return provider.mergePatch(PodResource, remote(name), { status }, { subresource: "status" });
  };
  const running = (restartCount = 0): PodStatus => ({
    phase: "Running",
    podIP: "10.201.0.9",
    podIPs: [{ ip: "10.201.0.9" }],
    hostIP: "172.30.0.12",
    hostIPs: [{ ip: "172.30.0.12" }],
    conditions: [
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
      { type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ],
    containerStatuses: [
      {
        name: "main",
        image: "web",
        imageID: "sha256:1",
        ready: true,
        restartCount,
        state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
      },
    ],
  });

  before(async function () {
    this.timeout(START_LIMIT_MS);
    harness = await startHarness();
    consumer = harness.consumer.client;
    provider = harness.provider.client;
    await harness.startVirtualNode();
  });
  after(() => harness?.stop());

  it("makes a Ready Node with the slice's capacity, and follows it", async () => {
    const node = await appears(consumer, NodeResource, { name: NODE }, ({ status }) =>
      Boolean(status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True")),
    );
    expect(node.metadata?.labels).to.include({
      [Labels.type]: "virtual-node",
      [Labels.remoteClusterID]: "provider",
      "kubernetes.io/hostname": NODE,
      "liqo.io/provider": "lab",
    });
    expect(node.spec?.taints?.map(({ key }) => key)).to.include("virtual-node.liqo.io/not-allowed");
    expect(node.spec).to.not.have.any.keys("providerID", "unschedulable");
    expect(node.status?.addresses).to.deep.equal([{ type: "InternalIP", address: "127.0.0.1" }]);
    expect(node.status?.daemonEndpoints?.kubeletEndpoint?.Port).to.equal(harness.kubeletPort);
    await appears(consumer, LeaseResource, { name: NODE, namespace: "kube-node-lease" });

    await consumer.mergePatch(
      NodeResource,
      { name: NODE },
      { spec: { unschedulable: true }, metadata: { labels: { mine: "yes" } } },
    );
    const delays: number[] = [];
    for (const cpu of ["5", "7", "6"]) {
      const hard = { cpu, pods: null, "example.com/gpu": "1" };
      const started = Date.now();
      const patch = { spec: { resourceQuota: { hard }, labels: { "liqo.io/provider": null, zone: "b" } } };
      await consumer.mergePatch(VirtualNodeResource, { name: NODE, namespace: TENANT }, patch);
      const changed = await appears(
        consumer,
        NodeResource,
        { name: NODE },
        ({ status }) => status?.allocatable?.["cpu"] === cpu,
      );
      delays.push(Date.now() - started);
      expect(changed.status?.capacity).to.deep.equal({ cpu, memory: "8Gi", "example.com/gpu": "1" });
    }
    expect(median(delays)).to.be.lessThan(AT_ONCE_MS);
    const relabelled = await appears(
      consumer,
      NodeResource,
      { name: NODE },
      ({ metadata }) => metadata?.labels?.["zone"] === "b",
    );
    expect(relabelled.metadata?.labels).to.include({ mine: "yes" }).and.not.have.property("liqo.io/provider");
    expect(relabelled.spec?.unschedulable).to.equal(true);
    await consumer.mergePatch(NodeResource, { name: NODE }, { spec: { unschedulable: null } });
  });

  it("makes the Node anew when it is deleted", async () => {
    const before = await appears(consumer, NodeResource, { name: NODE });
    await consumer.delete(NodeResource, { name: NODE });
    await appears(consumer, NodeResource, { name: NODE }, ({ metadata }) => metadata?.uid !== before.metadata?.uid);
  });

  it("lives on with a label or a taint that its Node cannot have, and says so on the VirtualNode", async () => {
    const id = { name: NODE, namespace: TENANT };
    const before = await appears(consumer, VirtualNodeResource, id);
    const heartbeat = async () =>
      (await consumer.get(LeaseResource, { name: NODE, namespace: "kube-node-lease" }))?.spec?.renewTime;
    const wrong = [
      { patch: { labels: { rack: "rack 1" } }, cpu: "7", message: /rack 1/ },
      {
        patch: { labels: { rack: null }, taints: [{ key: "t", effect: "NoSchedul" }] },
        cpu: "8",
        message: /NoSchedul/,
      },
    ];
    for (const { patch, cpu, message } of wrong) {
      await consumer.mergePatch(VirtualNodeResource, id, { spec: { ...patch, resourceQuota: { hard: { cpu } } } });
      const event = await until("an event", SECONDS, async () => {
        const { items } = await consumer.list(EventResource, { namespace: TENANT });
        return items.find((one) => one.reason === "FailedNodeUpdate" && message.test(one.message ?? ""));
      });
      expect(event.involvedObject).to.include({ kind: "VirtualNode", name: NODE });
      await appears(consumer, NodeResource, { name: NODE }, ({ status }) => status?.allocatable?.["cpu"] === cpu);
    }
    const last = await heartbeat();
    await until("a heartbeat", HEARTBEAT_MS, async () => ((await heartbeat()) === last ? undefined : true));
    const { resourceQuota } = before.spec;
    await consumer.mergePatch(VirtualNodeResource, id, {
      spec: { taints: null, labels: { rack: "1" }, resourceQuota },
    });
    await appears(consumer, NodeResource, { name: NODE }, ({ metadata }) => metadata?.labels?.["rack"] === "1");
  });

  it("leaves pods waiting while their namespace is not offloaded, then offloads them", async () => {
    await createPod("early");
    await until("OffloadingBackOff", SECONDS, async () =>
      (await consumer.get(PodResource, local("early")))?.status?.reason === "OffloadingBackOff" ? true : undefined,
    );
    await harness.map("Accepted");
    await appears(provider, ShadowPodResource, remote("early"));
    await appears(
      consumer,
      PodResource,
      local("early"),
      ({ metadata }) => metadata?.labels?.[Labels.shadowPod] === "true",
    );
  });

  it("offloads a pod and brings its status back, fast", async () => {
    const started = Date.now();
    await createPod("web", {
      nodeSelector: { disk: "ssd" },
      serviceAccountName: "default",
      containers: [{ name: "main", image: "web", volumeMounts: [{ name: "api", mountPath: "/var/run/secrets" }] }],
      volumes: [
        {
          name: "api",
          projected: {
            sources: [
              { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
            ],
          },
        },
      ],
    });
    const shadow: ShadowPod = await appears(provider, ShadowPodResource, remote("web"));
    const created = Date.now() - started;
    expect(shadow.metadata.labels).to.include({
      app: "shop",
      [Labels.offloadingOrigin]: "consumer",
      [Labels.offloadingDestination]: "provider",
      [Labels.offloadingNodeName]: NODE,
    });
    const spec = shadow.spec.pod;
    expect(spec).to.not.have.any.keys("nodeName", "nodeSelector", "serviceAccountName");
    expect(spec?.tolerations?.map(({ key }) => key)).to.not.include("virtual-node.liqo.io/not-allowed");
    expect(spec?.hostAliases).to.deep.equal([
      { ip: "10.70.0.7", hostnames: ["kubernetes.default", "kubernetes.default.svc"] },
    ]);
    expect(spec?.volumes?.[0]?.projected?.sources?.[1]?.configMap?.name).to.equal("kube-root-ca.crt.consu");
    const token = await appears(provider, SecretResource, remote("web-token"));
    const item = spec?.volumes?.[0]?.projected?.sources?.[0]?.secret?.items?.[0];
    expect(item?.path).to.equal("token");
    const claims =
      Buffer.from(token.data?.[item?.key ?? ""] ?? "", "base64")
        .toString("utf8")
        .split(".")[1] ?? "";
    expect(JSON.parse(Buffer.from(claims, "base64url").toString("utf8"))).to.have.nested.property(
      "kubernetes\\.io.pod.name",
      "web",
    );

    const changed = Date.now();
    await runRemotely("web", running());
    const pod = await appears(consumer, PodResource, local("web"), ({ status }) => status?.phase === "Running");
    const delays = { created: [created], copied: [Date.now() - changed] };
    expect(pod.status).to.include({ podIP: "10.71.0.9", hostIP: "127.0.0.1", qosClass: "BestEffort" });
    expect(pod.status?.containerStatuses?.[0]?.ready).to.equal(true);

    for (const name of ["fast-0", "fast-1"]) {
      const begun = Date.now();
      await createPod(name, withToken);
      await appears(provider, ShadowPodResource, remote(name));
      const offloaded = Date.now();
      await runRemotely(name, running());
      await appears(consumer, PodResource, local(name), ({ status }) => status?.phase === "Running");
      delays.created.push(offloaded - begun);
      delays.copied.push(Date.now() - offloaded);
      await consumer.delete(PodResource, local(name), { gracePeriodSeconds: 0 });
    }
    expect(median(delays.created)).to.be.lessThan(AT_ONCE_MS);
    expect(median(delays.copied)).to.be.lessThan(AT_ONCE_MS);
  });

  it("tells of a crowd the last step of each pod's start in the end, and at once that one runs", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `crowd-${index}`);
    await Promise.all(names.map((name) => createPod(name)));
    // Nobody acts on a pod's steps while it starts.
    const step = (hostIP: string): PodStatus => ({ phase: "Pending", conditions: [], startTime: START, hostIP });
    const steps = async (hostIP: string): Promise<void> => {
      await Promise.all(names.map((name) => runRemotely(name, step(hostIP))));
    };
    const told = async (): Promise<(string | undefined)[]> => {
      const pods = await Promise.all(names.map((name) => consumer.get(PodResource, local(name))));
      return pods.map((pod) => (pod?.status?.phase === "Running" ? "Running" : pod?.status?.startTime));
    };
    await steps("172.30.0.11");
    await steps("172.30.0.12");
    await runRemotely("crowd-0", running());
    await appears(consumer, PodResource, local("crowd-0"), ({ status }) => status?.phase === "Running");
    await until("the last step of the others", CROWD_MS, async () =>
      (await told()).slice(1).every((state) => state === START) ? true : undefined,
    );
    for (const name of names) await consumer.delete(PodResource, local(name), { gracePeriodSeconds: 0 });
  });

  it("keeps labels and annotations in step", async () => {
    const patch = { metadata: { labels: { tier: "front", app: null }, annotations: { note: "x" } } };
    await consumer.mergePatch(PodResource, local("web"), patch);
    const shadow = await appears(
      provider,
      ShadowPodResource,
      remote("web"),
      ({ metadata }) => metadata.labels?.["tier"] === "front",
    );
    expect(shadow.metadata.labels).to.not.have.property("app");
    expect(shadow.metadata.annotations).to.include({ note: "x" });
  });

  it("takes it to the provider when a pod is resized as a whole", async () => {
    const whole = (cpu: string) => ({ resources: { requests: { cpu, memory: "16Mi" } } });
    await createPod("whole", { ...whole("100m") } as Partial<NonNullable<Pod["spec"]>>);
    const before = await appears(provider, ShadowPodResource, remote("whole"));
    expect(before.spec.pod).to.deep.include(whole("100m"));
    const cpu = { op: "replace", path: "/spec/resources/requests/cpu", value: "200m" };
    await consumer.jsonPatch(PodResource, local("whole"), [cpu], { subresource: "resize" });
    const size = JSON.stringify(whole("200m").resources.requests);
    const after = await appears(provider, ShadowPodResource, remote("whole"), ({ spec }) =>
      JSON.stringify(spec.pod).includes(size),
    );
    expect(after.spec.pod).to.deep.include(whole("200m"));
    expect(after.metadata.uid).to.equal(before.metadata.uid);
    await consumer.delete(PodResource, local("whole"), { gracePeriodSeconds: 0 });
  });

  it("takes it to the provider when an init container is resized that has not begun", async () => {
    const first = (cpu: string) => ({
      name: "first",
      image: "web:1",
      resources: { requests: { cpu, memory: "16Mi" } },
    });
    await createPod("begins", { initContainers: [first("100m")] });
    const before = await appears(provider, ShadowPodResource, remote("begins"));
    const cpu = { op: "replace", path: "/spec/initContainers/0/resources/requests/cpu", value: "200m" };
    await consumer.jsonPatch(PodResource, local("begins"), [cpu], { subresource: "resize" });
    const after = await appears(provider, ShadowPodResource, remote("begins"), ({ spec }) =>
      isDeepStrictEqual(spec.pod?.initContainers?.[0]?.resources, first("200m").resources),
    );
    expect(after.metadata.uid).to.equal(before.metadata.uid);
    await consumer.delete(PodResource, local("begins"), { gracePeriodSeconds: 0 });
  });

  it("takes it to the provider when a pod of the class Guaranteed is resized", async () => {
    const sized = (cpu: string) => ({ requests: { cpu, memory: "16Mi" }, limits: { cpu, memory: "16Mi" } });
    await createPod("guaranteed", { containers: [{ name: "main", image: "web:1", resources: sized("100m") }] });
    const before = await appears(provider, ShadowPodResource, remote("guaranteed"));
    const status = running();
    for (const container of status.containerStatuses ?? []) Object.assign(container, { resources: sized("100m") });
    await runRemotely("guaranteed", status);
    const { status: now } = await appears(
      consumer,
      PodResource,
      local("guaranteed"),
      (pod) => pod.status?.phase === "Running",
    );
    expect(now?.qosClass).to.equal("Guaranteed");
    const resources = { op: "replace", path: "/spec/containers/0/resources", value: sized("200m") };
    await consumer.jsonPatch(PodResource, local("guaranteed"), [resources], { subresource: "resize" });
    const after = await appears(provider, ShadowPodResource, remote("guaranteed"), ({ spec }) =>
      isDeepStrictEqual(spec.pod?.containers[0]?.resources, sized("200m")),
    );
    expect(after.metadata.uid).to.equal(before.metadata.uid);
    await consumer.delete(PodResource, local("guaranteed"), { gracePeriodSeconds: 0 });
  });

  it("takes what may change in a running pod to the provider, and a debugger's status back", async () => {
    const resources = { requests: { cpu: "100m", memory: "16Mi" } };
    await createPod("changing", { containers: [{ name: "main", image: "web:1", resources }] });
    const before = await appears(provider, ShadowPodResource, remote("changing"));
    // A kubelet tells the resources in force: without, no resize is admitted.
    const status = running();
    for (const container of status.containerStatuses ?? []) Object.assign(container, { resources });
    await runRemotely("changing", status);
    await appears(consumer, PodResource, local("changing"), ({ status: now }) => now?.phase === "Running");
    const path = "/spec/containers/0";
    const id = local("changing");
    await consumer.jsonPatch(PodResource, id, [
      { op: "replace", path: `${path}/image`, value: "web:2" },
      { op: "add", path: "/spec/tolerations/-", value: { key: "late", operator: "Exists" } },
      { op: "add", path: "/spec/activeDeadlineSeconds", value: 3600 },
    ]);
    const cpu = { op: "replace", path: `${path}/resources/requests/cpu`, value: "200m" };
    await consumer.jsonPatch(PodResource, id, [cpu], { subresource: "resize" });
    const debuggers = [{ name: "debugger", image: "tools", targetContainerName: "main", stdin: true }];
    const add = { op: "add", path: "/spec/ephemeralContainers", value: debuggers };
    await consumer.jsonPatch(PodResource, id, [add], { subresource: "ephemeralcontainers" });
    const { spec, metadata } = await appears(provider, ShadowPodResource, remote("changing"), (shadow) =>
      Boolean(shadow.spec.pod?.ephemeralContainers?.length),
    );
    expect(metadata.uid).to.equal(before.metadata.uid);
    expect(spec.pod?.containers[0]).to.deep.include({ image: "web:2" });
    expect(spec.pod?.containers[0]?.resources?.requests).to.deep.equal({ cpu: "200m", memory: "16Mi" });
    expect(spec.pod).to.include({ activeDeadlineSeconds: 3600 });
    expect(spec.pod?.tolerations?.map(({ key }) => key)).to.include("late");
    expect(spec.pod?.ephemeralContainers?.[0]).to.include({ name: "debugger", targetContainerName: "main" });
    expect(spec.pod?.ephemeralContainers?.[0]?.env?.map(({ name }) => name)).to.include("KUBERNETES_SERVICE_HOST");

    const [main] = status.containerStatuses ?? [];
    await runRemotely("changing", {
      ...status,
      ephemeralContainerStatuses: [
        { ...main!, name: "debugger" },
        { ...main!, name: "the provider's own" },
      ],
    });
    const pod = await appears(consumer, PodResource, id, ({ status: now }) =>
      Boolean(now?.ephemeralContainerStatuses?.length),
    );
    expect(pod.status?.ephemeralContainerStatuses?.map(({ name }) => name)).to.deep.equal(["debugger"]);

    // One that has ended is not started again here, whatever becomes of the pod at the provider.
    const state = { terminated: { exitCode: 3, startedAt: START, finishedAt: START } };
    const ended = { ...main!, name: "debugger", ready: false, state };
    await runRemotely("changing", { ...status, ephemeralContainerStatuses: [ended] });
    const isTold = ({ status: now }: Pod): boolean =>
      now?.ephemeralContainerStatuses?.[0]?.state?.terminated?.exitCode === 3;
    await appears(consumer, PodResource, id, isTold);
    await provider.delete(PodResource, remote("changing"), { gracePeriodSeconds: 0 });
    await runRemotely("changing", { ...status, ephemeralContainerStatuses: [{ ...main!, name: "debugger" }] });
    const isMadeAnew = ({ status: now }: Pod): boolean =>
      now?.containerStatuses?.[0]?.restartCount === 1 && Boolean(now.containerStatuses[0].state?.running);
    expect(await appears(consumer, PodResource, id, isMadeAnew)).to.satisfy(isTold);
    await consumer.delete(PodResource, id, { gracePeriodSeconds: 0 });
  });

  it("says on the pod why the provider does not take it, until it does", async () => {
    await createPod("unwanted");
    const id = remote("unwanted");
    await appears(provider, ShadowPodResource, id);
    const refusal = { phase: "Pending", reason: "FailedCreatePod", message: "no room for it" };
    await provider.mergePatch(ShadowPodResource, id, { status: refusal }, { subresource: "status" });
    const waiting = await appears(consumer, PodResource, local("unwanted"), ({ status }) => Boolean(status?.reason));
    expect(waiting.status).to.include({ phase: "Pending", reason: "OffloadingRefused", message: "no room for it" });
    expect(findCondition(waiting.status?.conditions, "Ready")).to.include({
      status: "False",
      reason: "OffloadingRefused",
      message: "no room for it",
    });
    await runRemotely("unwanted", running());
    const pod = await appears(consumer, PodResource, local("unwanted"), ({ status }) => status?.phase === "Running");
    expect(pod.status).to.not.have.any.keys("reason", "message");
    await consumer.delete(PodResource, local("unwanted"), { gracePeriodSeconds: 0 });
  });

  it("keeps a pod that cannot be taken as it is written, says where it is wrong, and takes it once that is mended", async () => {
    const annotation = "liqo.io/anti-affinity-preset";
    await createPod("mistaken", {}, { [annotation]: "strong" });
    const refused = await appears(consumer, PodResource, local("mistaken"), ({ status }) => Boolean(status?.reason));
    expect(refused.status?.reason).to.equal("OffloadingRefused");
    expect(refused.status?.message).to.contain(`metadata.annotations[${annotation}]: "strong" is none of`);
    expect(await provider.get(ShadowPodResource, remote("mistaken"))).to.equal(undefined);
    await consumer.mergePatch(PodResource, local("mistaken"), { metadata: { annotations: { [annotation]: "soft" } } });
    await appears(provider, ShadowPodResource, remote("mistaken"));
    await consumer.delete(PodResource, local("mistaken"), { gracePeriodSeconds: 0 });
  });

  it("knows what becomes of every field that the API server's pods can have", async () => {
    const { components } = await consumer.request<{
      components: { schemas: Record<string, { properties: Record<string, unknown> }> };
    }>("GET", "/openapi/v3/api/v1");
    const fields = Object.keys(components.schemas["io.k8s.api.core.v1.PodSpec"]?.properties ?? {});
    expect(fields).to.include("containers");
    expect(POD_FIELDS).to.include.all.keys(fields);
  });

  it("says on a pod what it is without at the provider, and what it takes from a node that nobody has chosen", async () => {
    const messages = async (name: string, reason: string): Promise<string[]> => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      const told = items.filter((event) => event.reason === reason && event.involvedObject.name === name);
      return told.map(({ message }) => message ?? "");
    };
    const isTold = (name: string, reason: string, message: string): Promise<true> =>
      until(`${reason} on ${name}`, SECONDS, async () =>
        (await messages(name, reason)).some((one) => one.endsWith(`: ${message}`)) ? true : undefined,
      );
    const debug = { op: "add", path: "/spec/ephemeralContainers" };
    const privileged = { securityContext: { privileged: true } };

    await createPod("poorer", { hostNetwork: true, priorityClassName: "system-cluster-critical" });
    await createPod("elsewhere", {
      volumes: [{ name: "logs", hostPath: { path: "/var/log" } }],
      containers: [{ name: "main", image: "web", ...privileged }],
    });
    await isTold("poorer", "NotCarried", "spec.hostNetwork, spec.priorityClassName");
    const taken = "spec.volumes[logs].hostPath /var/log, spec.containers[main].securityContext.privileged";
    await isTold("elsewhere", "OtherNode", taken);
    const value = [{ name: "debugger", image: "tools", targetContainerName: "main", ...privileged }];
    await consumer.jsonPatch(PodResource, local("poorer"), [{ ...debug, value }], {
      subresource: "ephemeralcontainers",
    });
    await isTold("poorer", "OtherNode", "spec.ephemeralContainers[debugger].securityContext.privileged");
    // What admission writes into every pod is nobody's wish.
    expect(await messages("elsewhere", "NotCarried")).to.deep.equal([]);
    for (const name of ["poorer", "elsewhere"])
      await consumer.delete(PodResource, local(name), { gracePeriodSeconds: 0 });
  });

  it("says on pods and reflected objects that they are too large for the provider, which must note more on them", async () => {
    const annotations = { filler: "x".repeat(256 * 1024 - 20) };
    await createPod("huge", {}, annotations);
    const pod = await appears(consumer, PodResource, local("huge"), ({ status }) => Boolean(status?.reason));
    expect(pod.status?.reason).to.equal("OffloadingRefused");
    expect(pod.status?.message).to.match(/annotations.*Too long/);
    const event = await until("an event", SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      return items.find(
        ({ reason, involvedObject }) => reason === "FailedReflection" && involvedObject.name === "huge",
      );
    });
    expect(event.message).to.match(/Too long/);
    await consumer.delete(PodResource, local("huge"), { gracePeriodSeconds: 0 });
  });

  it("adds a restart for every remote pod made anew, and marks the pod not ready in between", async () => {
    await runRemotely("web", running(2));
    await appears(
      consumer,
      PodResource,
      local("web"),
      ({ status }) => status?.containerStatuses?.[0]?.restartCount === 2,
    );
    await provider.delete(PodResource, remote("web"), { gracePeriodSeconds: 0 });
    await appears(consumer, PodResource, local("web"), ({ status }) =>
      Boolean(status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "False")),
    );
    await runRemotely("web", running(3));
    await appears(
      consumer,
      PodResource,
      local("web"),
      ({ status }) => status?.containerStatuses?.[0]?.restartCount === 4,
    );
  });

  it("finishes a pod whose policy forbids that it is run again", async () => {
    await createPod("job", {
      restartPolicy: "Never",
      containers: [
        { name: "main", image: "job" },
        { name: "other", image: "job" },
      ],
    });
    const status = running();
    const other = { ...status.containerStatuses![0]!, name: "other" };
    const ended = {
      ...other,
      ready: false,
      state: { terminated: { exitCode: 0, finishedAt: "2026-01-01T00:00:05Z" } },
    };
    await runRemotely("job", { ...status, containerStatuses: [status.containerStatuses![0]!, ended] });
    await appears(consumer, PodResource, local("job"), ({ status: s }) =>
      Boolean(s?.containerStatuses?.[1]?.state?.terminated),
    );
    await provider.delete(PodResource, remote("job"), { gracePeriodSeconds: 0 });
    await vanishes(provider, PodResource, remote("job"));
    await runRemotely("job", { ...status, containerStatuses: [status.containerStatuses![0]!, other] });
    const pod = await appears(consumer, PodResource, local("job"), ({ status: s }) => s?.phase === "Failed");
    expect(pod.status?.reason).to.equal("RemotePodReplaced");
    await vanishes(provider, ShadowPodResource, remote("job"));
  });

  it("takes the end of a pod from the pod itself, also where the ShadowPod's watch is ahead of it", async () => {
    await createPod("untold");
    const shadow = await appears(provider, ShadowPodResource, remote("untold"));
    // Without their labels no watch tells of it.
    const metadata = { ...remote("untold"), ownerReferences: [ownerReference(ShadowPodResource, shadow)] };
    await provider.create(PodResource, { metadata, spec: shadow.spec.pod });
    const status = { phase: "Failed", reason: "SysctlForbidden" };
    await provider.mergePatch(PodResource, remote("untold"), { status }, { subresource: "status" });
    const told = { status: { phase: "Failed" } };
    await provider.mergePatch(ShadowPodResource, remote("untold"), told, { subresource: "status" });
    const ended = await appears(consumer, PodResource, local("untold"), (pod) => pod.status?.phase === "Failed");
    expect(ended.status?.reason).to.equal("SysctlForbidden");
    await consumer.delete(PodResource, local("untold"), { gracePeriodSeconds: 0 });
  });

  it("lets a container come back by a rule of its own, whatever the pod's policy", async () => {
    const exitCodes = { operator: "In", values: [42] };
    const own = { restartPolicy: "Never", restartPolicyRules: [{ action: "Restart", exitCodes }] };
    await createPod("retried", { restartPolicy: "Never", containers: [{ name: "main", image: "job", ...own }] });
    const status = running();
    const terminated = { exitCode: 42, startedAt: START, finishedAt: "2026-01-01T00:00:05Z" };
    const ended = { ...status.containerStatuses![0]!, ready: false, state: { terminated } };
    await runRemotely("retried", { ...status, containerStatuses: [ended] });
    await appears(consumer, PodResource, local("retried"), ({ status: s }) =>
      Boolean(s?.containerStatuses?.[0]?.state?.terminated),
    );
    await runRemotely("retried", running(1));
    const pod = await appears(
      consumer,
      PodResource,
      local("retried"),
      ({ status: s }) => s?.phase === "Failed" || s?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(pod.status).to.include({ phase: "Running" });
    expect(pod.status?.containerStatuses?.[0]?.state?.running).to.not.equal(undefined);
  });

  it("has a pod with readiness gates ready once somebody here has opened them", async () => {
    const gate = "example.com/published";
    await createPod("gated", { readinessGates: [{ conditionType: gate }] });
    const shadow = await appears(provider, ShadowPodResource, remote("gated"));
    // Nobody could open them there.
    expect(shadow.spec.pod).to.not.have.property("readinessGates");
    await runRemotely("gated", running());
    const readiness = ({ status }: Pod) => findCondition(status?.conditions, "Ready");
    const closed = await appears(consumer, PodResource, local("gated"), ({ status }) => status?.phase === "Running");
    expect(readiness(closed)).to.include({ status: "False", reason: "ReadinessGatesNotReady" });
    const opened = { type: gate, status: "True", lastTransitionTime: START };
    const status = { conditions: [...(closed.status?.conditions ?? []), opened] };
    await consumer.mergePatch(PodResource, local("gated"), { status }, { subresource: "status" });
    await appears(consumer, PodResource, local("gated"), (pod) => readiness(pod)?.status === "True");
    await consumer.delete(PodResource, local("gated"), { gracePeriodSeconds: 0 });
  });

  it("spreads pods by their labels' values, which the consumer has put into the selectors", async () => {
    const labelSelector = { matchExpressions: [{ key: "tier", operator: "Exists" }] };
    const term = { topologyKey: "zone", labelSelector, matchLabelKeys: ["app"] };
    await createPod(
      "spread",
      {
        topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }],
        affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
      },
      { [Annotations.antiAffinityPreset]: "propagate" },
    );
    // Refused there if a key were named twice.
    const { spec } = await runRemotely("spread", running());
    const merged = [
      { key: "tier", operator: "Exists" },
      { key: "app", operator: "In", values: ["shop"] },
    ];
    const [constraint] = spec?.topologySpreadConstraints ?? [];
    const [kept] = spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const one of [constraint, kept]) {
      expect(one?.labelSelector?.matchExpressions).to.deep.equal(merged);
      expect(one?.matchLabelKeys).to.equal(undefined);
    }
  });

  it("does not touch what is not its own", async () => {
    const foreign = { metadata: { ...remote("taken") }, spec: { pod: { containers: [{ name: "x", image: "x" }] } } };
    await provider.create(ShadowPodResource, ShadowPodResource.build(foreign));
    await provider.create(ConfigMapResource, { metadata: remote("taken"), data: { whose: "theirs" } });
    await createPod("taken");
    await consumer.create(ConfigMapResource, { metadata: local("taken"), data: { whose: "ours" } });
    await until("events", SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      const kinds = items.filter(
        ({ reason, involvedObject }) => reason === "FailedReflection" && involvedObject.name === "taken",
      );
      return new Set(kinds.map(({ involvedObject }) => involvedObject.kind)).size === 2 ? true : undefined;
    });
    expect((await provider.get(ConfigMapResource, remote("taken")))?.data).to.deep.equal({ whose: "theirs" });
    // Once it has made room, which nobody tells.
    await provider.delete(ConfigMapResource, remote("taken"));
    await appears(provider, ConfigMapResource, remote("taken"), ({ data }) => data?.["whose"] === "ours", RETRIED_MS);
    await consumer.delete(ConfigMapResource, local("taken"));
    await consumer.delete(PodResource, local("taken"), { gracePeriodSeconds: 0 });
    expect(await provider.get(ShadowPodResource, remote("taken"))).to.not.equal(undefined);
  });

  it("tells each change that it makes in a line of its log, and nothing where all is as it should be", async () => {
    const lines = () => harness.lines.filter(({ resource = "" }) => ["services", "nodes"].includes(resource));
    const about = (name: string) => lines().filter((line) => line.name === name);
    const annotate = (note: string) =>
      consumer.mergePatch(ServiceResource, local("told"), { metadata: { annotations: { note } } });
    await consumer.create(ServiceResource, { metadata: local("told"), spec: { ports: [{ port: 80 }] } });
    await until("the line of a new Service", SECONDS, () => Promise.resolve(about("told")[0]));
    expect(about("told").map(({ cluster, namespace }) => `${cluster} ${namespace}`)).to.deep.equal([
      `provider ${REMOTE_NAMESPACE}`,
    ]);
    const before = lines().length;
    // Each is a pass over what is there already.
    for (const look of ["1", "2", "3"]) {
      await consumer.mergePatch(NodeResource, { name: NODE }, { metadata: { annotations: { look } } });
      const finalizers = [`looks.example/${look}`];
      await consumer.mergePatch(ServiceResource, local("told"), { metadata: { finalizers } });
    }
    await consumer.mergePatch(ServiceResource, local("told"), { metadata: { finalizers: null } });
    await annotate("x");
    await until("the line of its change", SECONDS, () => Promise.resolve(lines().length > before || undefined));
    expect(
      lines()
        .slice(before)
        .map(({ resource, name }) => `${resource} ${name}`),
    ).to.deep.equal(["services told"]);
    await consumer.delete(ServiceResource, local("told"));
    await vanishes(provider, ServiceResource, remote("told"));
    await until("the line of its end", SECONDS, () => Promise.resolve(about("told")[2]));
    expect(about("told").map(({ msg }) => msg)).to.deep.equal(["changed", "changed", "deleted"]);
  });

  it("reflects Services, ConfigMaps and Secrets, and what becomes of them", async () => {
    await consumer.create(ServiceResource, {
      metadata: { ...local("web"), annotations: { a: "b" } },
      spec: { selector: { app: "shop" }, ports: [{ port: 80 }] },
    });
    await consumer.create(ConfigMapResource, { metadata: local("settings"), data: { color: "red" }, immutable: true });
    await consumer.create(ConfigMapResource, { metadata: local("kube-root-ca.crt"), data: { "ca.crt": "pem" } });
    await consumer.create(SecretResource, { metadata: local("password"), type: "example.com/x", data: { p: "cA==" } });
    await consumer.create(SecretResource, {
      metadata: { ...local("private"), annotations: { "liqo.io/skip-reflection": "true" } },
    });
    const service = await appears(provider, ServiceResource, remote("web"));
    expect(service.spec?.clusterIP).to.not.equal((await consumer.get(ServiceResource, local("web")))?.spec?.clusterIP);
    expect(service.metadata?.annotations).to.include({ a: "b" });
    await appears(provider, ConfigMapResource, remote("settings"), ({ data }) => data?.["color"] === "red");
    await appears(provider, ConfigMapResource, remote("kube-root-ca.crt.consu"));
    const secret = await appears(provider, SecretResource, remote("password"));
    expect(secret).to.deep.include({ type: "example.com/x", data: { p: "cA==" } });
    expect(await provider.get(SecretResource, remote("private"))).to.equal(undefined);

    // An immutable object can only be replaced.
    await consumer.delete(ConfigMapResource, local("settings"));
    await consumer.create(ConfigMapResource, { metadata: local("settings"), data: { color: "blue" } });
    await appears(provider, ConfigMapResource, remote("settings"), ({ data }) => data?.["color"] === "blue");
    // Edits at the provider are overwritten, deletions mended.
    await provider.mergePatch(SecretResource, remote("password"), { data: { p: "eA==" } });
    await appears(provider, SecretResource, remote("password"), ({ data }) => data?.["p"] === "cA==");
    await provider.delete(SecretResource, remote("password"));
    await appears(provider, SecretResource, remote("password"));
    // Newly skipped and deleted ones go.
    await consumer.mergePatch(SecretResource, local("password"), {
      metadata: { annotations: { "liqo.io/skip-reflection": "" } },
    });
    await vanishes(provider, SecretResource, remote("password"));
    await consumer.delete(ServiceResource, local("web"));
    await vanishes(provider, ServiceResource, remote("web"));
  });

  it("replaces what cannot be changed, when it was made anew while nobody looked", async () => {
    const secret = { metadata: local("typed"), type: "example.com/old", stringData: { p: "old" } };
    const settings = { metadata: local("fixed"), data: { color: "red" }, immutable: true };
    await consumer.create(SecretResource, secret);
    await consumer.create(ConfigMapResource, settings);
    const service = (name: string, clusterIP?: string): Promise<Service> =>
      consumer.create(ServiceResource, { metadata: local(name), spec: { clusterIP, ports: [{ port: 80 }] } });
    const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === "None";
    await service("to-headless");
    await service("from-headless", "None");
    await appears(provider, ServiceResource, remote("to-headless"));
    await appears(provider, ServiceResource, remote("from-headless"), isHeadless);
    const before = await appears(provider, SecretResource, remote("typed"), ({ type }) => type === "example.com/old");
    const fixed = await appears(provider, ConfigMapResource, remote("fixed"));

    // Whoever sees the first one go deletes its copy, and has none to replace.
    await harness.stopVirtualNode();
    await consumer.delete(SecretResource, local("typed"));
    await consumer.create(SecretResource, { ...secret, type: "example.com/new", stringData: { p: "new" } });
    await consumer.delete(ConfigMapResource, local("fixed"));
    await consumer.create(ConfigMapResource, { ...settings, data: { color: "blue" } });
    for (const name of ["to-headless", "from-headless"]) await consumer.delete(ServiceResource, local(name));
    await service("to-headless", "None");
    await service("from-headless");
    expect((await provider.get(SecretResource, remote("typed")))?.metadata?.uid).to.equal(before.metadata?.uid);
    await harness.startVirtualNode();

    const after = await appears(provider, SecretResource, remote("typed"), ({ type }) => type === "example.com/new");
    expect(after.metadata?.uid).to.not.equal(before.metadata?.uid);
    expect(after.data).to.deep.equal({ p: Buffer.from("new").toString("base64") });
    const blue = await appears(provider, ConfigMapResource, remote("fixed"), ({ data }) => data?.["color"] === "blue");
    expect(blue.metadata?.uid).to.not.equal(fixed.metadata?.uid);
    await appears(provider, ServiceResource, remote("to-headless"), isHeadless);
    await appears(provider, ServiceResource, remote("from-headless"), (one) => !isHeadless(one));
    for (const name of ["to-headless", "from-headless"]) {
      await consumer.delete(ServiceResource, local(name));
      await vanishes(provider, ServiceResource, remote(name));
    }
    await consumer.delete(SecretResource, local("typed"));
    await consumer.delete(ConfigMapResource, local("fixed"));
    await Promise.all([
      vanishes(provider, SecretResource, remote("typed")),
      vanishes(provider, ConfigMapResource, remote("fixed")),
    ]);
  });

  it("notes on Services and Ingresses where the provider has published them", async () => {
    const spec = { type: "LoadBalancer", selector: { app: "shop" }, ports: [{ port: 80 }] };
    await consumer.create(ServiceResource, { metadata: local("public"), spec });
    const defaultBackend = { service: { name: "public", port: { number: 80 } } };
    await consumer.create(IngressResource, { metadata: local("public"), spec: { defaultBackend } });
    const at = (ingress: object[]): object => ({ status: { loadBalancer: { ingress } } });
    const status = { subresource: "status" } as const;
    await appears(provider, ServiceResource, remote("public"));
    await provider.mergePatch(
      ServiceResource,
      remote("public"),
      at([{ ip: "203.0.113.9" }, { hostname: "lb.example" }]),
      status,
    );
    await appears(provider, IngressResource, remote("public"));
    await provider.mergePatch(IngressResource, remote("public"), at([{ ip: "203.0.113.7" }]), status);
    const key = "published-at.offloading.liqo.io/provider";
    const noted = (value: string | undefined) => (object: KubeObject) => object.metadata?.annotations?.[key] === value;
    await appears(consumer, ServiceResource, local("public"), noted("203.0.113.9,lb.example"));
    await appears(consumer, IngressResource, local("public"), noted("203.0.113.7"));
    await appears(provider, ServiceResource, remote("public"), noted(undefined));

    await provider.mergePatch(IngressResource, remote("public"), at([]), status);
    await appears(consumer, IngressResource, local("public"), noted(undefined));
    const skip = { metadata: { annotations: { "liqo.io/skip-reflection": "true" } } };
    await consumer.mergePatch(ServiceResource, local("public"), skip);
    await vanishes(provider, ServiceResource, remote("public"));
    await appears(consumer, ServiceResource, local("public"), noted(undefined));
  });

  it("goes on with a load balancer whose class the provider does not offer any more", async () => {
    const offer = async (name: string): Promise<void> => {
      const spec = { loadBalancerClasses: [{ loadBalancerClassName: `example.org/${name}` }], labels: { offer: name } };
      await consumer.mergePatch(VirtualNodeResource, { name: NODE, namespace: TENANT }, { spec });
      await appears(consumer, NodeResource, { name: NODE }, ({ metadata }) => metadata?.labels?.["offer"] === name);
    };
    const create = (name: string): Promise<unknown> =>
      consumer.create(ServiceResource, {
        metadata: local(name),
        spec: { type: "LoadBalancer", selector: { app: "shop" }, ports: [{ port: 80 }] },
      });
    const isThere = (name: string, port: number) =>
      appears(provider, ServiceResource, remote(name), ({ spec }) => spec?.ports?.[0]?.port === port);
    await create("plain");
    await isThere("plain", 80);
    await offer("first");
    await create("door");
    expect((await isThere("door", 80)).spec?.loadBalancerClass).to.equal("example.org/first");
    await offer("second");
    await create("gate");
    expect((await isThere("gate", 80)).spec?.loadBalancerClass).to.equal("example.org/second");
    for (const name of ["plain", "door"])
      await consumer.mergePatch(ServiceResource, local(name), { spec: { ports: [{ port: 8080 }] } });
    expect((await isThere("plain", 8080)).spec).not.to.have.property("loadBalancerClass");
    expect((await isThere("door", 8080)).spec?.loadBalancerClass).to.equal("example.org/first");
    const spec = { loadBalancerClasses: null, labels: { offer: null } };
    await consumer.mergePatch(VirtualNodeResource, { name: NODE, namespace: TENANT }, { spec });
    for (const name of ["plain", "door", "gate"]) await consumer.delete(ServiceResource, local(name));
  });

  it("keeps a Secret and a pod's tokens of the same name apart: who comes later waits, and says so", async () => {
    const data = { p: "cA==" };
    await consumer.create(SecretResource, { metadata: local("called-token"), data });
    await appears(provider, SecretResource, remote("called-token"));
    await createPod("called", withToken);
    await refusal("Pod", "called");
    expect((await provider.get(SecretResource, remote("called-token")))?.data).to.deep.equal(data);
    expect(await provider.get(ShadowPodResource, remote("called"))).to.equal(undefined);
    await consumer.delete(SecretResource, local("called-token"));
    await until("the pod at the provider", RETRIED_MS, () => provider.get(ShadowPodResource, remote("called")));
    const tokens = await appears(provider, SecretResource, remote("called-token"));
    expect(tokens.metadata?.labels).to.include({ [Labels.offloadingNodeName]: NODE });

    await consumer.create(SecretResource, { metadata: local("called-token"), data });
    await refusal("Secret", "called-token");
    expect(await provider.get(SecretResource, remote("called-token"))).to.deep.equal(tokens);
    await consumer.delete(PodResource, local("called"), { gracePeriodSeconds: 0 });
    await until("the Secret at the provider", RETRIED_MS, async () => {
      const secret = await provider.get(SecretResource, remote("called-token"));
      return secret?.data?.["p"] ? true : undefined;
    });
    await consumer.delete(SecretResource, local("called-token"));
    await vanishes(provider, SecretResource, remote("called-token"));
  });

  it("says of a pod whose token it does not get why, and goes on when it gets it", async () => {
    // Longer than a label may be.
    const account = "absent".padEnd(70, "x");
    await createPod("nobody", { ...withToken, serviceAccountName: account });
    const { message } = await refusal("Pod", "nobody");
    expect(message).to.match(/^the pod waits for its token: .*"absentx+" not found/);
    expect(await provider.get(ShadowPodResource, remote("nobody"))).to.equal(undefined);
    await consumer.create(ServiceAccountResource, { metadata: local(account) });
    await until("the pod at the provider", RETRIED_MS, () => provider.get(ShadowPodResource, remote("nobody")));
    await consumer.delete(PodResource, local("nobody"), { gracePeriodSeconds: 0 });
    await consumer.delete(ServiceAccountResource, local(account));
    await vanishes(provider, SecretResource, remote("nobody-token"));
  });

  it("says of a pod whose token the provider does not take why", async () => {
    // The Secret has a longer name than the pod, which has the longest that there can be.
    const name = "long".padEnd(253, "g");
    await createPod(name, withToken);
    const { message } = await refusal("Pod", name);
    expect(message).to.match(/^the pod's token is not taken by cluster provider: .*no more than 253/);
    await consumer.delete(PodResource, local(name), { gracePeriodSeconds: 0 });
  });

  it("asks for no further token once a pod has ended", async () => {
    await createPod("ended", withToken);
    const first = await appears(provider, SecretResource, remote("ended-token"));
    // While it runs, it gets another one when that goes.
    await provider.delete(SecretResource, remote("ended-token"));
    const second = await appears(
      provider,
      SecretResource,
      remote("ended-token"),
      ({ metadata }) => metadata?.uid !== first.metadata?.uid,
      RETRIED_MS,
    );
    expect(second.data).to.have.all.keys(...Object.keys(first.data ?? {}));
    await runRemotely("ended", running());
    await appears(consumer, PodResource, local("ended"), ({ status }) => status?.phase === "Running");
    const terminated = { exitCode: 0, reason: "Completed", startedAt: START, finishedAt: START };
    const containerStatuses = [
      { name: "main", image: "web", imageID: "", ready: false, restartCount: 0, state: { terminated } },
    ];
    await runRemotely("ended", { phase: "Succeeded", containerStatuses });
    const uid = (await appears(provider, ShadowPodResource, remote("ended"))).metadata.uid;
    // As the provider's controller tells.
    const status = { phase: "Succeeded" };
    await provider.mergePatch(ShadowPodResource, remote("ended"), { status }, { subresource: "status" });
    await appears(consumer, PodResource, local("ended"), ({ status: now }) => now?.phase === "Succeeded");
    await provider.delete(SecretResource, remote("ended-token"));
    await consumer.mergePatch(PodResource, local("ended"), { metadata: { labels: { looked: "at" } } });
    await createPod("after-ended", withToken);
    await appears(provider, SecretResource, remote("after-ended-token"));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await provider.get(SecretResource, remote("ended-token"))).to.equal(undefined);
    expect((await provider.get(ShadowPodResource, remote("ended")))?.metadata.uid).to.equal(uid);
    for (const name of ["ended", "after-ended"])
      await consumer.delete(PodResource, local(name), { gracePeriodSeconds: 0 });
  });

  it("lends pods no token where their namespace wants none, unless they ask for it, and says so on each", async () => {
    const key = "liqo.io/api-server-support";
    const metadata = { ...local("offloading"), annotations: { [key]: "disabled" } };
    await consumer.create(NamespaceOffloadingResource, NamespaceOffloadingResource.build({ metadata, spec: {} }));
    const volumesOf = async (name: string) =>
      (await appears(provider, ShadowPodResource, remote(name))).spec.pod?.volumes?.[0]?.projected?.sources;
    await until("a pod without token", RETRIED_MS, async () => {
      await createPod("tokenless", withToken);
      if ((await volumesOf("tokenless"))?.length === 0) return true;
      // The annotation had not been seen yet.
      await consumer.delete(PodResource, local("tokenless"), { gracePeriodSeconds: 0 });
      await vanishes(provider, ShadowPodResource, remote("tokenless"));
      return undefined;
    });
    expect((await consumer.get(PodResource, local("tokenless")))?.metadata?.annotations).to.include({
      [key]: "disabled",
    });
    expect(await provider.get(SecretResource, remote("tokenless-token"))).to.equal(undefined);
    await createPod("stranger", withToken, { [key]: "remote" });
    expect((await volumesOf("stranger"))?.[0]).to.have.property("serviceAccountToken");
    await consumer.delete(NamespaceOffloadingResource, local("offloading"));
    for (const name of ["tokenless", "stranger"])
      await consumer.delete(PodResource, local(name), { gracePeriodSeconds: 0 });
  });

  it("says of a pod with tokens that there is no way to the API server that takes them", async () => {
    const id = { name: "api-server", namespace: "liqo" };
    const label = (value: string | null) => ({ metadata: { labels: { [Labels.ipType]: value } } });
    const present = await consumer.get(IPResource, id);
    await consumer.mergePatch(IPResource, id, label(null));
    const event = await until("a word on a pod without a way", RETRIED_MS, async () => {
      await createPod("lost", withToken);
      await appears(provider, ShadowPodResource, remote("lost"));
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      const found = items.find(({ reason }) => reason === "NoApiServer");
      await consumer.delete(PodResource, local("lost"), { gracePeriodSeconds: 0 });
      await vanishes(provider, ShadowPodResource, remote("lost"));
      return found;
    });
    expect(event.involvedObject.name).to.equal("lost");
    expect(event.message).to.contain("cluster provider has no way to its API server");
    await consumer.mergePatch(IPResource, id, label(present?.metadata.labels?.[Labels.ipType] ?? null));
  });

  it("does not take a mark of another cluster's virtual node along", async () => {
    const mark = { [Labels.offloadingNodeName]: "elsewhere" };
    await consumer.create(ConfigMapResource, { metadata: { ...local("marked"), labels: mark }, data: {} });
    const copy = await appears(provider, ConfigMapResource, remote("marked"));
    expect(copy.metadata?.labels).not.to.have.any.keys(mark);
    await consumer.delete(ConfigMapResource, local("marked"));
    await vanishes(provider, ConfigMapResource, remote("marked"));
  });

  it("reflects endpoints that the provider does not have itself", async () => {
    await consumer.create(NodeResource, { metadata: { name: "worker" } });
    const ready = { ready: true, serving: true, terminating: false };
    await consumer.create(EndpointSliceResource, {
      metadata: {
        ...local("web-abc"),
        labels: { "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "x" },
      },
      addressType: "IPv4",
      ports: [{ name: "", port: 80, protocol: "TCP" }],
      endpoints: [
        { addresses: ["10.201.0.5"], nodeName: "worker", conditions: ready, targetRef: { kind: "Pod", name: "p" } },
        { addresses: ["10.71.0.9"], nodeName: NODE, conditions: ready },
        { addresses: ["192.168.7.7"], conditions: ready },
      ],
    });
    // The slice may be known before its node, which comes by another watch: an endpoint on none that is known is left out.
    const first = await appears(provider, ShadowEndpointSliceResource, remote("web-abc"), ({ spec }) =>
      Boolean(spec.template?.endpoints?.length),
    );
    const template = first.spec.template;
    expect(template?.endpoints).to.deep.equal([
      {
        addresses: ["10.201.0.5"],
        nodeName: "consumer",
        conditions: ready,
        targetRef: { kind: "RemotePod", name: "p" },
      },
    ]);
    expect(first.metadata.labels).to.include({
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslice.reflection.liqo.io",
    });
    // The third endpoint has no address for the provider until an IP gives it one.
    await consumer.create(IPResource, IPResource.build({ metadata: local("seven"), spec: { ip: "192.168.7.7" } }));
    const status = { ip: "10.70.0.8", cidr: "10.70.0.0/16" };
    await consumer.mergePatch(IPResource, local("seven"), { status }, { subresource: "status" });
    await appears(provider, ShadowEndpointSliceResource, remote("web-abc"), ({ spec }) =>
      Boolean(spec.template?.endpoints?.some(({ addresses }) => addresses[0] === "10.70.0.8")),
    );
    // Another one, when the IP is made anew: what has been lent does not change.
    await consumer.delete(IPResource, local("seven"));
    await consumer.create(IPResource, IPResource.build({ metadata: local("seven"), spec: { ip: "192.168.7.7" } }));
    const moved = { status: { ...status, ip: "10.70.0.18" } };
    await consumer.mergePatch(IPResource, local("seven"), moved, { subresource: "status" });
    const followed = await appears(provider, ShadowEndpointSliceResource, remote("web-abc"), ({ spec }) =>
      Boolean(spec.template?.endpoints?.some(({ addresses }) => addresses[0] === "10.70.0.18")),
    );
    expect(JSON.stringify(followed.spec)).to.not.contain("10.70.0.8");
  });

  it("names endpoints at another provider by that provider's own addresses, for Services that are to reach them directly", async () => {
    const ids = { metadata: { name: "elsewhere", labels: { [Labels.remoteClusterID]: "other" } } };
    await consumer.create(NodeResource, ids);
    const ip = IPResource.build({ metadata: local("other-pod"), spec: { ip: "10.73.0.9" } });
    await consumer.create(IPResource, ip);
    const lent = { ip: "10.70.0.9", cidr: "10.70.0.0/16" };
    await consumer.mergePatch(IPResource, local("other-pod"), { status: lent }, { subresource: "status" });
    await consumer.create(ServiceResource, { metadata: local("direct"), spec: { ports: [{ port: 80 }] } });
    const endpoints = [
      { addresses: ["10.201.0.5"], nodeName: "worker" },
      { addresses: ["10.71.0.9"], nodeName: NODE },
      { addresses: ["10.73.0.9"], nodeName: "elsewhere" },
    ];
    await consumer.create(EndpointSliceResource, {
      metadata: {
        ...local("direct-1"),
        labels: { "kubernetes.io/service-name": "direct" },
        // Of whom it is, only this process says.
        annotations: { note: "1", [Annotations.directConnectionsData]: "{}" },
      },
      addressType: "IPv4",
      endpoints,
      ports: [],
    });
    const told = async (addresses: string[], clusterAddresses?: Record<string, string[]>): Promise<void> => {
      const data = clusterAddresses && JSON.stringify({ clusterAddresses });
      await appears(provider, ShadowEndpointSliceResource, remote("direct-1"), ({ metadata, spec }) => {
        const present = spec.template?.endpoints?.flatMap((endpoint) => endpoint.addresses);
        return (
          present?.join() === addresses.join() &&
          metadata.annotations?.["note"] === "1" &&
          metadata.annotations[Annotations.directConnectionsData] === data
        );
      });
    };
    const ask = (value: string | null): Promise<unknown> =>
      consumer.mergePatch(ServiceResource, local("direct"), {
        metadata: { annotations: { [Annotations.useDirectConnections]: value } },
      });
    await told(["10.201.0.5", "10.70.0.9"]);
    await ask("true");
    await told(["10.201.0.5", "10.73.0.9"], { other: ["10.73.0.9"] });

    // By its Configuration the other cluster's pods are known here by another range than there.
    const configuration = { name: "other", namespace: TENANT };
    await consumer.create(
      ConfigurationResource,
      ConfigurationResource.build({
        metadata: { ...configuration, labels: { [Labels.remoteClusterID]: "other" } },
        spec: { remote: { cidr: { pod: [POD_CIDR], external: ["10.70.0.0/16"] } } },
      }),
    );
    const status = { remote: { cidr: { pod: ["10.73.0.0/16"], external: ["10.74.0.0/16"] } } };
    await consumer.mergePatch(ConfigurationResource, configuration, { status }, { subresource: "status" });
    await told(["10.201.0.5", "10.201.0.9"], { other: ["10.201.0.9"] });

    // An address that a pod here has, too, says nothing of its cluster.
    const twin = { addresses: ["10.201.0.9"], nodeName: "worker" };
    await consumer.mergePatch(EndpointSliceResource, local("direct-1"), { endpoints: [...endpoints, twin] });
    await told(["10.201.0.5", "10.70.0.9", "10.201.0.9"]);
    await until("the Service to say so", SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      return items.some(
        ({ reason, involvedObject: on, message }) =>
          reason === "IndirectConnection" && on.kind === "Service" && message?.includes("10.201.0.9 (other, consumer)"),
      );
    });
    await consumer.mergePatch(EndpointSliceResource, local("direct-1"), { endpoints });
    await told(["10.201.0.5", "10.201.0.9"], { other: ["10.201.0.9"] });

    await ask(null);
    await told(["10.201.0.5", "10.70.0.9"]);
    await consumer.delete(ServiceResource, local("direct"));
    await consumer.delete(EndpointSliceResource, local("direct-1"));
    await vanishes(provider, ShadowEndpointSliceResource, remote("direct-1"));
    await consumer.delete(ConfigurationResource, configuration);
    await consumer.delete(NodeResource, { name: "elsewhere" });
  });

  it("brings events back", async () => {
    const shadow = await appears(provider, ShadowPodResource, remote("web"));
    await provider.create(EventResource, {
      metadata: remote("web.17f"),
      involvedObject: {
        apiVersion: "offloading.liqo.io/v1beta1",
        kind: "ShadowPod",
        ...remote("web"),
        uid: shadow.metadata.uid,
      },
      reason: "Pulled",
      message: "image is there",
      type: "Normal",
      source: { component: "kubelet" },
    });
    const event = await appears(consumer, EventResource, local("web.17f"));
    const pod = await appears(consumer, PodResource, local("web"));
    expect(event.involvedObject).to.include({
      kind: "Pod",
      apiVersion: "v1",
      namespace: LOCAL_NAMESPACE,
      uid: pod.metadata?.uid,
    });
    expect(event.source?.component).to.equal("kubelet (remote)");
  });

  it("goes on with a renewed kubeconfig", async () => {
    const binding = await appears(provider, RoleBindingResource, remote("liqo-tenant-consumer"));
    const subjects = [{ kind: "Group", name: "renewed", apiGroup: "rbac.authorization.k8s.io" }];
    await provider.create(RoleBindingResource, { metadata: remote("renewed"), roleRef: binding.roleRef, subjects });
    const kubeconfig = Buffer.from(await harness.provider.kubeconfigFor("renewed", ["renewed"])).toString("base64");
    const secret = { name: "kubeconfig-resourceslice-provider", namespace: TENANT };
    await consumer.mergePatch(SecretResource, secret, { data: { kubeconfig } });
    await provider.delete(RoleBindingResource, remote("liqo-tenant-consumer"));
    await consumer.create(ConfigMapResource, { metadata: local("renewed"), data: {} });
    await appears(provider, ConfigMapResource, remote("renewed"));
    await provider.delete(ConfigMapResource, remote("renewed"));
    await appears(provider, ConfigMapResource, remote("renewed"));
  });

  it("keeps everything over a restart, and catches up with what it has missed", async () => {
    await consumer.create(ConfigMapResource, { metadata: local("old"), data: {} });
    await appears(provider, ConfigMapResource, remote("old"));
    const before = await appears(provider, ShadowPodResource, remote("web"));
    const pod = await appears(consumer, PodResource, local("web"));
    await harness.stopVirtualNode();
    await consumer.delete(ConfigMapResource, local("old"));
    await consumer.delete(PodResource, local("early"), { gracePeriodSeconds: 0 });
    await runRemotely("web", running(5));
    await harness.startVirtualNode();
    await appears(
      consumer,
      PodResource,
      local("web"),
      ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) >= 5,
    );
    await vanishes(provider, ConfigMapResource, remote("old"));
    await vanishes(provider, ShadowPodResource, remote("early"));
    const after = await appears(provider, ShadowPodResource, remote("web"));
    expect(after.metadata.uid).to.equal(before.metadata.uid);
    expect((await appears(consumer, PodResource, local("web"))).metadata?.uid).to.equal(pod.metadata?.uid);
  });

  it("gives its Node the labels and annotations of its options, and takes those back that they have no more", async () => {
    const node = (isWanted: (labels: Record<string, string>) => boolean): Promise<Node> =>
      appears(consumer, NodeResource, { name: NODE }, ({ metadata }) => isWanted(metadata?.labels ?? {}));
    await harness.stopVirtualNode();
    const labels = ["--node-extra-labels=aisle=7", "--node-extra-labels=row=1"];
    await harness.startVirtualNode(NODE, [...labels, "--node-extra-annotations=owner=me"]);
    expect((await node(({ aisle }) => aisle === "7")).metadata?.annotations).to.include({ owner: "me" });
    await harness.stopVirtualNode();
    await harness.startVirtualNode(NODE, ["--node-extra-labels=row=3"]);
    const changed = await node(({ row }) => row === "3");
    expect(changed.metadata?.labels).to.not.have.property("aisle");
    expect(changed.metadata?.annotations).to.not.have.property("owner");
    await harness.stopVirtualNode();
    await harness.startVirtualNode();
    await node(({ row }) => row === undefined);
  });

  it("does not run a pod again that has ended, when the provider has lost what it knew of it", async () => {
    await createPod("finished", { restartPolicy: "Never" });
    const [main] = running().containerStatuses ?? [];
    const terminated = { exitCode: 0, startedAt: START, finishedAt: "2026-01-01T00:00:05Z", reason: "Completed" };
    const ended = { ...main!, ready: false, state: { terminated } };
    await runRemotely("finished", { ...running(), phase: "Succeeded", containerStatuses: [ended] });
    const succeeded = ({ status }: Pod): boolean => status?.phase === "Succeeded";
    const before = await appears(consumer, PodResource, local("finished"), succeeded);

    await harness.stopVirtualNode();
    await provider.delete(ShadowPodResource, remote("finished"));
    if (await provider.get(PodResource, remote("finished")))
      await provider.delete(PodResource, remote("finished"), { gracePeriodSeconds: 0 });
    await vanishes(provider, PodResource, remote("finished"));
    await harness.startVirtualNode();

    // Comes after all that is there, which is looked at first.
    await createPod("after-finished");
    await appears(provider, ShadowPodResource, remote("after-finished"));
    expect(await provider.get(ShadowPodResource, remote("finished"))).to.equal(undefined);
    const after = await appears(consumer, PodResource, local("finished"));
    expect(after.status).to.deep.equal(before.status);
    for (const name of ["finished", "after-finished"])
      await consumer.delete(PodResource, local(name), { gracePeriodSeconds: 0 });
    await vanishes(provider, ShadowPodResource, remote("after-finished"));
  });

  it("reflects the cluster's CA, which pods are led to, also where it is told to reflect no ConfigMaps", async () => {
    const ca = remote("kube-root-ca.crt.consu");
    const own = { metadata: local("kube-root-ca.crt"), data: { "ca.crt": "pem" } };
    await consumer.apply(ConfigMapResource, own, { fieldManager: "test", force: true });
    await appears(provider, ConfigMapResource, ca);
    await consumer.create(ConfigMapResource, { metadata: local("before"), data: {} });
    await appears(provider, ConfigMapResource, remote("before"));
    await harness.stopVirtualNode();
    await consumer.delete(ConfigMapResource, local("before"));
    await consumer.create(ConfigMapResource, { metadata: local("not-reflected"), data: {} });
    await provider.delete(ConfigMapResource, ca);
    await harness.startVirtualNode(NODE, ["--configmap-reflection-workers=0"]);
    await appears(provider, ConfigMapResource, ca);
    await provider.delete(ConfigMapResource, ca);
    await appears(provider, ConfigMapResource, ca);
    expect(await provider.get(ConfigMapResource, remote("not-reflected"))).to.equal(undefined);
    expect(await provider.get(ConfigMapResource, remote("before")), "what was there before").to.not.equal(undefined);
    await harness.stopVirtualNode();
    await harness.startVirtualNode();
    await appears(provider, ConfigMapResource, remote("not-reflected"));
    await vanishes(provider, ConfigMapResource, remote("before"));
  });

  it("shares a provider with another virtual node: each has pods of its own, one of them reflects, and the other goes on", async () => {
    const second = "provider-second";
    const { spec } = await appears(consumer, VirtualNodeResource, { name: NODE, namespace: TENANT });
    const metadata = { name: second, namespace: TENANT, labels: { [Labels.remoteClusterID]: "provider" } };
    await consumer.create(VirtualNodeResource, VirtualNodeResource.build({ metadata, spec }));
    await harness.startVirtualNode(second);
    await appears(consumer, NodeResource, { name: second });
    await createPod("of-second", { nodeName: second });
    const shadow = await appears(provider, ShadowPodResource, remote("of-second"));
    expect(shadow.metadata.labels).to.include({ [Labels.offloadingNodeName]: second });
    await runRemotely("of-second", running());
    await appears(consumer, PodResource, local("of-second"), ({ status }) => status?.phase === "Running");
    expect(await holder(), "who reflects").to.equal(`vk-${NODE}-0`);

    await harness.stopVirtualNode(NODE);
    await consumer.create(ConfigMapResource, { metadata: local("after-the-first"), data: {} });
    await appears(provider, ConfigMapResource, remote("after-the-first"));
    expect(await holder()).to.equal(`vk-${second}-0`);
    await harness.startVirtualNode(NODE);
    await consumer.delete(PodResource, local("of-second"), { gracePeriodSeconds: 0 });
    await vanishes(provider, ShadowPodResource, remote("of-second"));
    await harness.stopVirtualNode(second);
    await consumer.delete(VirtualNodeResource, { name: second, namespace: TENANT });
    await consumer.delete(NodeResource, { name: second });
    const requests = { labelSelector: `${Labels.virtualNode}=${second}` };
    for (const { metadata: request } of (await consumer.list(CertificateSigningRequestResource, requests)).items)
      await consumer.delete(CertificateSigningRequestResource, { name: request?.name ?? "" });
    await consumer.create(ConfigMapResource, { metadata: local("after-the-second"), data: {} });
    await appears(provider, ConfigMapResource, remote("after-the-second"));
  });

  it("takes away what another virtual node of the provider has left there that has ended, now or before it began itself", async () => {
    const second = "provider-second";
    const metadata = { name: second, namespace: TENANT, labels: { [Labels.remoteClusterID]: "provider" } };
    const { spec } = await appears(consumer, VirtualNodeResource, { name: NODE, namespace: TENANT });
    await consumer.create(VirtualNodeResource, VirtualNodeResource.build({ metadata, spec }));
    await harness.startVirtualNode(second);
    await createPod("left", { nodeName: second });
    await createPod("own");
    const own = await appears(provider, ShadowPodResource, remote("own"));
    const left = await appears(provider, ShadowPodResource, remote("left"));
    await harness.stopVirtualNode(second);
    // As Kubernetes does with the pods of a Node that somebody has deleted: there is nobody to hear of it.
    await consumer.delete(NodeResource, { name: second });
    await consumer.delete(PodResource, local("left"), { gracePeriodSeconds: 0 });
    await consumer.create(ConfigMapResource, { metadata: local("meanwhile"), data: {} });
    await appears(provider, ConfigMapResource, remote("meanwhile"));
    expect((await provider.get(ShadowPodResource, remote("left")))?.metadata.uid).to.equal(left.metadata.uid);
    await consumer.delete(VirtualNodeResource, { name: second, namespace: TENANT });
    await vanishes(provider, ShadowPodResource, remote("left"));

    await harness.stopVirtualNode();
    const { labels, annotations } = left.metadata;
    const again = { ...remote("left"), labels, annotations };
    await provider.create(ShadowPodResource, { ...left, metadata: again });
    const others = { ...again, name: "of-others", labels: { ...labels, [Labels.offloadingOrigin]: "somebody" } };
    await provider.create(ShadowPodResource, { ...left, metadata: others });
    await harness.startVirtualNode();
    await vanishes(provider, ShadowPodResource, remote("left"));
    expect(await provider.get(ShadowPodResource, remote("of-others"))).to.not.equal(undefined);
    expect((await provider.get(ShadowPodResource, remote("own")))?.metadata.uid).to.equal(own.metadata.uid);
    await provider.delete(ShadowPodResource, remote("of-others"));
    await consumer.delete(PodResource, local("own"), { gracePeriodSeconds: 0 });
    await vanishes(provider, ShadowPodResource, remote("own"));
    const requests = { labelSelector: `${Labels.virtualNode}=${second}` };
    for (const { metadata: request } of (await consumer.list(CertificateSigningRequestResource, requests)).items)
      await consumer.delete(CertificateSigningRequestResource, { name: request?.name ?? "" });
  });

  it("replaces the remote pod of a local one that was replaced by another of the same name", async () => {
    await createPod("set-0");
    const first = await appears(provider, ShadowPodResource, remote("set-0"));
    await consumer.delete(PodResource, local("set-0"), { gracePeriodSeconds: 0 });
    await createPod("set-0");
    await appears(provider, ShadowPodResource, remote("set-0"), ({ metadata }) => metadata.uid !== first.metadata.uid);
  });

  it("deletes the local pod only when the remote one has gone", async () => {
    // In place of the kubelet that is not there: the garbage collector, once it knows of ShadowPods, would remove the remote pod at once.
    const finalizers = ["example.com/kubelet"];
    await provider.mergePatch(PodResource, remote("web"), { metadata: { finalizers } });
    await consumer.delete(PodResource, local("web"));
    await vanishes(provider, ShadowPodResource, remote("web"));
    expect((await consumer.get(PodResource, local("web")))?.metadata?.deletionTimestamp).to.be.a("string");
    await provider.delete(PodResource, remote("web"), { gracePeriodSeconds: 0 });
    await provider.mergePatch(PodResource, remote("web"), { metadata: { finalizers: null } });
    await vanishes(consumer, PodResource, local("web"));
    await vanishes(provider, SecretResource, remote("web-token"));
  });

  it("tells the provider within how many seconds somebody wants a pod to end", async () => {
    const finalizers = ["example.com/kubelet"];
    const start = async (name: string): Promise<void> => {
      await createPod(name, {}, { "offloading.liqo.io/deletion-grace-period-seconds": "1" });
      await runRemotely(name, running());
      await provider.mergePatch(PodResource, remote(name), { metadata: { finalizers } });
      await appears(consumer, PodResource, local(name), ({ status }) => status?.phase === "Running");
    };
    const toldSeconds = ({ metadata }: ShadowPod): string | undefined =>
      metadata.annotations?.["offloading.liqo.io/deletion-grace-period-seconds"];
    await start("hurried");
    await start("ignored");
    expect(toldSeconds(await appears(provider, ShadowPodResource, remote("hurried")))).to.equal(undefined);

    await consumer.delete(PodResource, local("hurried"), { gracePeriodSeconds: 7 });
    await appears(provider, ShadowPodResource, remote("hurried"), (shadow) => toldSeconds(shadow) === "7");
    await provider.delete(PodResource, remote("hurried"), { gracePeriodSeconds: 0 });
    await vanishes(provider, ShadowPodResource, remote("hurried"));

    // A provider that knows nothing of it ends the pod as ever.
    await consumer.delete(PodResource, local("ignored"), { gracePeriodSeconds: 7 });
    await vanishes(provider, ShadowPodResource, remote("ignored"));
    await provider.delete(PodResource, remote("ignored"), { gracePeriodSeconds: 0 });
    for (const name of ["hurried", "ignored"]) {
      await provider.mergePatch(PodResource, remote(name), { metadata: { finalizers: null } });
      await vanishes(consumer, PodResource, local(name));
    }
  });

  describe("pods that a finalizer holds", () => {
    /** A Job lets go only of pods that have ended. */
    const createHeld = async (name: string): Promise<void> => {
      await createPod(name, { restartPolicy: "Never" });
      await appears(provider, ShadowPodResource, remote(name));
      const finalizers = ["batch.kubernetes.io/job-tracking"];
      await consumer.mergePatch(PodResource, local(name), { metadata: { finalizers } });
    };
    const ends = (name: string): Promise<Pod> =>
      appears(
        consumer,
        PodResource,
        local(name),
        ({ metadata, status }) =>
          ["Failed", "Succeeded"].includes(status?.phase ?? "") && metadata?.deletionGracePeriodSeconds === 0,
      );
    const letGo = async (name: string): Promise<void> => {
      await consumer.mergePatch(PodResource, local(name), { metadata: { finalizers: null } });
      await vanishes(consumer, PodResource, local(name));
    };

    it("have failed once nothing of them is left, though they never ran", async () => {
      await createHeld("held");
      await consumer.delete(PodResource, local("held"));
      expect((await ends("held")).status).to.include({ phase: "Failed", reason: "Deleted" });
      expect(await provider.get(ShadowPodResource, remote("held"))).to.equal(undefined);
      await letGo("held");
    });

    it("have failed when the remote pod is taken away, and keep what others say of them", async () => {
      await createHeld("removed");
      await runRemotely("removed", running());
      const { status } = await appears(
        consumer,
        PodResource,
        local("removed"),
        (pod) => pod.status?.phase === "Running" && (pod.status.conditions ?? []).length > 0,
      );
      const disruption = { type: "DisruptionTarget", status: "True", lastTransitionTime: START };
      const conditions = [...(status?.conditions ?? []), disruption];
      await consumer.mergePatch(PodResource, local("removed"), { status: { conditions } }, { subresource: "status" });
      await consumer.delete(PodResource, local("removed"));
      await vanishes(provider, ShadowPodResource, remote("removed"));
      // What the provider does where the Node is lost, too.
      await provider.delete(PodResource, remote("removed"), { gracePeriodSeconds: 0 });
      const removed = await ends("removed");
      expect(removed.status?.phase).to.equal("Failed");
      const disrupted = removed.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
      expect(disrupted).to.include(disruption);
      expect(removed.status?.containerStatuses?.[0]?.state).to.have.property("running");
      await letGo("removed");
    });

    it("are told of an end that came while nobody looked", async () => {
      await createHeld("lost");
      await createHeld("done");
      await harness.stopVirtualNode();
      await provider.mergePatch(
        ShadowPodResource,
        remote("done"),
        { status: { phase: "Succeeded" } },
        { subresource: "status" },
      );
      await consumer.delete(PodResource, local("done"));
      await provider.delete(ShadowPodResource, remote("lost"));
      // Has no time left, as one that an earlier virtual node has let go without a word.
      await consumer.delete(PodResource, local("lost"), { gracePeriodSeconds: 0 });
      await harness.startVirtualNode();
      expect((await ends("lost")).status).to.include({ phase: "Failed", reason: "Deleted" });
      expect((await ends("done")).status).to.include({ phase: "Succeeded", reason: "RemotePodTerminated" });
      await Promise.all([letGo("lost"), letGo("done")]);
    });
  });

  describe("kubelet API", () => {
    let approver: Startable[] = [];
    let informers: SharedInformers;
    const get = (
      path: string,
      options: https.RequestOptions = {},
    ): Promise<{ status: number; body: string; issuer: unknown; cipher?: string }> =>
      new Promise((resolve, reject) => {
        const request = https.get(
          { host: "127.0.0.1", port: harness.kubeletPort, path, rejectUnauthorized: false, agent: false, ...options },
          (response) => {
            const socket = response.socket instanceof TLSSocket ? response.socket : undefined;
            const [issuer, cipher] = [socket?.getPeerCertificate().issuer, socket?.getCipher().name];
            let body = "";
            response.setEncoding("utf8").on("data", (text: string) => (body += text));
            response.on("end", () => resolve({ status: response.statusCode ?? 0, body, issuer, cipher }));
          },
        );
        request.on("error", reject);
      });

    after(async () => {
      await Promise.all(approver.map((part) => part.stop()));
      await informers?.stop();
    });

    it("admits nobody unknown, tells others what they may not, and serves who may", async () => {
      const someone = await harness.consumer.authority.issue("CN=someone");
      const admin = await harness.consumer.authority.issue("CN=admin,O=system:masters");
      expect((await get("/pods")).status).to.equal(401);
      const refused = await get("/pods", { cert: someone.certificate, key: someone.key });
      expect(refused.status).to.equal(403);
      expect(refused.body).to.contain("user someone may not get nodes/pods");
      const credentials = { cert: admin.certificate, key: admin.key };
      const pods = await get("/pods", credentials);
      expect(pods.status).to.equal(200);
      expect((JSON.parse(pods.body) as { items: Pod[] }).items.map(({ metadata }) => metadata?.name)).to.include(
        "set-0",
      );
      expect(await get("/healthz", credentials)).to.include({ status: 200, body: "ok" });
      expect((await get("/metrics/resource", credentials)).body).to.contain("node_cpu_usage_seconds_total");
      expect((await get(`/containerLogs/${LOCAL_NAMESPACE}/nobody/main`, credentials)).status).to.equal(404);
      expect((await get(`/containerLogs/${LOCAL_NAMESPACE}/set-0/none`, credentials)).status).to.equal(404);
      expect(
        (await get(`/containerLogs/${LOCAL_NAMESPACE}/set-0/main?sinceSeconds=1&sinceTime=x`, credentials)).status,
      ).to.equal(422);
    });

    it("takes bearer tokens that the API server confirms", async () => {
      const { status } = await consumer.request<{ status: { token: string } }>(
        "POST",
        `/api/v1/namespaces/${LOCAL_NAMESPACE}/serviceaccounts/default/token`,
        { body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: [] } } },
      );
      expect((await get("/pods", { headers: { authorization: "Bearer nonsense" } })).status).to.equal(401);
      expect((await get("/pods", { headers: { authorization: `Bearer ${status.token}` } })).status).to.equal(403);
    });

    it("gets a serving certificate by a request that only its own account can make", async () => {
      await consumer.create(PodResource, {
        metadata: {
          name: "vk-provider-0",
          namespace: TENANT,
          labels: { [Labels.virtualNode]: NODE, [Labels.offloadingComponent]: "virtual-kubelet" },
        },
        spec: { serviceAccountName: `vk-${NODE}`, containers: [{ name: "virtual-kubelet", image: "agent" }] },
      });
      const status = { podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] };
      await consumer.mergePatch(
        PodResource,
        { name: "vk-provider-0", namespace: TENANT },
        { status },
        { subresource: "status" },
      );
      // The same request by another user is left alone.
      const { items } = await consumer.list(CertificateSigningRequestResource);
      const { request, signerName, usages } = items[0]!.spec;
      const labels = { [Labels.virtualNode]: NODE };
      await consumer.create(CertificateSigningRequestResource, {
        metadata: { name: "forged", labels },
        spec: { request, signerName, usages },
      });

      const logger = quietLogger();
      informers = new SharedInformers(consumer, logger);
      approver = setupServingCertificateApprover({ client: consumer, informers, logger } as ControllerContext);
      await informers.start();
      for (const part of approver) await part.start();
      await until("a certificate of the cluster's authority", SECONDS, async () => {
        const { issuer } = await get("/healthz");
        return (issuer as { CN?: string } | undefined)?.CN === "consumer-ca" ? true : undefined;
      });
      const left = await until("answered requests to be removed", SECONDS, async () => {
        const list = await consumer.list(CertificateSigningRequestResource);
        return list.items.length === 1 ? list.items : undefined;
      });
      expect(left[0]?.metadata?.name).to.equal("forged");
      expect(left[0]?.status?.conditions).to.equal(undefined);
    });

    it("takes the cheapest cipher, in whatever order a client names them, also with a certificate of later", async () => {
      const ciphers = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
      expect((await get("/healthz", { ciphers })).cipher).to.equal("TLS_AES_128_GCM_SHA256");
    });
  });

  describe("withdrawn namespace", () => {
    it("gives pods up when their namespace is not offloaded any more, but not at once", async () => {
      await runRemotely("set-0", running());
      await appears(consumer, PodResource, local("set-0"), ({ status }) => status?.phase === "Running");
      await createPod("waiting");
      await appears(provider, ShadowPodResource, remote("waiting"));
      const spec = { type: "LoadBalancer", selector: { app: "shop" }, ports: [{ port: 80 }] };
      await consumer.create(ServiceResource, { metadata: local("market"), spec });
      await appears(provider, ServiceResource, remote("market"));
      const status = { loadBalancer: { ingress: [{ ip: "203.0.113.9" }] } };
      await provider.mergePatch(ServiceResource, remote("market"), { status }, { subresource: "status" });
      const published = (value: string | undefined) =>
        appears(consumer, ServiceResource, local("market"), ({ metadata }) => {
          return metadata?.annotations?.["published-at.offloading.liqo.io/provider"] === value;
        });
      await published("203.0.113.9");
      await harness.map("CreationLoopBackOff");
      await harness.map("Accepted");
      await harness.map("Terminating");
      const aborted = await appears(consumer, PodResource, local("set-0"), ({ status }) => status?.phase === "Failed");
      expect(aborted.status?.reason).to.equal("OffloadingAborted");
      expect(aborted.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).to.equal(1);
      await appears(consumer, PodResource, local("waiting"), ({ status }) => status?.reason === "OffloadingBackOff");
      await published(undefined);
      const finalizers = ["batch.kubernetes.io/job-tracking"];
      await consumer.mergePatch(PodResource, local("waiting"), { metadata: { finalizers } });
      await consumer.delete(PodResource, local("waiting"));
      await appears(consumer, PodResource, local("waiting"), ({ status }) => status?.phase === "Failed");
      await consumer.mergePatch(PodResource, local("waiting"), { metadata: { finalizers: null } });
      await vanishes(consumer, PodResource, local("waiting"));
    });
  });
});
