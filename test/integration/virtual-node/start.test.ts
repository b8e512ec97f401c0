import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import { Names, ShadowPodResource, type ShadowPod } from "../../../agent/api/index.js";
import { policyRules } from "../../../agent/install/rbac/rule.js";
import { VIRTUAL_KUBELET_REMOTE_RULES } from "../../../agent/install/rbac/virtual-node.js";
import {
  ClusterRoleResource,
  EventResource,
  Informer,
  PodResource,
  kubeTime,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { startController, type RunningController } from "../offloading/harness.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { openRequestLog, type RequestLog, type Requests } from "../support/request-log.js";
import {
  LOCAL_USER,
  NODE,
  REMOTE_NAMESPACE,
  REMOTE_USER,
  appears,
  local,
  remote,
  startHarness,
  type Harness,
} from "./harness.js";

const PODS = 300;
/** Of which so many have a token. */
const WITH_TOKEN = 50;
/** What makes them, and what plays their kubelets, does so for so many at a time. */
const AT_ONCE = 10;
const MADE_MS = 240_000;
const CAUGHT_UP_MS = 60_000;
/** Who the provider's controller is here. */
const CONTROLLER_USER = "test-controller";
/** A start's own requests: lists, watches, leases, its certificate, its Node. A second page of pods, of ShadowPods and of each list of events is among them. */
const OWN = 150;

/** A virtual node that begins where many pods run, and the provider's controller: what is as it should be costs the API servers nothing but lists. */
describe(`a start with ${PODS} offloaded pods`, function () {
  this.timeout(START_LIMIT_MS + MADE_MS);
  let harness: Harness;
  let consumer: KubeClient;
  let provider: KubeClient;
  let controller: RunningController;
  const logs: { consumer?: RequestLog; provider?: RequestLog } = {};
  const names = Array.from({ length: PODS }, (_, index) => `pod-${String(index).padStart(4, "0")}`);
  const last = names.at(-1)!;

  before(async function () {
    [logs.consumer, logs.provider] = await Promise.all([openRequestLog(), openRequestLog()]);
    harness = await startHarness({ consumerFlags: logs.consumer.flags, providerFlags: logs.provider.flags });
    [consumer, provider] = [harness.consumer.client, harness.provider.client];
    await startProvider();
    await harness.startVirtualNode();
    await harness.map("Accepted");
    await makePods();
  });

  after(async () => {
    await harness?.stopVirtualNode();
    await controller?.stop();
    await harness?.stop();
    await Promise.all([logs.consumer?.remove(), logs.provider?.remove()]);
  });

  async function startProvider(): Promise<void> {
    controller = await startController(harness.provider, "provider");
    // A stand-in of that name is what the controller's tests need.
    const role = {
      metadata: { name: Names.virtualKubeletRemoteRole },
      rules: policyRules(VIRTUAL_KUBELET_REMOTE_RULES),
    };
    await provider.apply(ClusterRoleResource, role, { fieldManager: "test" });
  }

  /** All of them running, with an event each. */
  async function makePods(): Promise<void> {
    const here = new Informer(consumer, PodResource, {});
    const there = new Informer(provider, PodResource, { namespace: REMOTE_NAMESPACE });
    await Promise.all([here, there].map((informer) => informer.start().waitForSync()));
    await each(names, (name) => consumer.create(PodResource, podOf(name, names.indexOf(name) < WITH_TOKEN)));
    await until("all pods at the provider", MADE_MS, () => (there.list().length === PODS ? true : undefined));
    await each(there.list(), async (pod) => {
      await provider.mergePatch(
        PodResource,
        remote(pod.metadata?.name ?? ""),
        { status: running() },
        { subresource: "status" },
      );
      await tell(pod);
    });
    await until("all pods running here", MADE_MS, () => {
      const isRunning = here.list().filter(({ status }) => status?.phase === "Running");
      return isRunning.length === PODS ? true : undefined;
    });
    await until("their events here", MADE_MS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: local(last).namespace });
      return items.filter(({ reason }) => reason === "Pulled").length === PODS ? true : undefined;
    });
    await until("all ShadowPods running", MADE_MS, async () => {
      const { items } = await provider.list(ShadowPodResource, { namespace: REMOTE_NAMESPACE });
      return items.every(({ status }) => status?.phase === "Running") ? true : undefined;
    });
    await Promise.all([here.stop(), there.stop()]);
  }

  /** As its kubelet does. */
  function tell({ metadata }: Pod, event = "pulled"): Promise<unknown> {
    const { name = "", namespace, uid } = metadata ?? {};
    const now = kubeTime();
    return provider.create(EventResource, {
      metadata: remote(`${name}.${event}`),
      involvedObject: { apiVersion: "v1", kind: "Pod", name, namespace, uid },
      ...{ reason: "Pulled", message: "image is there", type: "Normal", count: 1 },
      ...{ firstTimestamp: now, lastTimestamp: now, source: { component: "kubelet", host: "node" } },
    });
  }

  const total = (requests: Requests): number => Object.values(requests).reduce((sum, count) => sum + count, 0);

  it("asks for lists, and writes what it has missed alone", async () => {
    await harness.stopVirtualNode();
    await consumer.mergePatch(PodResource, local(last), { metadata: { labels: { missed: "yes" } } });
    const pod = await appears(provider, PodResource, remote(last));
    // Lists are told in the order of names: what was missed is looked at last.
    await tell(pod, "then-pulled");
    await Promise.all([logs.consumer?.begin(), logs.provider?.begin()]);

    await harness.startVirtualNode();
    const isLabelled = ({ metadata }: Pod): boolean => metadata?.labels?.["missed"] === "yes";
    await appears(provider, PodResource, remote(last), isLabelled, CAUGHT_UP_MS);
    await appears(consumer, EventResource, local(`${last}.then-pulled`), undefined, CAUGHT_UP_MS);
    const here = (await logs.consumer?.requestsOf(LOCAL_USER)) ?? {};
    const there = (await logs.provider?.requestsOf(REMOTE_USER)) ?? {};
    const told = JSON.stringify({ here, there });
    expect(there["patch shadowpods"], told).to.equal(1);
    // What the provider's controller tells of its new pods comes by and by, as does what the former process told of them.
    delete here["create events"];
    expect(total(here) + total(there), told).to.be.at.most(OWN);
  });

  it("at the provider, of its controller, too", async () => {
    await controller.stop();
    const isLabelled = ({ metadata }: Pod | ShadowPod): boolean => metadata?.labels?.["missed"] === "again";
    await consumer.mergePatch(PodResource, local(last), { metadata: { labels: { missed: "again" } } });
    await appears(provider, ShadowPodResource, remote(last), isLabelled);
    await logs.provider?.begin();
    await startProvider();
    await appears(provider, PodResource, remote(last), isLabelled, CAUGHT_UP_MS);
    const requests = (await logs.provider?.requestsOf(CONTROLLER_USER)) ?? {};
    const told = JSON.stringify(requests);
    expect(requests["patch pods"], told).to.equal(1);
    expect(total(requests), told).to.be.at.most(OWN);
  });
});

/** Works through them, so many at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function podOf(name: string, withToken: boolean): Pod {
  const token = { projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
  return {
    metadata: { ...local(name), labels: { app: "web" } },
    spec: {
      nodeName: NODE,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "main", image: "web" }],
      ...(withToken ? { serviceAccountName: "default", volumes: [{ name: "api", ...token }] } : {}),
    },
  };
}

function running(): Pod["status"] {
  const startedAt = kubeTime();
  const condition = (type: string) => ({ type, status: "True", lastTransitionTime: startedAt });
  const main = { name: "main", image: "web", imageID: "sha256:1", ready: true, restartCount: 0 };
  return {
    phase: "Running",
    startTime: startedAt,
    podIP: "10.201.0.9",
    podIPs: [{ ip: "10.201.0.9" }],
    hostIP: "172.30.0.12",
    hostIPs: [{ ip: "172.30.0.12" }],
    conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition),
    containerStatuses: [{ ...main, state: { running: { startedAt } } }],
  };
}
