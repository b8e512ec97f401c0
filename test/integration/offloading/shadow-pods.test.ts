import { expect } from "chai";
import type { PodSpec } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import {
  ConfigurationResource,
  ForeignClusterResource,
  NetworkResource,
  QuotaResource,
  ShadowEndpointSliceResource,
  ShadowPodResource,
  type ShadowPod,
} from "../../../agent/api/index.js";
import {
  EndpointSliceResource,
  EventResource,
  NamespaceResource,
  NodeResource,
  PodResource,
  RuntimeClassResource,
  objectPath,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { median } from "../../bench/result.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import {
  LimitRangeResource,
  ensureNamespace,
  eventually,
  gone,
  startController,
  type RunningController,
} from "./harness.js";

const NAMESPACE = "app-consumer";
/** Sooner than a crowd is asked again. */
const BEFORE_CROWDS_MS = 4_000;
const ORIGIN = { "offloading.liqo.io/origin": "consumer" };

describe("shadow resources against a real API server", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let controller: RunningController;
  let client: KubeClient;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    client = server.client;
    controller = await startController(server, "provider");
    await ensureNamespace(client, NAMESPACE, { "liqo.io/remote-cluster-id": "consumer" });
    const configuration = await client.create(
      ConfigurationResource,
      ConfigurationResource.build({
        metadata: { name: "any", namespace: NAMESPACE, labels: { "liqo.io/remote-cluster-id": "consumer" } },
        spec: { remote: { cidr: { pod: ["10.200.0.0/16"], external: ["10.70.0.0/16"] } } },
      }),
    );
    const status = { remote: { cidr: { pod: ["10.71.0.0/16"], external: ["10.72.0.0/16"] } } };
    await client.replaceStatus(ConfigurationResource, { ...configuration, status });
    await eventually("the ranges in the cache", async () => {
      const informer = controller.context.informers.for(ConfigurationResource);
      return Promise.resolve(informer.list()[0]?.status !== undefined);
    });
  });

  after(async () => {
    await controller?.stop();
    await server?.stop();
  });

  function shadowPod(name: string, pod: Partial<PodSpec> = {}): ShadowPod {
    return ShadowPodResource.build({
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: { ...ORIGIN, app: "web", tier: "front" },
        annotations: { note: "1" },
      },
      spec: { pod: { containers: [{ name: "c", image: "i" }], ...pod } },
    });
  }

  const id = (name: string) => ({ name, namespace: NAMESPACE });
  /** Those that the controller knows. */
  const podsInCache = () =>
    controller.context.informers.for(PodResource, { labelSelector: "liqo.io/managed-by=shadowpod" });

  it("makes a Pod at once, with the API server's address as it is known here", async () => {
    const hostAliases = [
      { ip: "10.70.0.5", hostnames: ["kubernetes.default", "kubernetes.default.svc"] },
      { ip: "10.70.0.6", hostnames: ["other"] },
    ];
    const shadow = await client.create(ShadowPodResource, shadowPod("web", { hostAliases }));
    const pod = await eventually("the Pod", () => client.get(PodResource, id("web")));
    expect(pod.spec?.hostAliases?.map(({ ip }) => ip)).to.deep.equal(["10.72.0.5", "10.70.0.6"]);
    expect(pod.metadata?.labels).to.include({ app: "web", "liqo.io/managed-by": "shadowpod", ...ORIGIN });
    expect(pod.metadata?.ownerReferences?.[0]).to.include({
      kind: "ShadowPod",
      uid: shadow.metadata.uid,
      controller: true,
    });
  });

  it("makes each of many Pods within 50 ms of its ShadowPod, at the median", async () => {
    const made = new Map<string, number>();
    podsInCache().onEvent(({ object }) => {
      const name = object.metadata?.name ?? "";
      if (!made.has(name)) made.set(name, Date.now());
    });
    const delays: number[] = [];
    for (let i = 0; i < 15; i++) {
      await client.create(ShadowPodResource, shadowPod(`fast-${i}`));
      const stored = Date.now();
      const at = await eventually("the Pod", () => Promise.resolve(made.get(`fast-${i}`)));
      delays.push(at - stored);
    }
    expect(median(delays)).to.be.below(50);
  });

  it("follows labels and annotations, removing only what came from the ShadowPod", async () => {
    await client.mergePatch(PodResource, id("web"), { metadata: { labels: { injected: "yes" } } });
    await client.mergePatch(ShadowPodResource, id("web"), {
      metadata: { labels: { tier: null, app: "api" }, annotations: { note: null } },
    });
    const pod = await eventually("the new labels", async () => {
      const now = await client.get(PodResource, id("web"));
      return now?.metadata?.labels?.["app"] === "api" ? now : undefined;
    });
    expect(pod.metadata?.labels).to.include({ injected: "yes" });
    expect(pod.metadata?.labels).not.to.have.property("tier");
    expect(pod.metadata?.annotations).not.to.have.property("note");
  });

  it("changes the Pod as its ShadowPod changes, in all that a Pod takes while it runs", async () => {
    const resources = { requests: { cpu: "100m", memory: "16Mi" } };
    const containers = [{ name: "c", image: "i:1", resources }];
    await client.create(ShadowPodResource, shadowPod("changing", { containers }));
    const made = await eventually("the Pod", () => client.get(PodResource, id("changing")));
    await client.mergePatch(ShadowPodResource, id("changing"), {
      spec: {
        pod: {
          containers: [{ name: "c", image: "i:2", resources: { requests: { cpu: "200m", memory: "16Mi" } } }],
          activeDeadlineSeconds: 3600,
          tolerations: [{ key: "late", operator: "Exists" }],
          ephemeralContainers: [{ name: "debugger", image: "tools", targetContainerName: "c" }],
        },
      },
    });
    const pod = await eventually("the debugger", async () => {
      const now = await client.get(PodResource, id("changing"));
      return now?.spec?.ephemeralContainers?.length ? now : undefined;
    });
    expect(pod.metadata?.uid).to.equal(made.metadata?.uid);
    expect(pod.spec?.containers[0]).to.deep.include({ image: "i:2" });
    expect(pod.spec?.containers[0]?.resources?.requests).to.include({ cpu: "200m" });
    expect(pod.spec?.activeDeadlineSeconds).to.equal(3600);
    expect(pod.spec?.tolerations?.map(({ key }) => key)).to.include("late");
  });

  it("resizes a Pod that asks for resources as a whole", async () => {
    const whole = (cpu: string) => ({ resources: { requests: { cpu, memory: "16Mi" } } });
    await client.create(ShadowPodResource, shadowPod("whole", { ...whole("100m") } as Partial<PodSpec>));
    const made = await eventually("the Pod", () => client.get(PodResource, id("whole")));
    expect(made.spec).to.deep.include(whole("100m"));
    await client.mergePatch(ShadowPodResource, id("whole"), { spec: { pod: whole("200m") } });
    const pod = await eventually("its new size", async () => {
      const now = await client.get(PodResource, id("whole"));
      return (now?.spec as unknown as ReturnType<typeof whole> | undefined)?.resources.requests.cpu === "200m" && now;
    });
    expect(pod.metadata?.uid).to.equal(made.metadata?.uid);
    await client.delete(ShadowPodResource, id("whole"));
  });

  it("tells on the ShadowPod what its Pod does not take, and takes the rest", async () => {
    const image = { op: "replace", path: "/spec/pod/containers/0/image", value: "i:3" };
    // A deadline can be made shorter only.
    const longer = { op: "replace", path: "/spec/pod/activeDeadlineSeconds", value: 7200 };
    await client.jsonPatch(ShadowPodResource, id("changing"), [longer]);
    const event = await eventually("the refusal", async () => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      return items.find(({ reason }) => reason === "FailedUpdatePod");
    });
    expect(event.involvedObject).to.include({ kind: "ShadowPod", name: "changing" });
    await client.jsonPatch(ShadowPodResource, id("changing"), [{ ...longer, value: 1800 }, image]);
    await eventually("the image", async () => {
      const pod = await client.get(PodResource, id("changing"));
      return pod?.spec?.containers[0]?.image === "i:3" && pod.spec.activeDeadlineSeconds === 1800;
    });
  });

  it("tells on the ShadowPod what the provider's Kubernetes leaves out of its Pod, as it does not know it", async () => {
    const young = { younger: { than: "this" }, unset: false } as Partial<PodSpec>;
    const containers = [{ name: "c", image: "i", tty: false, youngToo: ["x"], stdin: true }];
    await client.create(ShadowPodResource, shadowPod("younger", { ...young, hostNetwork: true, containers }));
    const event = await eventually("the event", async () => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      return items.find(({ reason, involvedObject: on }) => reason === "NotCarried" && on.name === "younger");
    });
    expect(event.involvedObject).to.include({ kind: "ShadowPod" });
    expect(event.message).to.match(/: spec\.younger, spec\.containers\[c\]\.youngToo$/);
    const { items } = await client.list(EventResource, { namespace: NAMESPACE });
    expect(items.filter(({ reason, involvedObject: on }) => reason === "NotCarried" && on.name !== "younger")).to.be
      .empty;
    await client.delete(ShadowPodResource, id("younger"));
  });

  it("tells on the ShadowPod that the provider's admission does not let its Pod in, and why", async () => {
    const name = "forbidden-here";
    const labels = (enforce: string | null) => ({
      metadata: { labels: { "pod-security.kubernetes.io/enforce": enforce } },
    });
    await client.mergePatch(NamespaceResource, { name: NAMESPACE }, labels("baseline"));
    const containers = [{ name: "c", image: "i", securityContext: { privileged: true } }];
    await eventually("the namespace's rule in force", () => {
      const probe = { metadata: id("probe"), spec: { containers } };
      return client.create(PodResource, probe, { dryRun: true }).then(
        () => false,
        () => true,
      );
    });
    await client.create(ShadowPodResource, shadowPod(name, { containers }));
    const status = await eventually("the refusal", async () => {
      const { status } = (await client.get(ShadowPodResource, id(name))) ?? {};
      return status?.message ? status : undefined;
    });
    expect(status.message).to.match(/violates PodSecurity.*privileged/);
    expect(await client.get(PodResource, id(name))).to.equal(undefined);
    await client.delete(ShadowPodResource, id(name));
    await client.mergePatch(NamespaceResource, { name: NAMESPACE }, labels(null));
  });

  it("runs no more than a user's quota, whatever admission has let in, and the next when there is room", async () => {
    const user = "slice-0123456789ab";
    const resources = { cpu: "1", memory: "1Gi", pods: 10 };
    await client.create(
      QuotaResource,
      QuotaResource.build({ metadata: { name: user, namespace: NAMESPACE }, spec: { user, resources } }),
    );
    const names = [0, 1, 2, 3, 4].map((i) => `greedy-${i}`);
    const ask = (name: string, cpu = "400m"): Promise<unknown> => {
      const resources = { requests: { cpu } };
      const shadow = shadowPod(name, { containers: [{ name: "c", image: "i", resources }] });
      Object.assign(shadow.metadata.labels ?? {}, { "liqo.io/creator-user": user });
      return client.create(ShadowPodResource, shadow);
    };
    await Promise.all(names.map((name) => ask(name)));
    const look = async (): Promise<{ running: string[]; waiting: string[] }> => {
      const { items } = await client.list(ShadowPodResource, { namespace: NAMESPACE });
      const running = await Promise.all(names.map((name) => client.get(PodResource, id(name))));
      return {
        running: running.flatMap((pod) => pod?.metadata?.name ?? []),
        waiting: items
          .filter(({ status }) => status?.reason === "FailedCreatePod")
          .map((one) => one.metadata.name ?? ""),
      };
    };
    // The first to wait may do so for the Quota itself, which comes by another watch, and who waits may tell it before the others run.
    const { running, waiting } = await eventually("two that run and three that wait", async () => {
      const now = await look();
      return now.running.length === 2 && now.waiting.length === 3 ? now : undefined;
    });
    expect([...running, ...waiting].sort()).to.deep.equal(names);
    const tells = (name: string, text: string): Promise<unknown> =>
      eventually(`"${text}" told of ${name}`, async () => {
        const shadow = await client.get(ShadowPodResource, id(name));
        return shadow?.status?.message?.includes(text);
      });
    await tells(waiting[0] ?? "", "peering cpu quota usage exceeded - free 200m / requested 400m");

    await client.delete(ShadowPodResource, id(running[0] ?? ""));
    await eventually("one of them in its place", async () => (await look()).waiting.length === 2);
    expect((await look()).running).to.have.length(2);
    const grant = (cpu: string): Promise<unknown> =>
      client.mergePatch(QuotaResource, { name: user, namespace: NAMESPACE }, { spec: { resources: { cpu } } });
    await grant("2");
    await eventually("all of them", async () => (await look()).waiting.length === 0);

    // What the provider takes back is no reason to end what runs: only what is new has to wait.
    const uids = async (): Promise<(string | undefined)[]> => {
      const pods = await Promise.all(names.map((name) => client.get(PodResource, id(name))));
      return pods.filter((pod) => !pod?.metadata?.deletionTimestamp).map((pod) => pod?.metadata?.uid);
    };
    const before = await uids();
    await ask("vast", "4");
    await tells("vast", "free 400m / requested 4");
    await grant("400m");
    // Quotas and ShadowPods come by two watches: who waits tells when the smaller grant has arrived.
    await tells("vast", "free -1200m / requested 4");
    await ask("late");
    await tells("late", "free -1200m / requested 400m");
    expect(await uids()).to.deep.equal(before);
    const exceeding = async (): Promise<string[]> => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      const told = items.filter(({ reason, involvedObject: on }) => reason === "QuotaExceeded" && on.name === user);
      return told.map(({ message, count }) => `${count}: ${message ?? ""}`);
    };
    const isTold = (...amounts: string[]): Promise<unknown> =>
      eventually(`${amounts.length} events of more that runs than is granted`, async () => {
        const messages = await exceeding();
        return amounts.every((amount) => messages.some((one) => one.startsWith("1: ") && one.includes(amount)));
      });
    await isTold("1200m of cpu more than the 400m granted");
    // A Pod less, or a look more, changes nothing of what was granted.
    await client.mergePatch(QuotaResource, id(user), { metadata: { annotations: { look: "again" } } });
    await client.delete(ShadowPodResource, id(running[1] ?? ""));
    await eventually("one Pod less", async () => !(await client.get(PodResource, id(running[1] ?? ""))));
    await grant("300m");
    await isTold("1200m of cpu more than the 400m granted", "900m of cpu more than the 300m granted");
    expect(await exceeding()).to.have.length(2);
    for (const name of [...names, "vast", "late"]) await client.delete(ShadowPodResource, id(name));
  });

  it("counts what a RuntimeClass adds to a Pod, before it is made and when it grows", async () => {
    const user = "slice-sandboxed";
    const resources = { cpu: "1", pods: 10 };
    const quota = { metadata: { name: user, namespace: NAMESPACE }, spec: { user, resources } };
    await client.create(QuotaResource, QuotaResource.build(quota));
    await client.create(RuntimeClassResource, {
      metadata: { name: "sandbox" },
      handler: "sandbox",
      overhead: { podFixed: { cpu: "250m" } },
    });
    const { informers } = controller.context;
    await eventually("Quota and RuntimeClass in the caches", () =>
      Promise.resolve(
        informers.for(RuntimeClassResource).get("sandbox") && informers.for(QuotaResource).find(NAMESPACE, user),
      ),
    );
    const containers = (cpu: string) => [{ name: "c", image: "i", resources: { requests: { cpu } } }];
    const ask = (name: string, cpu: string): Promise<unknown> => {
      const shadow = shadowPod(name, { containers: containers(cpu), runtimeClassName: "sandbox" });
      Object.assign(shadow.metadata.labels ?? {}, { "liqo.io/creator-user": user });
      return client.create(ShadowPodResource, shadow);
    };
    await ask("sandboxed", "300m");
    const pod = await eventually("the Pod", () => client.get(PodResource, id("sandboxed")));
    expect(pod.spec?.overhead).to.deep.equal({ cpu: "250m" });
    await ask("second", "300m");
    await eventually("why the second waits", async () => {
      const { message } = (await client.get(ShadowPodResource, id("second")))?.status ?? {};
      return message?.includes("free 450m / requested 550m");
    });
    const change = { spec: { pod: { containers: containers("800m") } } };
    await client.mergePatch(ShadowPodResource, id("sandboxed"), change);
    await eventually("why it does not grow", async () => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      return items.some(
        ({ reason, message, involvedObject: on }) =>
          reason === "FailedUpdatePod" && on.name === "sandboxed" && message?.includes("free 1 / requested 1050m"),
      );
    });
    for (const name of ["sandboxed", "second"]) await client.delete(ShadowPodResource, id(name));
    await client.delete(RuntimeClassResource, { name: "sandbox" });
  });

  it("runs no more than a user's quota whatever the provider's admission adds to a Pod, and makes none again in vain", async () => {
    const user = "slice-defaulted";
    const resources = { cpu: "1", pods: 10 };
    const quota = { metadata: { name: user, namespace: NAMESPACE }, spec: { user, resources } };
    await client.create(QuotaResource, QuotaResource.build(quota));
    const limits = [{ type: "Container", defaultRequest: { cpu: "600m" } }];
    await client.create(LimitRangeResource, { metadata: id("defaults"), spec: { limits } });
    const [quotas, made] = [controller.context.informers.for(QuotaResource), [] as string[]];
    await eventually("Quota and LimitRange in force", async () => {
      const probe = { metadata: id("probe"), spec: { containers: [{ name: "c", image: "i" }] } };
      const { spec } = await client.create(PodResource, probe, { dryRun: true });
      return spec?.containers[0]?.resources?.requests?.["cpu"] === "600m" && quotas.find(NAMESPACE, user);
    });
    podsInCache().onEvent(({ type, object }) => {
      if (type === "added") made.push(object.metadata?.name ?? "");
    });
    const ask = (name: string): Promise<unknown> => {
      const shadow = shadowPod(name);
      Object.assign(shadow.metadata.labels ?? {}, { "liqo.io/creator-user": user });
      return client.create(ShadowPodResource, shadow);
    };
    await ask("defaulted");
    await eventually("the Pod", () => client.get(PodResource, id("defaulted")));
    await ask("too-much");
    await eventually("why the second waits", async () => {
      const { message } = (await client.get(ShadowPodResource, id("too-much")))?.status ?? {};
      return message?.includes("free 400m / requested 600m");
    });
    await gone(client, PodResource, id("too-much"));
    await eventually("its end in the cache", () => Promise.resolve(!podsInCache().get(`${NAMESPACE}/too-much`)));
    // What brings another look at it.
    await client.mergePatch(QuotaResource, id(user), { spec: { resources: { pods: 20 } } });
    await client.mergePatch(ShadowPodResource, id("too-much"), { metadata: { labels: { look: "again" } } });
    await client.delete(ShadowPodResource, id("defaulted"));
    const second = await eventually("the second Pod", () => client.get(PodResource, id("too-much")));
    expect(second.metadata?.deletionTimestamp).to.equal(undefined);
    expect(made.filter((name) => name === "too-much")).to.have.length.at.most(2);
    await client.delete(ShadowPodResource, id("too-much"));
    await client.delete(LimitRangeResource, id("defaults"));
    await eventually("the LimitRange's end in force", async () => {
      const probe = { metadata: id("probe"), spec: { containers: [{ name: "c", image: "i" }] } };
      return !(await client.create(PodResource, probe, { dryRun: true })).spec?.containers[0]?.resources?.requests;
    });
  });

  it("gives a Pod the resources that have waited for room once there is some, and its labels meanwhile", async () => {
    const user = "slice-growing";
    const resources = { cpu: "1", memory: "1Gi", pods: 10 };
    const quota = { metadata: { name: user, namespace: NAMESPACE }, spec: { user, resources } };
    await client.create(QuotaResource, QuotaResource.build(quota));
    const containers = (cpu: string) => [{ name: "c", image: "i", resources: { requests: { cpu } } }];
    for (const [name, cpu] of [
      ["large", "600m"],
      ["growing", "300m"],
    ] as const) {
      const shadow = shadowPod(name, { containers: containers(cpu) });
      Object.assign(shadow.metadata.labels ?? {}, { "liqo.io/creator-user": user });
      await client.create(ShadowPodResource, shadow);
      await eventually("the Pod", () => client.get(PodResource, id(name)));
    }
    const { metadata } = (await client.get(PodResource, id("growing"))) ?? {};
    const cpuOf = async () =>
      (await client.get(PodResource, id("growing")))?.spec?.containers[0]?.resources?.requests?.["cpu"];
    const change = { metadata: { labels: { tier: "back" } }, spec: { pod: { containers: containers("800m") } } };
    await client.mergePatch(ShadowPodResource, id("growing"), change);
    await eventually("the label", async () => {
      const pod = await client.get(PodResource, id("growing"));
      return pod?.metadata?.labels?.["tier"] === "back";
    });
    expect(await cpuOf()).to.equal("300m");
    const event = await eventually("why it waits", async () => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      return items.find(
        ({ reason, involvedObject }) => reason === "FailedUpdatePod" && involvedObject.name === "growing",
      );
    });
    expect(event.message).to.contain("wait for room").and.to.contain("free 400m / requested 800m");

    await client.delete(ShadowPodResource, id("large"));
    await eventually("the larger Pod", async () => (await cpuOf()) === "800m");
    expect((await client.get(PodResource, id("growing")))?.metadata?.uid).to.equal(metadata?.uid);
    await client.delete(ShadowPodResource, id("growing"));
  });

  it("makes the Pod again when it is deleted, until its ShadowPod has ended", async () => {
    await client.delete(PodResource, id("web"), { gracePeriodSeconds: 0 });
    const { metadata } = await eventually("another Pod", () => client.get(PodResource, id("web")));
    // A kubelet says that a Pod which is deleted has failed.
    const finalizer = { metadata: { finalizers: ["example.com/kubelet"] } };
    await client.mergePatch(PodResource, id("web"), finalizer);
    await client.delete(PodResource, id("web"), { gracePeriodSeconds: 0 });
    await client.mergePatch(PodResource, id("web"), { status: { phase: "Failed" } }, { subresource: "status" });
    await client.mergePatch(PodResource, id("web"), { metadata: { finalizers: null } });
    await eventually("a third", async () => {
      const uid = (await client.get(PodResource, id("web")))?.metadata?.uid;
      return uid !== undefined && uid !== metadata?.uid;
    });
    await client.mergePatch(PodResource, id("web"), { status: { phase: "Succeeded" } }, { subresource: "status" });
    await eventually(
      "the phase",
      async () => (await client.get(ShadowPodResource, id("web")))?.status?.phase === "Succeeded",
    );
    await client.delete(PodResource, id("web"), { gracePeriodSeconds: 0 });
    await eventually("its end in the cache", () => Promise.resolve(!podsInCache().get(`${NAMESPACE}/web`)));
    // Another one is made after it in the same queue: if this one were made again, it would be there by then.
    await client.create(ShadowPodResource, shadowPod("after"));
    await eventually("the later Pod", () => client.get(PodResource, id("after")));
    expect(await client.get(PodResource, id("web"))).to.equal(undefined);
  });

  it("deletes the Pod with its ShadowPod", async () => {
    await client.delete(ShadowPodResource, id("after"));
    await gone(client, PodResource, id("after"));
  });

  it("ends the Pod within as many seconds as its ShadowPod tells, and makes no other", async () => {
    await client.create(ShadowPodResource, shadowPod("hurried"));
    await eventually("the Pod", () => client.get(PodResource, id("hurried")));
    const target = { apiVersion: "v1", kind: "Node", name: "some" };
    const body = { apiVersion: "v1", kind: "Binding", metadata: id("hurried"), target };
    await client.request("POST", objectPath(PodResource, id("hurried"), "binding"), { body });
    const key = `${NAMESPACE}/hurried`;
    await eventually("the pod's node in the caches", () => Promise.resolve(podsInCache().get(key)?.spec?.nodeName));
    const tell = (seconds: string): Promise<unknown> =>
      client.mergePatch(ShadowPodResource, id("hurried"), {
        metadata: { annotations: { "offloading.liqo.io/deletion-grace-period-seconds": seconds } },
      });
    await tell("soon");
    await tell("7");
    const { metadata } = await eventually("its deletion", async () => {
      const pod = await client.get(PodResource, id("hurried"));
      return pod?.metadata?.deletionTimestamp ? pod : undefined;
    });
    expect(metadata?.deletionGracePeriodSeconds).to.equal(7);
    await client.delete(PodResource, id("hurried"), { gracePeriodSeconds: 0 });
    await eventually("its end in the cache", () => Promise.resolve(!podsInCache().get(key)));
    await client.create(ShadowPodResource, shadowPod("next"));
    await eventually("the later Pod", () => client.get(PodResource, id("next")));
    expect(await client.get(PodResource, id("hurried"))).to.equal(undefined);
    for (const name of ["hurried", "next"]) await client.delete(ShadowPodResource, id(name));
  });

  it("says of a crowd's Pods in the end that they run, whatever has become of each, and at once of one that came alone", async () => {
    const tell = (name: string, phase: string): Promise<unknown> =>
      client.mergePatch(PodResource, id(name), { status: { phase } }, { subresource: "status" });
    const start = async (name: string): Promise<void> => {
      await client.create(ShadowPodResource, shadowPod(name));
      await eventually("the Pod", () => client.get(PodResource, id(name)));
      await tell(name, "Running");
    };
    const phaseOf = async (name: string) => (await client.get(ShadowPodResource, id(name)))?.status?.phase;
    const crowd = Array.from({ length: 12 }, (_, index) => `crowd-${index}`);
    await Promise.all(crowd.map(start));
    await tell("crowd-0", "Succeeded");
    await eventually("every phase", async () => {
      const [first, ...others] = await Promise.all(crowd.map(phaseOf));
      return first === "Succeeded" && others.every((phase) => phase === "Running");
    });
    await start("alone");
    await until("the phase of a Pod that came alone", BEFORE_CROWDS_MS, async () =>
      (await phaseOf("alone")) === "Running" ? true : undefined,
    );
    for (const name of ["alone", ...crowd]) await client.delete(ShadowPodResource, id(name));
  });

  it("ends a Pod on a dead node, so that it is made anew, but none that may have an identity", async () => {
    await client.create(NodeResource, { metadata: { name: "dead" } });
    const setReady = (status: string) =>
      client.mergePatch(
        NodeResource,
        { name: "dead" },
        { status: { conditions: [{ type: "Ready", status }] } },
        { subresource: "status" },
      );
    await setReady("True");
    const nodes = controller.context.informers.for(NodeResource);
    await eventually("the node Ready in the cache", () =>
      Promise.resolve(nodes.get("dead")?.status?.conditions?.length),
    );
    const stateful = shadowPod("set-0");
    Object.assign(stateful.metadata.labels ?? {}, { "statefulset.kubernetes.io/pod-name": "set-0" });
    await client.create(ShadowPodResource, shadowPod("plain"));
    await client.create(ShadowPodResource, stateful);
    const before = new Map<string, string | undefined>();
    for (const name of ["plain", "set-0"]) {
      const pod = await eventually("the Pod", () => client.get(PodResource, id(name)));
      before.set(name, pod.metadata?.uid);
      const target = { apiVersion: "v1", kind: "Node", name: "dead" };
      const body = { apiVersion: "v1", kind: "Binding", metadata: id(name), target };
      await client.request("POST", objectPath(PodResource, id(name), "binding"), { body });
      // An API server begins a deletion with what its own cache holds, and ends a pod at once that has no node there.
      const key = `${NAMESPACE}/${name}`;
      await eventually("the pod's node in the caches", () => Promise.resolve(podsInCache().get(key)?.spec?.nodeName));
      await client.delete(PodResource, id(name));
    }
    const present = (name: string) => client.get(PodResource, id(name));
    expect((await present("plain"))?.metadata?.deletionTimestamp).to.be.a("string");
    await setReady("Unknown");
    await eventually("another Pod", async () => {
      const uid = (await present("plain"))?.metadata?.uid;
      return uid !== undefined && uid !== before.get("plain");
    });
    expect((await present("set-0"))?.metadata?.uid).to.equal(before.get("set-0"));
    await client.delete(PodResource, id("set-0"), { gracePeriodSeconds: 0 });
    for (const name of before.keys()) await client.delete(ShadowPodResource, id(name));
  });

  it("makes EndpointSlices with translated addresses, which are not ready while the consumer is not reachable", async () => {
    const foreignCluster = await client.create(
      ForeignClusterResource,
      ForeignClusterResource.build({ metadata: { name: "consumer" }, spec: { clusterID: "consumer" } }),
    );
    await client.create(
      ShadowEndpointSliceResource,
      ShadowEndpointSliceResource.build({
        metadata: { name: "web-1", namespace: NAMESPACE, labels: { ...ORIGIN, "kubernetes.io/service-name": "web" } },
        spec: {
          template: {
            addressType: "IPv4",
            endpoints: [
              { addresses: ["10.200.1.2"], conditions: { ready: true } },
              { addresses: ["10.70.0.9"], conditions: { ready: false } },
            ],
            ports: [{ name: "http", port: 80, protocol: "TCP" }],
          },
        },
      }),
    );
    const readiness = async () =>
      (await client.get(EndpointSliceResource, id("web-1")))?.endpoints?.map(({ conditions }) => conditions?.ready);
    const slice = await eventually("the EndpointSlice", () => client.get(EndpointSliceResource, id("web-1")));
    expect(slice.endpoints?.map(({ addresses }) => addresses[0])).to.deep.equal(["10.71.1.2", "10.72.0.9"]);
    expect(slice.metadata?.labels).to.include({
      "kubernetes.io/service-name": "web",
      "liqo.io/managed-by": "shadowendpointslice",
    });
    expect(await readiness()).to.deep.equal([true, false]);

    const off = { enabled: false, conditions: [] };
    const networking = {
      enabled: true,
      conditions: [{ type: "NetworkConnectionStatus" as const, status: "Error" as const }],
    };
    const status = { role: "Consumer" as const, modules: { networking, authentication: off, offloading: off } };
    await client.replaceStatus(ForeignClusterResource, { ...foreignCluster, status });
    await eventually("no ready endpoint", async () => (await readiness())?.every((ready) => ready === false));
    networking.conditions = [];
    const id_ = { name: "consumer" };
    await client.mergePatch(
      ForeignClusterResource,
      id_,
      { status: { modules: { networking: off } } },
      { subresource: "status" },
    );
    await eventually("the first ready again", async () => (await readiness())?.[0] === true);
    await client.delete(ShadowEndpointSliceResource, id("web-1"));
    await gone(client, EndpointSliceResource, id("web-1"));
  });

  it("gives endpoints at a third cluster its own addresses of that cluster, as soon as there is a network towards it", async () => {
    const data = JSON.stringify({ clusterAddresses: { neighbour: ["10.200.0.9"] } });
    await client.create(
      ShadowEndpointSliceResource,
      ShadowEndpointSliceResource.build({
        metadata: {
          ...id("direct-1"),
          labels: ORIGIN,
          annotations: { note: "1", "liqo.io/direct-connections-data": data },
        },
        spec: {
          template: {
            addressType: "IPv4",
            endpoints: [{ addresses: ["10.200.0.5"] }, { addresses: ["10.200.0.9"] }],
            ports: [],
          },
        },
      }),
    );
    const addresses = (slice?: EndpointSlice) => slice?.endpoints.flatMap(({ addresses: all }) => all).join();
    const slice = await eventually("the EndpointSlice", () => client.get(EndpointSliceResource, id("direct-1")));
    expect(addresses(slice)).to.equal("10.71.0.5");
    expect(slice.metadata?.annotations).to.include({ note: "1" });
    expect(slice.metadata?.annotations).to.not.have.property("liqo.io/direct-connections-data");

    const configuration = await client.create(
      ConfigurationResource,
      ConfigurationResource.build({
        metadata: { ...id("neighbour"), labels: { "liqo.io/remote-cluster-id": "neighbour" } },
        spec: { remote: { cidr: { pod: ["10.200.0.0/16"], external: ["10.70.0.0/16"] } } },
      }),
    );
    const status = { remote: { cidr: { pod: ["10.73.0.0/16"], external: ["10.74.0.0/16"] } } };
    await client.mergePatch(ConfigurationResource, id("neighbour"), { status }, { subresource: "status" });
    await eventually("the endpoint at the neighbour", async () => {
      return addresses(await client.get(EndpointSliceResource, id("direct-1"))) === "10.71.0.5,10.73.0.9";
    });
    await client.delete(ConfigurationResource, id("neighbour"), { uid: configuration.metadata.uid });
    await eventually("the endpoint to go with its network", async () => {
      return addresses(await client.get(EndpointSliceResource, id("direct-1"))) === "10.71.0.5";
    });
    await client.delete(ShadowEndpointSliceResource, id("direct-1"));
    await gone(client, EndpointSliceResource, id("direct-1"));
  });

  it("leads to no address that is not the consumer's: of nodes, API servers, pods and Services here, and of other peers", async () => {
    const remapped = async (name: string, pod: string, here: string): Promise<void> => {
      await client.create(
        ConfigurationResource,
        ConfigurationResource.build({
          metadata: { ...id(name), labels: { "liqo.io/remote-cluster-id": name } },
          spec: { remote: { cidr: { pod: [pod], external: [] } } },
        }),
      );
      const status = { remote: { cidr: { pod: [here], external: [] } } };
      await client.mergePatch(ConfigurationResource, id(name), { status }, { subresource: "status" });
    };
    for (const [type, cidr] of Object.entries({ pod: "10.250.0.0/16", service: "10.251.0.0/16" })) {
      const labels = { "ipam.liqo.io/network-type": `${type}-cidr` };
      const metadata = { name: `own-${type}`, namespace: "liqo", labels };
      await client.create(NetworkResource, NetworkResource.build({ metadata, spec: { cidr } }));
    }
    await remapped("victim", "10.80.0.0/16", "10.81.0.0/16");
    await client.create(NodeResource, { metadata: { name: "target" } });
    const addresses = [{ type: "InternalIP", address: "192.168.9.1" }];
    await client.mergePatch(NodeResource, { name: "target" }, { status: { addresses } }, { subresource: "status" });
    // As an API server writes it that is reached from outside; the test's own one does not.
    const apiServer = "192.168.9.100";
    const kubernetes = { name: "kubernetes", namespace: "default" };
    await client.create(EndpointSliceResource, {
      metadata: { ...kubernetes, labels: { "kubernetes.io/service-name": "kubernetes" } },
      addressType: "IPv4",
      endpoints: [{ addresses: [apiServer] }],
    });

    const wrong = ["10.250.1.1", "10.250.1.2", "10.251.0.1", "10.81.0.5", "192.168.9.1", apiServer];
    const right = { "10.200.1.2": "10.71.1.2", "203.0.113.9": "203.0.113.9", "10.80.0.7": "10.81.0.7" };
    // What it says to be reached directly is no more its own for that.
    const data = JSON.stringify({ clusterAddresses: { victim: ["10.80.0.7", "10.250.1.2"] } });
    const endpoints = [...wrong, ...Object.keys(right)].map((address) => ({ addresses: [address] }));
    const template = { addressType: "IPv4" as const, endpoints, ports: [] };
    const shadow = await client.create(
      ShadowEndpointSliceResource,
      ShadowEndpointSliceResource.build({
        metadata: { ...id("greedy"), labels: ORIGIN, annotations: { "liqo.io/direct-connections-data": data } },
        spec: { template },
      }),
    );
    const served = async (): Promise<string[] | undefined> =>
      (await client.get(EndpointSliceResource, id("greedy")))?.endpoints.flatMap(({ addresses: all }) => all);
    // What guards the addresses comes by watches of its own.
    await eventually("the consumer's own addresses alone", async () => {
      return (await served())?.join() === Object.values(right).join();
    });
    const event = await eventually("the event", async () => {
      const { items } = await client.list(EventResource, { namespace: NAMESPACE });
      return items.find(
        ({ reason, message = "" }) => reason === "EndpointsRefused" && wrong.every((one) => message.includes(one)),
      );
    });
    expect(event.involvedObject).to.include({ kind: "ShadowEndpointSlice", uid: shadow.metadata.uid });
    expect(event.type).to.equal("Warning");

    await client.delete(NodeResource, { name: "target" });
    await eventually("an address that is no node's any more", async () => (await served())?.includes("192.168.9.1"));
    await client.delete(ShadowEndpointSliceResource, id("greedy"));
    await gone(client, EndpointSliceResource, id("greedy"));
    await client.delete(EndpointSliceResource, kubernetes);
    await client.delete(ConfigurationResource, id("victim"));
    for (const type of ["pod", "service"])
      await client.delete(NetworkResource, { name: `own-${type}`, namespace: "liqo" });
  });
});
