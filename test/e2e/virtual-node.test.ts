import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import type { DaemonSet, Deployment, StatefulSet } from "kubernetes-types/apps/v1";
import type { HorizontalPodAutoscaler } from "kubernetes-types/autoscaling/v2";
import type { Job } from "kubernetes-types/batch/v1";
import type { Container, Node, Pod, PodSpec, Probe, Service, Toleration } from "kubernetes-types/core/v1";
import {
  Annotations,
  ConnectionResource,
  ConnectionValue,
  Labels,
  NamespaceOffloadingResource,
  ResourceSliceResource,
  type NamespaceOffloadingSpec,
  type OffloadingPhase,
} from "../../agent/api/index.js";
import {
  ConfigMapResource,
  DaemonSetResource,
  DeploymentResource,
  EndpointSliceResource,
  Informer,
  LeaseResource,
  NamespaceResource,
  NodeResource,
  PodResource,
  RoleBindingResource,
  RuntimeClassResource,
  SecretResource,
  ServiceResource,
  kubeTime,
  messageOf,
  type InformerOptions,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { processesOf } from "../bench/pod-processes.js";
import { TEST_TOOLS_IMAGE, downClusters, upClusters, type ClusterSpec } from "../clusters/index.js";
import { endProgram } from "../clusters/local/processes.js";
import { silent } from "../clusters/support/progress.js";
import { until } from "../clusters/support/wait.js";
import { NAMESPACE, demoStack } from "../demo/environment.js";
import { JobResource, StatefulSetResource } from "../soak/changes.js";
import { LINK, cutOff, whileCutOff } from "../soak/faults.js";
import { prepareAuditedLab } from "../support/audit.js";
import { NO_TOKEN, askingPod, showPods } from "../support/api-access.js";
import { attachAndTell } from "../support/attach.js";
import { agentProcesses, killAll } from "../support/agent-processes.js";
import { clearAway, kept } from "./virtual-node/clear-away.js";
import { isAsExpected } from "../support/expected-status.js";
import { inTerminal } from "../support/in-terminal.js";
import { offloadNamespace } from "../support/offload-namespace.js";
import { throughPortForward } from "../support/port-forward.js";
import { REPOSITORY, type LabCluster } from "../support/lab.js";
import type { PulumiStack } from "../support/pulumi.js";
import { waitFor } from "../support/wait.js";
import { WEB_PORT, isReady, localPod, waitForPods, webDeployment } from "../support/workload.js";

const RANGES = { podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" };
const CLUSTERS = [
  { name: "vnode-consumer", ...RANGES },
  { name: "vnode-provider", nodes: 2, nodeGraceSeconds: 20, ...RANGES },
] as const satisfies ClusterSpec[];
const NODE = "provider";
const SECOND_NODE = "provider-second";
const REMOTE_NAMESPACE = `${NAMESPACE}-consumer`;
const BUSY = "busy";
const FRONT = "front";
/** A headless Service of the same pods. */
const EACH = "each";
const TARGET_PERCENT = 50;

const AutoscalerResource: ResourceType<HorizontalPodAutoscaler> = {
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
};

/** Each end of the link is shorter than the silence after which a gateway gives it up. */
const FLAPS = { count: 7, downMs: 600, upMs: 900 };
const MANIFEST = path.join(REPOSITORY, "test/e2e/virtual-node/everything.yaml");
/** Pods that expect of their node what pods do, a file for each subject. */
const ORDINARY = path.join(REPOSITORY, "test/e2e/virtual-node/ordinary");
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;

/** What people do with pods of an ordinary node, done with pods of a virtual one. */
describe("pods on a virtual node", function () {
  this.timeout(600_000);
  let consumer: LabCluster;
  let provider: LabCluster;
  let stack: PulumiStack;
  const stateFolder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-e2e-"));

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab(CLUSTERS);
    [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    stack = demoStack(lab, consumer, provider, { stack: "vnode", stateFolder });
    await ensureNamespace(consumer.client, NAMESPACE);
    await stack.init();
    // The provider's agents are to stay where no test ends a node.
    const [, second = ""] = nodesOf(provider);
    await provider.kubectl(["cordon", second]);
    await stack.up();
    await provider.kubectl(["uncordon", second]);
    // What an autoscaler goes by takes its time: the last test looks at what has come of it.
    await consumer.client.create(DeploymentResource, kept(busyDeployment(NAMESPACE)));
    await consumer.client.create(AutoscalerResource, autoscaler(NAMESPACE));
    await consumer.client.create(DeploymentResource, kept(deployment(NAMESPACE, "web", { requests: { cpu: "20m" } })));
  });

  afterEach(async function () {
    if (this.currentTest?.state === "failed")
      await clearAway({ consumer, provider, specs: CLUSTERS, virtualNode: NODE, secondNode: SECOND_NODE });
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
  /** A Service with a pod here and one there, both Ready, and a pod here that asks it. */
  const ensureFront = async (): Promise<void> => {
    const manager = { fieldManager: "test" };
    await consumer.client.apply(ServiceResource, frontService(NAMESPACE), manager);
    const pods = [localPod(NAMESPACE, "asker"), frontPod(NAMESPACE, "near"), offloaded(frontPod(NAMESPACE, "far"))];
    await Promise.all(pods.map((one) => consumer.client.apply(PodResource, one, manager)));
    for (const one of ["asker", "near", "far"]) await podWhere(one, `${one} Ready`, isReady);
  };
  /** Who answers a pod, each named once. By its path: a shell that runs BusyBox's wget within its own process ends with it. */
  const answersOf = async (url: string, times: number, asker = "asker"): Promise<string[]> => {
    const ask = `for i in $(seq ${times}); do /usr/bin/wget -q -T 2 -O - ${url} || echo nobody; done`;
    const answers = await consumer.kubectl(["exec", asker, "-n", NAMESPACE, "--", "sh", "-c", ask]);
    return [...new Set(answers.trim().split("\n"))].map((answer) => answer.replace("served by ", "")).sort();
  };
  /** A Service leads to others a moment after its EndpointSlice says so. */
  const untilAnswered = (by: string[], asker?: string, url = `http://${FRONT}`): Promise<true> =>
    until(`answers of ${by.join(" and ")} at ${url}`, 60_000, async () =>
      isDeepStrictEqual(await answersOf(url, 20, asker), by) ? true : undefined,
    );

  it("are changed as on any node: resized in place, given a debugger that sees their processes, and another image", async () => {
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

  it("are resized as a whole, and have all their containers started again by a rule of one", async () => {
    const volumeMounts = [{ name: "data", mountPath: "/data" }];
    const fails = "[ -e /data/again ] || { touch /data/again; exit 3; }; exec sleep 100000";
    const rule = { action: "RestartAllContainers", exitCodes: { operator: "In", values: [3] } };
    const [main] = podSpec({}).containers;
    const ruled = { command: ["sh", "-c", fails], volumeMounts, restartPolicy: "Never", restartPolicyRules: [rule] };
    const whole = { resources: { requests: { cpu: "20m", memory: "16Mi" }, limits: { cpu: "100m", memory: "64Mi" } } };
    const spec = {
      ...podSpec({}),
      ...whole,
      containers: [
        { ...main!, ...ruled },
        { ...main!, name: "beside" },
      ],
      volumes: [{ name: "data", emptyDir: {} }],
    };
    await consumer.client.create(PodResource, offloaded({ metadata: { name: "whole", namespace: NAMESPACE }, spec }));
    await podWhere("whole", "both its containers started again", (one) => {
      const counts = one.status?.containerStatuses?.map(({ restartCount }) => restartCount) ?? [];
      return isReady(one) && isDeepStrictEqual(counts, [1, 1]);
    });
    const resize = JSON.stringify({ spec: { resources: { requests: { cpu: "30m" } } } });
    await consumer.kubectl(["patch", "pod", "whole", "-n", NAMESPACE, "--subresource", "resize", "-p", resize]);
    await podWhere("whole", "30m of cpu in force", ({ status }) => {
      const { resources } = (status ?? {}) as { resources?: { requests?: Record<string, string> } };
      return resources?.requests?.["cpu"] === "30m";
    });
    await consumer.client.delete(PodResource, { name: "whole", namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
  });

  it("and their node show in kubectl top", async () => {
    const { metadata } = await readyPod(NAMESPACE, "web");
    await until("figures of node and pod", 240_000, async () => {
      const node = await consumer.kubectl(["top", "node", NODE, "--no-headers"]);
      const pod = await consumer.kubectl(["top", "pod", metadata?.name ?? "", "-n", NAMESPACE, "--no-headers"]);
      return /\d+m\s/.test(node) && /\d+Mi/.test(pod) && !node.includes("unknown") ? true : undefined;
    });
  });

  it("leave their node when it is drained, and come back once it may be used again", async () => {
    const { metadata } = await readyPod(NAMESPACE, "web");
    const left = metadata?.name ?? "";
    await consumer.kubectl(["drain", NODE, "--ignore-daemonsets", "--timeout=120s"], { timeoutMs: 130_000 });
    expect(await consumer.client.get(PodResource, { name: left, namespace: NAMESPACE })).to.equal(undefined);
    expect(await remotePod(left)).to.equal(undefined);
    const { spec, status } = (await consumer.client.get(NodeResource, { name: NODE })) ?? {};
    expect(spec?.unschedulable).to.equal(true);
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).to.equal("True");
    await waitForPods(consumer, NAMESPACE, "a pod of web that has no node", (pods) =>
      pods.some((pod) => pod.metadata?.labels?.["app"] === "web" && !pod.spec?.nodeName),
    );
    await consumer.kubectl(["uncordon", NODE]);
    await readyPod(NAMESPACE, "web");
  });

  it("answer kubectl as on any node: logs of each kind, attach, cp both ways, terminals, port-forward", async () => {
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
      initContainers: [prepares("prepares"), sidecar("stands-by")].map((container) => ({ ...container, volumeMounts })),
      containers: [{ ...main, volumeMounts, readinessProbe: prepared() }, beside],
      volumes: [{ name: "data", emptyDir: {} }],
    };
    await consumer.client.create(PodResource, { metadata: { name, namespace: NAMESPACE }, spec });
    await podWhere(name, "its second start", (pod) => {
      const status = pod.status?.containerStatuses?.find((one) => one.name === "main");
      return isReady(pod) && status?.restartCount === 1;
    });
    const inits = (await podWhere(name, "its init containers", isReady)).status?.initContainerStatuses ?? [];
    expect(inits.map(({ name: one, ready, state }) => [one, ready, state?.terminated?.exitCode])).to.deep.equal([
      ["prepares", true, 0],
      ["stands-by", true, undefined],
    ]);
    const logs = (...args: string[]): Promise<string> =>
      consumer.kubectl(["logs", name, "-n", NAMESPACE, ...args], { timeoutMs: 60_000 });
    await until("the later line", 60_000, async () =>
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
    // What is said goes to whoever is attached and to the log, to either first.
    await until("the last line in the log", 60_000, async () =>
      (await logs("-c", "main", "--tail=1")) === "heard two\n" ? true : undefined,
    );

    const file = path.join(stateFolder, "copied");
    writeFileSync(file, randomBytes(300_000));
    await consumer.kubectl(["cp", file, `${NAMESPACE}/${name}:/data/copied`, "-c", "main"]);
    await consumer.kubectl(["cp", `${NAMESPACE}/${name}:/data/copied`, `${file}-back`, "-c", "main"]);
    expect(readFileSync(`${file}-back`).equals(readFileSync(file))).to.equal(true);
    const untilSize = (size: string): string => `until [ "$(stty size)" = "${size}" ]; do sleep 0.1; done; stty size`;
    const sizes = { first: { rows: 33, columns: 77 }, shown: "33 77", second: { rows: 44, columns: 88 } };
    const inMain = [name, "-n", NAMESPACE, "-c", "main"];
    const look = ["--", "timeout", "60", "sh", "-c", `${untilSize("33 77")}; ${untilSize("44 88")}`];
    // Without them it is SPDY, as older clients speak.
    for (const webSockets of ["true", "false"]) {
      const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets };
      const shown = await inTerminal(consumer, sizes, ["exec", "-it", ...inMain, ...look], env);
      expect(shown, `by WebSocket: ${webSockets}`).to.match(/33 77\s+44 88/);
      const told = { env: { ...process.env, ...env }, input: "told\n" };
      expect(await consumer.kubectl(["exec", "-i", ...inMain, "--", "cat"], told)).to.equal("told\n");
    }
    const failing = consumer.kubectl(["exec", name, "-n", NAMESPACE, "-c", "main", "--", "sh", "-c", "exit 7"]);
    expect(messageOf(await failing.catch((error: unknown) => error))).to.contain("exit code 7");
    const pod = { namespace: NAMESPACE, name, port: 8080 };
    for (const webSockets of ["true", "false"]) {
      const answer = await throughPortForward(
        consumer,
        pod,
        async (port) => (await fetch(`http://127.0.0.1:${port}/index.html`)).text(),
        { KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets },
      );
      expect(answer, `by WebSocket: ${webSockets}`).to.equal("served\n");
    }
    await consumer.client.delete(PodResource, { name, namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
  });

  it("are followed by kubectl logs -f until their container ends", async () => {
    const name = "follower";
    const untilThere = (file: string): string => `until [ -e ${file} ]; do sleep 0.1; done`;
    const command = ["sh", "-c", `echo one; ${untilThere("/tmp/two")}; echo two; ${untilThere("/tmp/end")}`];
    const spec: PodSpec = { restartPolicy: "Never", containers: [{ name: "main", image: TEST_TOOLS_IMAGE, command }] };
    await consumer.client.create(PodResource, offloaded({ metadata: { name, namespace: NAMESPACE }, spec }));
    await podWhere(name, "it running", isReady);
    const seen: string[] = [];
    const saw = (line: string): Promise<true> =>
      until(`line "${line}"`, 60_000, () => (seen.includes(line) ? true : undefined));
    const make = (file: string): Promise<string> =>
      consumer.kubectl(["exec", name, "-n", NAMESPACE, "--", "touch", file]);
    const endAfterTwo = async (): Promise<void> => {
      await saw("one");
      await make("/tmp/two");
      await saw("two");
      await make("/tmp/end");
    };
    const [all] = await Promise.all([
      consumer.kubectl(["logs", "-f", name, "-n", NAMESPACE], { onLine: (line) => seen.push(line) }),
      endAfterTwo(),
    ]);
    expect(all).to.equal("one\ntwo\n");
    await podWhere(name, "its end", ({ status }) => status?.phase === "Succeeded");
    await consumer.kubectl(["delete", "pod", name, "-n", NAMESPACE]);
  });

  it("find in their environment and files what they would on any node, also what changes later, and are started again when they fall ill", async () => {
    const name = "everything";
    await ensureFront();
    await consumer.kubectl(["apply", "-n", NAMESPACE, "-f", MANIFEST]);
    const before = await podWhere(name, "everything Ready", isReady);
    const inside = async (script: string): Promise<string> =>
      (await consumer.kubectl(["exec", name, "-n", NAMESPACE, "--", "sh", "-c", script])).trim();
    const logs = (...args: string[]): Promise<string> => consumer.kubectl(["logs", name, "-n", NAMESPACE, ...args]);

    expect(await inside('echo "$TIER, $NOTE, $MEMORY, $MODE, ${ABSENT-absent}, $GREETED, $KEY_word"')).to.equal(
      "gold, kept, 64, first, absent, everything of gold, swordfish",
    );
    expect(await inside("echo $POD_IP")).to.equal((await remotePod(name))?.status?.podIP);
    expect(await inside("cat /etc/pod/note /etc/pod/cpu /etc/pod/labels")).to.match(/^kept200(.*\n)*tier="gold"/);
    expect(await inside("cd /etc/all; cat name word settings/mode; stat -Lc ' %a' name")).to.equal(
      "everythingswordfishfirst 440",
    );
    const [, payload = ""] = (await inside("cat /etc/all/token")).split(".");
    expect(JSON.parse(Buffer.from(payload, "base64url").toString())).to.deep.include({
      aud: ["vault.example"],
      sub: `system:serviceaccount:${NAMESPACE}:default`,
    });
    expect(await inside("cat /etc/hosts")).to.match(/^192\.0\.2\.7\s+elsewhere\.example$/m);
    expect(await inside("/usr/bin/wget -q -O - http://$FRONT_SERVICE_HOST:$FRONT_SERVICE_PORT")).to.match(
      /^served by (near|far)$/,
    );

    const settings = { name: "settings", namespace: NAMESPACE };
    await consumer.client.mergePatch(ConfigMapResource, settings, { data: { mode: "second" } });
    await until("the ConfigMap at the provider", 60_000, async () => {
      const found = await provider.client.get(ConfigMapResource, { ...settings, namespace: REMOTE_NAMESPACE });
      return found?.data?.["mode"] === "second" ? true : undefined;
    });
    // A kubelet brings files up to date when the pod changes, or after a minute or two.
    await consumer.kubectl(["label", "pod", name, "-n", NAMESPACE, "tier=silver", "--overwrite"]);
    await until("the files brought up to date", 300_000, async () => {
      const files = await inside("cd /etc; cat settings/mode all/settings/mode; grep tier pod/labels");
      return files === 'secondsecondtier="silver"' ? true : undefined;
    });
    expect(await inside("echo $MODE")).to.equal("first");

    await inside("touch /tmp/sick");
    const after = await podWhere(
      name,
      "another container, Ready",
      (pod) => isAnother(before)(pod) && pod.status?.containerStatuses?.[0]?.lastState?.terminated !== undefined,
    );
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
    expect(after.status?.qosClass).to.equal("Burstable");
    const [main] = after.status?.containerStatuses ?? [];
    expect(main?.restartCount).to.equal(1);
    expect(main?.lastState?.terminated).to.include({ exitCode: 137, message: "begun\nasked to end\n" });
    await until("the event of the illness", 90_000, async () => {
      const described = await consumer.kubectl(["describe", "pod", name, "-n", NAMESPACE]);
      return /Killing.*failed liveness probe/.test(described) ? true : undefined;
    });
    expect(await logs("--previous")).to.equal("in mode first, for everything of gold\n");
    expect(await logs()).to.equal("in mode second, for everything of silver\n");
    await consumer.kubectl(["delete", "-n", NAMESPACE, "-f", MANIFEST]);
  });

  it("are told of as by any kubelet: how they end, what probes and hooks do, whose rights, files and names they have", async () => {
    const namespace = "ordinary";
    const sameName = { podOffloadingStrategy: "Remote", namespaceMappingStrategy: "EnforceSameName" } as const;
    await offloadNamespace(consumer, namespace, sameName);
    const runtimeClass = { metadata: { name: "there" }, handler: "runc" };
    await provider.client.create(RuntimeClassResource, runtimeClass);
    try {
      // Most of them look for themselves, and end well or not.
      await consumer.kubectl(["apply", "-n", namespace, "-f", ORDINARY]);
      const unlike = (pods: Pod[]): Pod[] => pods.filter((pod) => pod.spec?.nodeName !== NODE || !isAsExpected(pod));
      const describe = (pods: Pod[]): string =>
        JSON.stringify(unlike(pods).map(({ metadata, status }) => [metadata?.name, status]));
      const seen = new Set<string>();
      const what = "all pods once as their annotations expect";
      await waitFor(consumer.client, PodResource, { namespace, timeoutMs: 240_000, what, describe }, (pods) => {
        for (const { metadata } of pods.filter((pod) => !unlike([pod]).length)) seen.add(metadata?.name ?? "");
        return pods.every(({ metadata }) => seen.has(metadata?.name ?? ""));
      });

      const gated = { name: "gated", namespace };
      const condition = { type: "example.org/published", status: "True", lastTransitionTime: kubeTime() };
      const { status } = (await consumer.client.get(PodResource, gated)) ?? {};
      const conditions = [...(status?.conditions ?? []), condition];
      await consumer.client.mergePatch(PodResource, gated, { status: { conditions } }, { subresource: "status" });
      await waitForPods(consumer, namespace, "gated Ready, as its gate is open", (pods) =>
        pods.some((pod) => pod.metadata?.name === "gated" && isReady(pod)),
      );

      const ofClass = await provider.client.get(PodResource, { name: "of-class", namespace });
      expect(ofClass?.spec?.runtimeClassName).to.equal("there");
      await consumer.kubectl(["delete", "pod", "leaves-in-order", "-n", namespace]);
      const told = (await consumer.kubectl(["exec", "witness", "-n", namespace, "--", "cat", "/tmp/told"])).trim();
      expect(told.split("\n")).to.have.members(["preStop", "end", "asked", "rested"]);
      expect(told, "its hook, then its end").to.match(/preStop\n[^]*end/);
      const run = ["run", "echoes", "-i", "--rm", "--restart=Never", "-n", namespace, `--image=${TEST_TOOLS_IMAGE}`];
      expect(await consumer.kubectl([...run, "--command", "--", "cat"], { input: "said\n" })).to.contain("said\n");
    } finally {
      // Also where a check failed: what stays would be in the way of drains in the tests after this one.
      await consumer.kubectl(["delete", "-n", namespace, "--wait=false", "--ignore-not-found", "-f", ORDINARY]);
      await consumer.kubectl(["delete", "namespaceoffloading", "offloading", "-n", namespace]);
      await provider.client.delete(RuntimeClassResource, runtimeClass.metadata);
    }
  });

  it("find and are found by names of their own behind a headless Service, and what an external name stands for", async () => {
    await ensureFront();
    const manager = { fieldManager: "test" };
    const headless = { ...frontService(NAMESPACE).spec, clusterIP: "None" };
    await consumer.client.apply(
      ServiceResource,
      { metadata: { name: EACH, namespace: NAMESPACE }, spec: headless },
      manager,
    );
    for (const asker of ["asker", "far"])
      for (const pod of ["near", "far"]) await untilAnswered([pod], asker, `http://${pod}.${EACH}:${WEB_PORT}`);
    for (const [asker, namespace] of [
      ["asker", NAMESPACE],
      ["far", REMOTE_NAMESPACE],
    ] as const) {
      const name = `${EACH}.${namespace}.svc.cluster.local`;
      const told = await consumer.kubectl(["exec", asker, "-n", NAMESPACE, "--", "nslookup", "-type=a", name]);
      const [server, ...addresses] = new Set(told.match(/\d+\.\d+\.\d+\.\d+/g));
      expect(addresses, `what ${server} says of ${name}: ${told}`).to.have.length(2);
    }

    // A name that is the provider's own: nobody but its DNS knows it.
    const external = { type: "ExternalName", externalName: `${FRONT}.${REMOTE_NAMESPACE}.svc.cluster.local` };
    await consumer.client.apply(
      ServiceResource,
      { metadata: { name: "alias", namespace: NAMESPACE }, spec: external },
      manager,
    );
    await untilAnswered(["far", "near"], "far", "http://alias");
    await consumer.kubectl(["delete", "service", EACH, "alias", "-n", NAMESPACE]);
  });

  it("stay with one pod of a Service where that has session affinity", async () => {
    await ensureFront();
    const { metadata } = await readyPod(NAMESPACE, "web");
    const asker = metadata?.name ?? "";
    const spec = { ...frontService(NAMESPACE).spec, sessionAffinity: "ClientIP" };
    await consumer.client.create(ServiceResource, { metadata: { name: "sticky", namespace: NAMESPACE }, spec });
    await untilAnswered(["far", "near"], asker);
    const [chosen = ""] = await until("an answer at sticky", 60_000, async () => {
      const answers = await answersOf("http://sticky", 1, asker);
      return answers.includes("nobody") ? undefined : answers;
    });
    expect(["far", "near"]).to.include(chosen);
    expect(await answersOf("http://sticky", 20, asker)).to.deep.equal([chosen]);
    await consumer.kubectl(["delete", "service", "sticky", "-n", NAMESPACE]);
  });

  it("are spread over the provider's nodes as they ask, and wait where they cannot be", async () => {
    const [, second = ""] = nodesOf(provider);
    await provider.kubectl(["cordon", second]);
    const app = "spread";
    const { metadata, spec } = deployment(NAMESPACE, app, {});
    const constraint = { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule" };
    const topologySpreadConstraints = [{ ...constraint, labelSelector: spec!.selector }];
    Object.assign(spec!.template.spec!, { topologySpreadConstraints });
    await consumer.client.create(DeploymentResource, { metadata, spec: { ...spec!, replicas: 2 } });
    const ofApp = (pods: Pod[]): Pod[] => pods.filter((one) => one.metadata?.labels?.["app"] === app);
    await waitForPods(consumer, NAMESPACE, "one Ready and one that waits for another node", (pods) => {
      const scheduled = ofApp(pods).map(({ status }) =>
        status?.conditions?.find(({ type }) => type === "PodScheduled"),
      );
      const isWaiting = scheduled.some((one) => one?.status === "False" && /topology spread/.test(one.message ?? ""));
      return isWaiting && ofApp(pods).filter(isReady).length === 1;
    });
    await provider.kubectl(["uncordon", second]);
    const both = await waitForPods(consumer, NAMESPACE, "both Ready", (pods) => {
      const ready = ofApp(pods).filter(isReady);
      return ready.length === 2 && ready;
    });
    const remote = await Promise.all(both.map((one) => remotePod(one.metadata?.name ?? "")));
    expect(remote.map((one) => one?.spec?.nodeName).sort()).to.deep.equal(nodesOf(provider).sort());
    await consumer.kubectl(["delete", "deployment", app, "-n", NAMESPACE]);
  });

  it("are replaced when the provider has evicted them", async () => {
    const limits = { "ephemeral-storage": "2Mi" };
    const { metadata, spec } = deployment(NAMESPACE, "hoarder", { limits });
    // Its node offers no such resource to schedulers.
    Object.assign(spec!.template.spec!, { nodeName: NODE });
    await consumer.client.create(DeploymentResource, { metadata, spec });
    const { metadata: first } = await readyPod(NAMESPACE, "hoarder");
    const hoard = ["dd", "if=/dev/zero", "of=/tmp/hoard", "bs=1M", "count=8"];
    await consumer.kubectl(["exec", first?.name ?? "", "-n", NAMESPACE, "--", ...hoard]);
    const evicted = await podWhere(first?.name ?? "", "the eviction", ({ status }) => status?.phase === "Failed");
    expect(evicted.status?.reason).to.equal("Evicted");
    expect(evicted.status?.message).to.contain("ephemeral local storage");
    const next = await readyPod(NAMESPACE, "hoarder");
    expect(next.metadata?.uid).to.not.equal(first?.uid);
    expect(isReady((await remotePod(next.metadata?.name ?? ""))!)).to.equal(true);
    await consumer.kubectl(["delete", "deployment", "hoarder", "-n", NAMESPACE]);
    await until("the end of both at the provider", 60_000, async () => {
      const names = [first?.name, next.metadata?.name].map((name) => remotePod(name ?? ""));
      return (await Promise.all(names)).every((pod) => pod === undefined) ? true : undefined;
    });
  });

  it("run to their ends as a Job's: each index once, one again after a failure that passes, and none for one that does not", async () => {
    const id = { name: "indexed", namespace: NAMESPACE };
    await consumer.client.create(JobResource, indexedJob(id));
    const options = { timeoutMs: 120_000, what: "the end of the Job", ...only(NAMESPACE, id.name) };
    const { status } = await waitFor(consumer.client, JobResource, options, ([job]) =>
      job?.status?.conditions?.some(({ type }) => type === "Failed") ? job : undefined,
    );
    expect(status).to.include({ succeeded: 2, failed: 2, completedIndexes: "0,1", failedIndexes: "2" });
    const { items: pods } = await consumer.client.list(PodResource, {
      namespace: NAMESPACE,
      labelSelector: "job-name=indexed",
    });
    const ends = pods.map(({ metadata, spec, status }) => ({
      index: metadata?.labels?.["batch.kubernetes.io/job-completion-index"],
      node: spec?.nodeName,
      code: status?.containerStatuses?.[0]?.state?.terminated?.exitCode,
      finalizers: metadata?.finalizers ?? [],
    }));
    const end = (index: string, code: number): object => ({ index, node: NODE, code, finalizers: [] });
    expect(ends).to.have.deep.members([end("0", 0), end("1", 7), end("1", 0), end("2", 42)]);
    await consumer.kubectl(["delete", "job", id.name, "-n", NAMESPACE]);
    await until("the end of all at the provider", 60_000, async () => {
      const remote = pods.map(({ metadata }) => remotePod(metadata?.name ?? ""));
      return (await Promise.all(remote)).every((pod) => pod === undefined) ? true : undefined;
    });
  });

  it("reach the API server that is meant for them: the consumer's through the network, the provider's, or none", async () => {
    await showPods(consumer.client, NAMESPACE);
    await showPods(provider.client, REMOTE_NAMESPACE);
    const ask = (name: string, asked: string, annotations = {}): Promise<Pod> =>
      consumer.client.create(PodResource, askingPod({ name, namespace: NAMESPACE }, asked, annotations));
    const { metadata } = await ask("asks-home", NAMESPACE);
    await ask("asks-there", REMOTE_NAMESPACE, { [Annotations.apiServerSupport]: "remote" });
    await ask("asks-nobody", NAMESPACE, { [Annotations.apiServerSupport]: "disabled" });
    const answer = async (name: string): Promise<string> => {
      await podWhere(name, `the end of ${name}`, ({ status }) => status?.phase === "Succeeded");
      return (await consumer.kubectl(["logs", name, "-n", NAMESPACE])).trim();
    };
    expect(await answer("asks-home")).to.equal(metadata?.uid);
    expect(await answer("asks-there")).to.equal((await remotePod("asks-there"))?.metadata?.uid);
    expect(await answer("asks-nobody")).to.equal(NO_TOKEN);
    const { items } = await provider.client.list(SecretResource, { namespace: REMOTE_NAMESPACE });
    const names = items.map(({ metadata: secret }) => secret?.name);
    expect(names).to.include("asks-home-token");
    expect(names).to.not.include("asks-there-token").and.not.include("asks-nobody-token");
    await consumer.kubectl(["delete", "pod", "asks-home", "asks-there", "asks-nobody", "-n", NAMESPACE]);
  });

  it("run on while the consumer is down altogether, and are the same pods when it is back", async () => {
    const [spec] = CLUSTERS;
    const before = await readyPod(NAMESPACE, "web");
    const name = before.metadata?.name ?? "";
    const running = await remotePod(name);
    const remote = await watchStates(provider, PodResource, only(REMOTE_NAMESPACE, name), isReady);
    for (const program of ["kube-apiserver", `kubelet-${consumer.cluster.nodes[0]?.name ?? ""}`])
      endProgram(consumer.cluster.name, program);
    const agents = await agentProcesses(consumer);
    killAll(agents);
    await upClusters([spec], { progress: silent });
    // Something that only a virtual node at work can do.
    await until("the label at the provider", 180_000, async () => {
      await consumer.kubectl(["label", "pod", name, "-n", NAMESPACE, "after=outage", "--overwrite"]).catch(() => "");
      return (await remotePod(name))?.metadata?.labels?.["after"] === "outage" ? true : undefined;
    });
    const after = await podWhere(name, "the pod Ready", isReady);
    const states = await remote.stop();
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
    expect((await remotePod(name))?.metadata?.uid).to.equal(running?.metadata?.uid);
    expect(states).to.not.include("deleted true");
    expect(states.filter((state) => state.endsWith("false"))).to.deep.equal([]);
    await agentsReturned(consumer, new Set(agents.map(({ podUid }) => podUid).filter(Boolean)));
  });

  it("and their node stay as they are while the link comes and goes", async () => {
    await nodeSettled(consumer, NODE);
    const before = await readyPod(NAMESPACE, "web");
    const name = before.metadata?.name ?? "";
    const watches = await Promise.all([
      watchStates(consumer, PodResource, only(NAMESPACE, name), ({ status }) => [
        status?.reason ?? "as ever",
        status?.conditions?.find(({ type }) => type === "Ready")?.status,
        status?.containerStatuses?.[0]?.restartCount,
      ]),
      watchStates(provider, PodResource, only(REMOTE_NAMESPACE, name), ({ metadata }) => metadata?.uid),
      watchStates(consumer, NodeResource, { fieldSelector: `metadata.name=${NODE}` }, ({ spec, status }) => [
        ...(status?.conditions ?? []).map(({ type, status }) => `${type} ${status}`),
        ...(spec?.taints ?? []).map(({ key }) => key),
      ]),
    ]);
    for (let flap = 0; flap < FLAPS.count; flap++) {
      await cutOff(consumer, provider, "", FLAPS.downMs);
      await delay(FLAPS.upMs);
    }
    // Something that only a link at work can do.
    await consumer.kubectl(["label", "pod", name, "-n", NAMESPACE, "after=flaps", "--overwrite"]);
    await until("the label at the provider", 60_000, async () =>
      (await remotePod(name))?.metadata?.labels?.["after"] === "flaps" ? true : undefined,
    );
    const after = await podWhere(name, "the pod Ready", isReady);
    for (const watch of watches) {
      const states = new Set((await watch.stop()).map((state) => state.replace(/^(added|updated) /, "")));
      expect([...states], "states").to.have.length(1);
    }
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
  });

  it("are passed by while the link is down, but run on, and are the same pods when it is back", async () => {
    await nodeSettled(consumer, NODE);
    await ensureFront();
    await untilAnswered(["far", "near"]);
    const before = await podWhere("far", "far Ready", isReady);
    const watch = await watchStates(provider, PodResource, only(REMOTE_NAMESPACE, "far"), (pod) => [
      pod.metadata?.uid,
      pod.status?.containerStatuses?.[0]?.restartCount,
      isReady(pod),
    ]);

    await whileCutOff(consumer, provider, LINK, async () => {
      await nodeWhere(consumer, NODE, "a Node without its network", (node) =>
        isDeepStrictEqual(
          ["NetworkUnavailable", "Ready"].map((type) => conditionOf(node, type)),
          ["True", "False"],
        ),
      );
      const sinceThen = Date.now();
      await podWhere("far", "not Ready, and labelled", (pod) => isUnavailable(pod) && !isReady(pod));
      await waitFor(
        consumer.client,
        EndpointSliceResource,
        {
          ...{ namespace: NAMESPACE, labelSelector: `kubernetes.io/service-name=${FRONT}` },
          ...{ timeoutMs: 60_000, what: "far not ready in the EndpointSlice" },
        },
        (slices) => {
          const endpoints = slices.flatMap((slice) => slice.endpoints);
          const ready = endpoints.map(({ targetRef, conditions }) => [targetRef?.name, conditions?.ready] as const);
          return isDeepStrictEqual(Object.fromEntries(ready), { far: false, near: true });
        },
      );
      await untilAnswered(["near"]);
      expect(isReady((await remotePod("far"))!)).to.equal(true);
      // What kubectl asks for goes from API server to API server.
      expect(await consumer.kubectl(["exec", "far", "-n", NAMESPACE, "--", "echo", "here"])).to.equal("here\n");
      const lease = { namespace: "kube-node-lease", fieldSelector: `metadata.name=${NODE}` };
      await waitFor(consumer.client, LeaseResource, { ...lease, timeoutMs: 60_000, what: "the lease" }, ([found]) => {
        return Date.parse(found?.spec?.renewTime ?? "") > sinceThen;
      });
    });
    await nodeSettled(consumer, NODE);
    const after = await podWhere("far", "far as before", (pod) => isReady(pod) && !isUnavailable(pod));
    await untilAnswered(["far", "near"]);
    const states = new Set((await watch.stop()).map((state) => state.replace(/^(added|updated) /, "")));
    expect([...states], "states").to.have.length(1);
    expect(after.metadata?.uid).to.equal(before.metadata?.uid);
    const { items } = await provider.client.list(PodResource, {
      namespace: REMOTE_NAMESPACE,
      labelSelector: `app=${FRONT}`,
    });
    expect(items.map(({ metadata }) => metadata?.name)).to.deep.equal(["far"]);
    await consumer.kubectl(["delete", "pod/asker", "pod/near", "pod/far", `service/${FRONT}`, "-n", NAMESPACE]);
  });

  it("are made anew elsewhere when the link stays down, if their namespace asks for it, and are no more than before when it is back", async () => {
    const namespace = "restless";
    const strategy = { podOffloadingStrategy: "LocalAndRemote" } as const;
    await nodeSettled(consumer, NODE);
    await offloadNamespace(consumer, namespace, strategy, { [Annotations.evictionAfterDisconnect]: "5" });
    await consumer.client.create(DeploymentResource, webDeployment(namespace, 2));
    const two = (pods: Pod[], isThere: boolean): Pod[] | undefined =>
      pods.length === 2 && pods.every((pod) => isReady(pod) && (pod.spec?.nodeName === NODE) === isThere)
        ? pods
        : undefined;
    const remotePods = async (): Promise<Pod[]> =>
      (await provider.client.list(PodResource, { namespace: `${namespace}-consumer` })).items;
    await waitForPods(consumer, namespace, "two pods there", (pods) => two(pods, true));
    expect(await remotePods()).to.have.length(2);

    const here = await whileCutOff(consumer, provider, LINK, () =>
      waitForPods(consumer, namespace, "two pods here, and no other", (pods) => two(pods, false)),
    );
    await nodeSettled(consumer, NODE);
    const now = await waitForPods(consumer, namespace, "two pods, and no other", (pods) => two(pods, false));
    expect(new Set(now.map(({ metadata }) => metadata?.uid))).to.deep.equal(
      new Set(here.map(({ metadata }) => metadata?.uid)),
    );
    expect(await remotePods()).to.deep.equal([]);
    await consumer.kubectl(["delete", "deployment/web", "namespaceoffloading/offloading", "-n", namespace]);
  });

  it("run on while the virtual node's process is killed, and are the same pods afterwards", async () => {
    const before = await readyPod(NAMESPACE, "web");
    const name = before.metadata?.name ?? "";
    const running = await remotePod(name);
    const labels = "offloading.liqo.io/component=virtual-kubelet";
    await consumer.kubectl(["delete", "pod", "-A", "-l", labels, "--grace-period=0", "--force"]);
    // Something only its successor can do.
    await consumer.kubectl(["label", "pod", name, "-n", NAMESPACE, "after=restart", "--overwrite"]);
    await until("the label at the provider", 180_000, async () =>
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
    await provider.kubectl(["drain", node, selector, "--ignore-daemonsets", "--timeout=120s"], { timeoutMs: 130_000 });
    const next = await until("another remote pod", 120_000, async () => {
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

  it("survive a node of the provider: a Deployment's run on elsewhere, a StatefulSet's are never there twice", async () => {
    const [spare = "", dying = ""] = nodesOf(provider);
    await provider.kubectl(["cordon", spare]);
    await consumer.client.create(DeploymentResource, impatient(deployment(NAMESPACE, "mobile", {})));
    await consumer.client.create(StatefulSetResource, impatient(statefulSet(NAMESPACE, "sole")));
    const [mobile, sole] = await Promise.all([readyPod(NAMESPACE, "mobile"), readyPod(NAMESPACE, "sole")]);
    await provider.kubectl(["uncordon", spare]);
    const [mobileName, soleName] = [mobile, sole].map(({ metadata }) => metadata?.name ?? "") as [string, string];
    const soleUid = (await remotePod(soleName))?.metadata?.uid ?? "";
    const left: Promise<number[]>[] = [];
    const successors = new Informer(provider.client, PodResource, only(REMOTE_NAMESPACE, soleName)).onEvent(
      ({ object }) => object.metadata?.uid !== soleUid && left.push(processesOf(soleUid)),
    );
    await successors.start().waitForSync();

    // Nobody hears of the node, and what runs there runs on.
    endProgram(provider.cluster.name, `kubelet-${dying}`);
    const moved = await podWhere(mobileName, "its container on another node", isAnother(mobile));
    expect(moved.metadata?.uid).to.equal(mobile.metadata?.uid);
    expect((await remotePod(mobileName))?.spec?.nodeName).to.equal(spare);
    await podWhere(soleName, "that nothing is known of it", (pod) => !isReady(pod));
    const held = await until("the eviction", 60_000, async () => {
      const pod = await remotePod(soleName);
      return pod?.metadata?.deletionTimestamp ? pod : undefined;
    });
    expect(held.metadata?.uid).to.equal(soleUid);
    expect(await processesOf(soleUid)).to.not.deep.equal([]);

    const [, spec] = CLUSTERS;
    await upClusters([spec], { progress: silent });
    const back = await podWhere(soleName, "another container", isAnother(sole));
    expect(back.metadata?.uid).to.equal(sole.metadata?.uid);
    await successors.stop();
    expect(left.length).to.be.greaterThan(0);
    expect((await Promise.all(left)).flat(), "what ran when another came").to.deep.equal([]);
    await consumer.kubectl(["delete", "deployment/mobile", "statefulset/sole", "-n", NAMESPACE]);
  });

  it("come to another node of the same provider with a grant of its own, make room there for what is more important, and go with it", async () => {
    const [first] = (await consumer.client.list(ResourceSliceResource)).items;
    const { class: offered, providerClusterID = "" } = first?.spec ?? {};
    const id = { name: SECOND_NODE, namespace: first?.metadata.namespace };
    const labels = {
      [Labels.remoteClusterID]: providerClusterID,
      [Labels.remoteID]: providerClusterID,
      [Labels.replication]: "true",
    };
    const annotations = { [Annotations.createVirtualNode]: "true" };
    const spec = { class: offered, providerClusterID, resources: { cpu: "1", memory: "512Mi", pods: "1" } };
    const slice = ResourceSliceResource.build({ metadata: { ...id, labels, annotations }, spec });
    await consumer.client.create(ResourceSliceResource, slice);
    const node = await until(`node ${SECOND_NODE}`, 120_000, async () => {
      const found = await consumer.client.get(NodeResource, { name: SECOND_NODE });
      return found?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
        ? found
        : undefined;
    });
    expect(node.status?.allocatable).to.include({ cpu: "1", memory: "512Mi", pods: "1" });
    const nodeSelector = { "kubernetes.io/hostname": SECOND_NODE };
    const podOfSecond = (name: string, priorityClassName?: string): Pod => {
      const { metadata, spec } = pod(NAMESPACE, name, { requests: { cpu: "10m" } });
      return { metadata, spec: { ...spec!, nodeSelector, ...(priorityClassName ? { priorityClassName } : {}) } };
    };
    await consumer.client.create(PodResource, podOfSecond("of-second"));
    await podWhere("of-second", "the pod of the second node Ready", isReady);
    expect((await remotePod("of-second"))?.metadata?.labels).to.include({ [Labels.offloadingNodeName]: SECOND_NODE });
    expect(await consumer.kubectl(["exec", "of-second", "-n", NAMESPACE, "--", "echo", "here"])).to.equal("here\n");
    await consumer.kubectl(["create", "priorityclass", "urgent", "--value=1000"]);
    await consumer.client.create(PodResource, podOfSecond("urgent", "urgent"));
    await podWhere("urgent", "the urgent pod Ready in its place", isReady);
    // It has made room by its end; what is left of it goes a moment later.
    await until("the end of the other", 60_000, async () =>
      (await consumer.client.get(PodResource, { name: "of-second", namespace: NAMESPACE })) ? undefined : true,
    );
    expect(await remotePod("of-second")).to.equal(undefined);
    await consumer.client.delete(ResourceSliceResource, id);
    await until(`the end of node ${SECOND_NODE}`, 120_000, async () =>
      (await consumer.client.get(NodeResource, { name: SECOND_NODE })) ? undefined : true,
    );
    expect(await remotePod("urgent")).to.equal(undefined);
    await readyPod(NAMESPACE, "web");
  });

  it("that exceed the grant wait, and say so", async () => {
    const greedy = pod(NAMESPACE, "greedy", { requests: { cpu: "64" } });
    // By the scheduler none would come here.
    await consumer.client.create(PodResource, { ...greedy, spec: { ...greedy.spec!, nodeName: NODE } });
    const refused = await podWhere("greedy", "the refusal", ({ status }) => status?.reason === "OffloadingRefused");
    expect(refused.status?.message).to.contain("peering cpu quota usage exceeded");
    // Nobody waits for events.
    await until("the event of the refusal", 90_000, async () =>
      (await consumer.kubectl(["describe", "pod", "greedy", "-n", NAMESPACE])).includes("FailedReflection")
        ? true
        : undefined,
    );
    expect(await remotePod("greedy")).to.equal(undefined);
    await consumer.kubectl(["delete", "pod", "greedy", "-n", NAMESPACE]);
  });

  it("of a DaemonSet that tolerates everything do not come", async () => {
    const everywhere = { name: "everywhere", namespace: NAMESPACE };
    await consumer.client.create(DaemonSetResource, daemonSet(everywhere));
    await until("the DaemonSet ready where it runs", 120_000, async () => {
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
    await offloadNamespace(consumer, namespace, { podOffloadingStrategy: "Remote" });
    await readyPod(namespace, "early");
    await consumer.kubectl(["delete", "deployment", "early", "-n", namespace]);
    await consumer.kubectl(["delete", "namespaceoffloading", "offloading", "-n", namespace]);
  });

  it("of a namespace whose name is taken at the provider wait, and say why; what is there stays as it is, and another name does", async () => {
    const namespace = "taken";
    await ensureNamespace(provider.client, namespace);
    const treasure = { name: "treasure", namespace };
    await provider.client.create(ConfigMapResource, { metadata: treasure, data: { gold: "yes" } });
    const theirs = () =>
      Promise.all([
        provider.client.get(NamespaceResource, { name: namespace }),
        provider.client.get(ConfigMapResource, treasure),
        provider.client.list(RoleBindingResource, { namespace }).then(({ items }) => items),
      ]);
    const before = await theirs();

    const offloadAs = (spec: Partial<NamespaceOffloadingSpec>, phase: OffloadingPhase): Promise<void> =>
      offloadNamespace(consumer, namespace, { podOffloadingStrategy: "Remote", ...spec }, {}, phase);
    await offloadAs({ namespaceMappingStrategy: "EnforceSameName" }, "AllFailed");
    await consumer.client.create(DeploymentResource, deployment(namespace, "guest", {}));
    const waiting = await waitForPods(consumer, namespace, "a pod that waits for its namespace", (pods) =>
      pods.find(({ status }) => status?.reason === "OffloadingBackOff"),
    );
    expect(waiting.status?.phase).to.equal("Pending");
    const offloading = { name: "offloading", namespace };
    const { status } = (await consumer.client.get(NamespaceOffloadingResource, offloading)) ?? {};
    expect(
      status?.remoteNamespacesConditions?.["provider"]?.map((one) => [one.type, one.status, one.reason]),
    ).to.deep.equal([
      ["OffloadingRequired", "True", "ClusterSelected"],
      ["Ready", "False", "CreationLoopBackOff"],
    ]);
    expect(await consumer.kubectl(["describe", "namespaceoffloading", "offloading", "-n", namespace])).to.contain(
      "a namespace of this name exists there already",
    );
    await consumer.kubectl(["delete", "namespaceoffloading", "offloading", "-n", namespace]);
    expect(await theirs()).to.deep.equal(before);

    await offloadAs({ namespaceMappingStrategy: "SelectedName", remoteNamespaceName: "chosen" }, "Ready");
    const guest = await readyPod(namespace, "guest");
    const found = await provider.client.get(PodResource, { name: guest.metadata?.name ?? "", namespace: "chosen" });
    expect(found && isReady(found)).to.equal(true);
    await consumer.kubectl(["delete", "deployment/guest", "namespaceoffloading/offloading", "-n", namespace]);
    expect(await provider.client.get(NamespaceResource, { name: "chosen" })).to.equal(undefined);
    expect(await theirs()).to.deep.equal(before);
  });

  it("are as many as an autoscaler makes them, by what they use at the provider", async () => {
    const id = { name: BUSY, namespace: NAMESPACE };
    // While a new replica has no figures yet, the status may tell of none at all for a moment.
    const used = await until("another replica, and what pods use", 300_000, async () => {
      const { status } = (await consumer.client.get(AutoscalerResource, id)) ?? {};
      const current = status?.currentMetrics?.[0]?.resource?.current;
      return (status?.desiredReplicas ?? 0) > 1 ? current?.averageUtilization : undefined;
    });
    expect(used).to.be.greaterThan(TARGET_PERCENT);
    await waitForPods(consumer, NAMESPACE, "two busy pods Ready", (pods) => {
      const busy = pods.filter(({ metadata, spec }) => metadata?.labels?.["app"] === BUSY && spec?.nodeName === NODE);
      return busy.filter(isReady).length === 2;
    });
  });
});

/** Uses all that it may, which is more than it asks for. */
function busyDeployment(namespace: string): Deployment {
  const all = deployment(namespace, BUSY, { requests: { cpu: "20m" }, limits: { cpu: "40m" } });
  const [container] = all.spec?.template.spec?.containers ?? [];
  container!.command = ["sh", "-c", "while :; do :; done"];
  return all;
}

function autoscaler(namespace: string): HorizontalPodAutoscaler {
  const target = { type: "Utilization", averageUtilization: TARGET_PERCENT };
  return {
    metadata: { name: BUSY, namespace },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: BUSY },
      minReplicas: 1,
      maxReplicas: 2,
      metrics: [{ type: "Resource", resource: { name: "cpu", target } }],
    },
  };
}

function nodesOf({ cluster }: LabCluster): string[] {
  return cluster.nodes.map(({ name }) => name);
}

/** One object of a namespace. */
function only(namespace: string, name: string): { namespace: string; fieldSelector: string } {
  return { namespace, fieldSelector: `metadata.name=${name}` };
}

/** Notes what is told of objects until it is stopped: each kind of event with each state, once. */
async function watchStates<T extends KubeObject>(
  { client }: LabCluster,
  type: ResourceType<T>,
  options: InformerOptions<T>,
  stateOf: (object: T) => unknown,
): Promise<{ stop: () => Promise<string[]> }> {
  const states = new Set<string>();
  const watch = new Informer(client, type, options).onEvent(({ type, object }) =>
    states.add(`${type} ${String(stateOf(object))}`),
  );
  await watch.start().waitForSync();
  return {
    stop: async () => {
      await watch.stop();
      return [...states];
    },
  };
}

/** Waits until these pods of agents that were killed are Ready by new containers: what they say is of now, no longer of before. */
async function agentsReturned({ client }: LabCluster, podUids: ReadonlySet<string>): Promise<void> {
  await waitFor(client, PodResource, { timeoutMs: 180_000, what: "every agent Ready again" }, (pods) => {
    const ours = pods.filter(({ metadata }) => podUids.has(metadata?.uid ?? ""));
    const again = ours.filter((pod) => isReady(pod) && (pod.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
    return again.length === podUids.size;
  });
}

/** Waits until nothing of an earlier outage is left on a node: its network is there again, and nothing of Kubernetes' own taints it. */
async function nodeSettled({ client }: LabCluster, name: string): Promise<void> {
  await waitFor(client, ConnectionResource, { timeoutMs: 120_000, what: "the tunnel" }, (all) =>
    all.every(({ status }) => status?.value === ConnectionValue.connected),
  );
  await nodeWhere({ client }, name, `node ${name} as ever`, (node) => {
    const isTainted = node.spec?.taints?.some(({ key }) => key.startsWith("node.kubernetes.io/"));
    return conditionOf(node, "Ready") === "True" && !isTainted;
  });
}

async function nodeWhere(
  { client }: Pick<LabCluster, "client">,
  name: string,
  what: string,
  condition: (node: Node) => boolean,
): Promise<void> {
  const options = { fieldSelector: `metadata.name=${name}`, timeoutMs: 120_000, what };
  await waitFor(client, NodeResource, options, ([node]) => node && condition(node));
}

function conditionOf({ status }: Node, type: string): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

function isUnavailable({ metadata }: Pod): boolean {
  return metadata?.labels?.[Labels.remoteUnavailable] === "true";
}

/** Whether a pod is Ready by another container than it had. */
function isAnother(before: Pod): (pod: Pod) => boolean {
  const idOf = ({ status }: Pod): string | undefined => status?.containerStatuses?.[0]?.containerID;
  return (pod) => isReady(pod) && idOf(pod) !== idOf(before);
}

/** Whose pods leave a node as soon as it is given up. */
function impatient<T extends Deployment | StatefulSet>(workload: T): T {
  const spec = workload.spec?.template.spec;
  if (spec) spec.tolerations = ["unreachable", "not-ready"].map(leavingAtOnce);
  return workload;
}

function leavingAtOnce(state: string): Toleration {
  return { key: `node.kubernetes.io/${state}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 };
}

function statefulSet(namespace: string, app: string): StatefulSet {
  const { metadata, spec } = deployment(namespace, app, {});
  return { metadata, spec: { selector: spec!.selector, template: spec!.template, serviceName: app } };
}

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

/** Of three: one succeeds, one at its second try, and one never would. */
function indexedJob({ name, namespace }: { name: string; namespace: string }): Job {
  const failures = "metadata.annotations['batch.kubernetes.io/job-index-failure-count']";
  const script = "case $JOB_COMPLETION_INDEX-$FAILURES in 1-0) exit 7;; 2-*) exit 42;; esac";
  const { spec } = offloaded({ spec: podSpec({}) });
  const [container] = spec!.containers;
  const env = [{ name: "FAILURES", valueFrom: { fieldRef: { fieldPath: failures } } }];
  Object.assign(container!, { command: ["sh", "-c", script], env });
  const inVain = { containerName: container!.name, operator: "In", values: [42] };
  return {
    metadata: { name, namespace },
    spec: {
      completionMode: "Indexed",
      completions: 3,
      parallelism: 3,
      backoffLimitPerIndex: 1,
      podFailurePolicy: { rules: [{ action: "FailIndex", onExitCodes: inVain, onPodConditions: [] }] },
      template: { spec: { ...spec!, restartPolicy: "Never" } },
    },
  };
}

function frontService(namespace: string): Service {
  const ports = [{ port: 80, targetPort: WEB_PORT }];
  return { metadata: { name: FRONT, namespace }, spec: { selector: { app: FRONT }, ports } };
}

/** Answers with its name, and is called by it behind the headless Service. */
function frontPod(namespace: string, name: string): Pod {
  const { metadata, spec } = localPod(namespace, name);
  return { metadata: { ...metadata, labels: { app: FRONT } }, spec: { ...spec!, hostname: name, subdomain: EACH } };
}

function offloaded({ metadata, spec }: Pod): Pod {
  const nodeSelector = { "liqo.io/type": "virtual-node" };
  return { metadata, spec: { ...spec!, affinity: undefined, nodeSelector } };
}

/** Must have ended before any other container begins. */
function prepares(name: string): Container {
  return { name, image: TEST_TOOLS_IMAGE, command: ["sh", "-c", "touch /data/prepared"] };
}

/** Runs beside all others, and begins before them. */
function sidecar(name: string): Container {
  const command = ["sh", "-c", "[ -e /data/prepared ] && touch /data/stood-by && sleep 100000"];
  const always = { restartPolicy: "Always" };
  return { name, image: TEST_TOOLS_IMAGE, command, startupProbe: prepared("/data/stood-by"), ...always };
}

function prepared(file = "/data/prepared"): Probe {
  return { exec: { command: ["test", "-e", file] }, periodSeconds: 1, timeoutSeconds: 10 };
}

function daemonSet(id: { name: string; namespace: string }): DaemonSet {
  const labels = { app: id.name };
  const spec = { ...podSpec({}), tolerations: [{ operator: "Exists" }] };
  return {
    metadata: id,
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}
