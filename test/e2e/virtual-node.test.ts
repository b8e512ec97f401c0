import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { DaemonSet, Deployment } from "kubernetes-types/apps/v1";
import type { Pod, PodSpec } from "kubernetes-types/core/v1";
import { NamespaceOffloadingResource } from "../../agent/api/index.js";
import {
  DaemonSetResource,
  DeploymentResource,
  Informer,
  NamespaceResource,
  PodResource,
  messageOf,
  type KubeClient,
} from "../../agent/runtime/index.js";
import { TEST_TOOLS_IMAGE, downClusters, upClusters, type ClusterSpec } from "../clusters/index.js";
import { endProgram } from "../clusters/local/processes.js";
import { silent } from "../clusters/support/progress.js";
import { until } from "../clusters/support/wait.js";
import { NAMESPACE, demoStack } from "../demo/environment.js";
import { attachAndTell } from "../support/attach.js";
import { agentProcesses } from "../support/agent-processes.js";
import { throughPortForward } from "../support/port-forward.js";
import { prepareLab, type LabCluster } from "../support/lab.js";
import type { PulumiStack } from "../support/pulumi.js";
import { isReady, waitForPods } from "../support/workload.js";

const RANGES = { podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" };
const CLUSTERS = [
  { name: "vnode-consumer", ...RANGES },
  { name: "vnode-provider", nodes: 2, ...RANGES },
];
const NODE = "provider";
const REMOTE_NAMESPACE = `${NAMESPACE}-consumer`;
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;

/** What people do with pods of an ordinary node, done with pods of a virtual one. */
describe("pods on a virtual node", function () {
  this.timeout(120_000);
  let consumer: LabCluster;
  let provider: LabCluster;
  let stack: PulumiStack;
  const stateFolder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-e2e-"));

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareLab(CLUSTERS);
    [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    stack = demoStack(lab, consumer, provider, { stack: "vnode", stateFolder });
    await ensureNamespace(consumer.client, NAMESPACE);
    await stack.init();
    await stack.up();
  });

  after(async () => {
    if (KEEP) return;
    await stack?.remove();
    await downClusters(CLUSTERS.map(({ name }) => name));
    rmSync(stateFolder, { recursive: true, force: true });
  });

  const readyPod = (namespace: string, app: string): Promise<Pod> =>
    waitForPods(consumer, namespace, `a pod of ${app} Ready on ${NODE}`, (pods) =>
      pods.find((pod) => pod.metadata?.labels?.["app"] === app && pod.spec?.nodeName === NODE && isReady(pod)),
    );
  const podWhere = (name: string, what: string, condition: (pod: Pod) => boolean): Promise<Pod> =>
    waitForPods(consumer, NAMESPACE, what, (pods) => pods.find((pod) => pod.metadata?.name === name && condition(pod)));
  const remotePod = (name: string): Promise<Pod | undefined> =>
    provider.client.get(PodResource, { name, namespace: REMOTE_NAMESPACE });

  it("are changed as on any node: resized in place, given a debugger that sees their processes, and another image", async () => {
    await consumer.client.create(DeploymentResource, deployment(NAMESPACE, "web", { requests: { cpu: "20m" } }));
    const { metadata } = await readyPod(NAMESPACE, "web");
    const name = metadata?.name ?? "";
    const before = await remotePod(name);

    const containers = [{ name: "main", resources: { requests: { cpu: "30m" } } }];
    const resize = JSON.stringify({ spec: { containers } });
    await consumer.kubectl(["patch", "pod", name, "-n", NAMESPACE, "--subresource", "resize", "-p", resize]);
    await podWhere(name, "30m of cpu in force", ({ status }) => {
      const [main] = (status?.containerStatuses ?? []) as { resources?: { requests?: Record<string, string> } }[];
      return main?.resources?.requests?.["cpu"] === "30m";
    });

    const look = "echo looking at: $(tr '\\0' ' ' < /proc/1/cmdline)";
    const debug = ["debug", name, "-n", NAMESPACE, "--container=debugger", "--target=main", "--profile=general"];
    await consumer.kubectl([
      ...debug,
      ...[`--image=${TEST_TOOLS_IMAGE}`, "--image-pull-policy=IfNotPresent", "--", "sh", "-c", look],
    ]);
    await podWhere(name, "the debugger's end", ({ status }) =>
      Boolean(status?.ephemeralContainerStatuses?.[0]?.state?.terminated),
    );
    expect(await consumer.kubectl(["logs", name, "-n", NAMESPACE, "-c", "debugger"])).to.contain(
      "looking at: sleep 100000",
    );

    // One and the same image by another name.
    const image = `${TEST_TOOLS_IMAGE.split(":")[0]}:none`;
    await consumer.kubectl(["set", "image", `pod/${name}`, `main=${image}`, "-n", NAMESPACE]);
    await podWhere(name, "the image that is nowhere", ({ status }) =>
      /Image/.test(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ""),
    );
    await consumer.kubectl(["set", "image", `pod/${name}`, `main=${TEST_TOOLS_IMAGE}`, "-n", NAMESPACE]);
    const after = await podWhere(name, "the pod with its image again", isReady);
    expect(after.metadata?.uid).to.equal(metadata?.uid);
    expect((await remotePod(name))?.metadata?.uid).to.equal(before?.metadata?.uid);
    expect(after.status?.containerStatuses?.[0]?.restartCount).to.equal(1);
  });

  it("and their node show in kubectl top", async () => {
    const { metadata } = await readyPod(NAMESPACE, "web");
    await until("figures of node and pod", 100_000, async () => {
      const node = await consumer.kubectl(["top", "node", NODE, "--no-headers"]);
      const pod = await consumer.kubectl(["top", "pod", metadata?.name ?? "", "-n", NAMESPACE, "--no-headers"]);
      return /\d+m\s/.test(node) && /\d+Mi/.test(pod) && !node.includes("unknown") ? true : undefined;
    });
  });

  it("answer kubectl as on any node: logs of each kind, attach, cp both ways, port-forward", async () => {
    const name = "talker";
    // Says when it starts, ends once, and repeats from then on what it is told.
    const script =
      'echo "begin $(cat /proc/sys/kernel/random/uuid)"; [ -e /data/again ] || { touch /data/again; exit 3; }; ' +
      "mkdir -p /tmp/www; echo served > /tmp/www/index.html; httpd -p 8080 -h /tmp/www; sleep 2; echo later; " +
      'while read -r line; do echo "heard $line"; done; sleep 100000';
    const main = { name: "main", image: TEST_TOOLS_IMAGE, command: ["sh", "-c", script], stdin: true };
    const beside = { name: "beside", image: TEST_TOOLS_IMAGE, command: ["sh", "-c", "echo beside; sleep 100000"] };
    const volumeMounts = [{ name: "data", mountPath: "/data" }];
    const nodeSelector = { "liqo.io/type": "virtual-node" };
    const spec: PodSpec = {
      ...podSpec({}),
      nodeSelector,
      containers: [{ ...main, volumeMounts }, beside],
      volumes: [{ name: "data", emptyDir: {} }],
    };
    await consumer.client.create(PodResource, { metadata: { name, namespace: NAMESPACE }, spec });
    await podWhere(name, "its second start", (pod) => {
      const status = pod.status?.containerStatuses?.find((one) => one.name === "main");
      return isReady(pod) && status?.restartCount === 1;
    });
    const logs = (...args: string[]): Promise<string> =>
      consumer.kubectl(["logs", name, "-n", NAMESPACE, ...args], { timeoutMs: 20_000 });
    await until("the later line", 20_000, async () =>
      (await logs("-c", "main")).includes("later") ? true : undefined,
    );
    const [now = "", before = ""] = await Promise.all([logs("-c", "main"), logs("-c", "main", "--previous")]);
    expect(before)
      .to.match(/^begin /)
      .and.not.equal(now.split("\n")[0]);
    expect(await logs("-c", "main", "--timestamps", "--tail=1")).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z later\n$/);
    expect(await logs("-c", "main", "--tail=0")).to.equal("");
    expect(await logs("-c", "main", `--since-time=${new Date(Date.now() + 60_000).toISOString()}`)).to.equal("");
    expect(await logs("-c", "main", "--since=1h", "--limit-bytes=5")).to.equal("begin");
    expect(await logs("--all-containers", "--prefix"))
      .to.contain("/beside] beside")
      .and.contain("/main] later");
    const container = { namespace: NAMESPACE, pod: name, container: "main" };
    const attached = await attachAndTell(consumer, container, "one\ntwo\n", "heard two\n");
    expect(attached).to.contain("heard one\nheard two");
    expect(await logs("-c", "main", "--tail=1")).to.equal("heard two\n");

    const file = path.join(stateFolder, "copied");
    writeFileSync(file, randomBytes(300_000));
    await consumer.kubectl(["cp", file, `${NAMESPACE}/${name}:/data/copied`, "-c", "main"], { timeoutMs: 20_000 });
    await consumer.kubectl(["cp", `${NAMESPACE}/${name}:/data/copied`, `${file}-back`, "-c", "main"], {
      timeoutMs: 20_000,
    });
    expect(readFileSync(`${file}-back`).equals(readFileSync(file))).to.equal(true);
    const failing = consumer.kubectl(["exec", name, "-n", NAMESPACE, "-c", "main", "--", "sh", "-c", "exit 7"]);
    expect(messageOf(await failing.catch((error: unknown) => error))).to.contain("exit code 7");
    const pod = { namespace: NAMESPACE, name, port: 8080 };
    const answer = await throughPortForward(consumer, pod, async (port) =>
      (await fetch(`http://127.0.0.1:${port}/index.html`)).text(),
    );
    expect(answer).to.equal("served\n");
    await consumer.client.delete(PodResource, { name, namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
  });

  it("run on while the consumer is down altogether, and are the same pods when it is back", async () => {
    const [spec] = CLUSTERS as [ClusterSpec];
    const before = await readyPod(NAMESPACE, "web");
    const name = before.metadata?.name ?? "";
    const running = await remotePod(name);
    const states = new Set<string>();
    const watch = new Informer(provider.client, PodResource, { namespace: REMOTE_NAMESPACE }).onEvent(
      ({ type, object }) => object.metadata?.name === name && states.add(`${type} ${isReady(object)}`),
    );
    await watch.start().waitForSync();
    for (const program of ["kube-apiserver", `kubelet-${consumer.cluster.nodes[0]?.name ?? ""}`])
      endProgram(consumer.cluster.name, program);
    for (const { pid } of await agentProcesses(consumer)) process.kill(pid, "SIGKILL");
    await upClusters([spec], { progress: silent });
    // Something that only a virtual node at work can do.
    await until("the label at the provider", 60_000, async () => {
      await consumer.kubectl(["label", "pod", name, "-n", NAMESPACE, "after=outage", "--overwrite"]).catch(() => "");
      return (await remotePod(name))?.metadata?.labels?.["after"] === "outage" ? true : undefined;
    });
    const after = await podWhere(name, "the pod Ready", isReady);
    await watch.stop();
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
    expect((await remotePod(name))?.metadata?.uid).to.equal(running?.metadata?.uid);
    expect([...states]).to.not.include.members(["deleted true"]);
    expect([...states].filter((state) => state.endsWith("false"))).to.deep.equal([]);
  });

  it("run on while the virtual node's process is killed, and are the same pods afterwards", async () => {
    const before = await readyPod(NAMESPACE, "web");
    const name = before.metadata?.name ?? "";
    const running = await remotePod(name);
    const labels = "offloading.liqo.io/component=virtual-kubelet";
    await consumer.kubectl(["delete", "pod", "-A", "-l", labels, "--grace-period=0", "--force"]);
    // Something only its successor can do.
    await consumer.kubectl(["label", "pod", name, "-n", NAMESPACE, "after=restart", "--overwrite"]);
    await until("the label at the provider", 60_000, async () =>
      (await remotePod(name))?.metadata?.labels?.["after"] === "restart" ? true : undefined,
    );
    const after = await podWhere(name, "the pod Ready", isReady);
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
    expect(after.status?.containerStatuses?.[0]?.containerID).to.equal(
      running?.status?.containerStatuses?.[0]?.containerID,
    );
    expect((await remotePod(name))?.metadata?.uid).to.equal(running?.metadata?.uid);
  });

  it("are run anew by the provider when it empties one of its nodes", async () => {
    const before = await readyPod(NAMESPACE, "web");
    const name = before.metadata?.name ?? "";
    const running = await remotePod(name);
    const node = running?.spec?.nodeName ?? "";
    const selector = `--pod-selector=liqo.io/managed-by=shadowpod`;
    await provider.kubectl(["drain", node, selector, "--ignore-daemonsets", "--timeout=60s"], { timeoutMs: 70_000 });
    const next = await until("another remote pod", 60_000, async () => {
      const pod = await remotePod(name);
      return pod && isReady(pod) && pod.metadata?.uid !== running?.metadata?.uid ? pod : undefined;
    });
    expect(next.spec?.nodeName).to.not.equal(node);
    const containerID = next.status?.containerStatuses?.[0]?.containerID;
    const after = await podWhere(name, "the other pod's container", (pod) => {
      return isReady(pod) && pod.status?.containerStatuses?.[0]?.containerID === containerID;
    });
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
    expect(after.status?.containerStatuses?.[0]?.restartCount).to.be.at.least(1);
    await provider.kubectl(["uncordon", node]);
  });

  it("that exceed the grant wait, and say so", async () => {
    const greedy = pod(NAMESPACE, "greedy", { requests: { cpu: "64" } });
    // By the scheduler none would come here.
    await consumer.client.create(PodResource, { ...greedy, spec: { ...greedy.spec!, nodeName: NODE } });
    const refused = await podWhere("greedy", "the refusal", ({ status }) => status?.reason === "OffloadingRefused");
    expect(refused.status?.message).to.contain("peering cpu quota usage exceeded");
    expect(await consumer.kubectl(["describe", "pod", "greedy", "-n", NAMESPACE])).to.contain("FailedReflection");
    expect(await remotePod("greedy")).to.equal(undefined);
    await consumer.kubectl(["delete", "pod", "greedy", "-n", NAMESPACE]);
  });

  it("of a DaemonSet that tolerates everything do not come", async () => {
    const everywhere = { name: "everywhere", namespace: NAMESPACE };
    await consumer.client.create(DaemonSetResource, daemonSet(everywhere));
    await until("the DaemonSet ready where it runs", 60_000, async () => {
      const { status } = (await consumer.client.get(DaemonSetResource, everywhere)) ?? {};
      return status?.desiredNumberScheduled === 1 && status.numberReady === 1 ? true : undefined;
    });
    await consumer.client.delete(DaemonSetResource, everywhere);
  });

  it("that were there, and waited, before their namespace was offloaded come by themselves", async () => {
    const namespace = "early";
    await ensureNamespace(consumer.client, namespace);
    await consumer.client.create(DeploymentResource, deployment(namespace, "early", {}));
    await waitForPods(consumer, namespace, "an unschedulable pod", (pods) =>
      pods.some(({ status }) => status?.conditions?.some(({ reason }) => reason === "Unschedulable")),
    );
    await consumer.client.create(
      NamespaceOffloadingResource,
      NamespaceOffloadingResource.build({
        metadata: { name: "offloading", namespace },
        spec: { podOffloadingStrategy: "Remote", clusterSelector: { nodeSelectorTerms: [] } },
      }),
    );
    await readyPod(namespace, "early");
    await consumer.kubectl(["delete", "deployment", "early", "-n", namespace]);
    await consumer.kubectl(["delete", "namespaceoffloading", "offloading", "-n", namespace]);
  });
});

function ensureNamespace(client: KubeClient, name: string): Promise<unknown> {
  return client.apply(NamespaceResource, { metadata: { name } }, { fieldManager: "test" });
}

type Resources = NonNullable<PodSpec["containers"][number]["resources"]>;

function podSpec(resources: Resources): PodSpec {
  return {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: TEST_TOOLS_IMAGE, command: ["sleep", "100000"], resources }],
  };
}

function pod(namespace: string, name: string, resources: Resources): Pod {
  return { metadata: { name, namespace }, spec: podSpec(resources) };
}

function deployment(namespace: string, app: string, resources: Resources): Deployment {
  const labels = { app };
  const nodeSelector = { "liqo.io/type": "virtual-node" };
  return {
    metadata: { name: app, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { ...podSpec(resources), nodeSelector } },
    },
  };
}

function daemonSet(id: { name: string; namespace: string }): DaemonSet {
  const labels = { app: id.name };
  const spec = { ...podSpec({}), tolerations: [{ operator: "Exists" }] };
  return {
    metadata: id,
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}
