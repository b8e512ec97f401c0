import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import { ConfigurationResource, NetworkResource } from "../../../agent/api/index.js";
import { agentManifests, resourceTypeOf } from "../../../agent/install/index.js";
import {
  ClusterRoleResource,
  DeploymentResource,
  NamespaceResource,
  PodResource,
  ValidatingWebhookConfigurationResource,
  describeObject,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { buildAgentBundle } from "../../../scripts/build.js";
import { ensureTool } from "../../clusters/index.js";
import { until } from "../../clusters/support/wait.js";
import { exec, type ExecResult } from "../../support/exec.js";
import { REPOSITORY } from "../../support/lab.js";
import { stopAtFirstFailure } from "../../support/stop-at-first-failure.js";
import { follow, setStatus } from "../provider-resources/support/simulated-agents.js";
import { simulateInstallation } from "../provider-resources/support/simulated-installation.js";
import { startApiServer, type ApiServer } from "../support/api-server.js";
import { HELM_LIMIT_MS, writeChart } from "./helm.js";

const NAMESPACE = "liqo";
const RELEASE = "liqo-agent";
const GUARD = "liqo-uninstall-guard";
const JobResource = resourceTypeOf({ apiVersion: "batch/v1", kind: "Job", metadata: {} });
const VALUES = { clusterId: "one", podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };
/** As docs/cli.md has them. */
const SET = ["--set", "clusterId=one", "--set", "podCIDRs={10.1.0.0/16}", "--set", "serviceCIDR=10.2.0.0/16"];

/** The real helm on a real API server without nodes: workloads count as running, and the pods of the chart's hook run in this test's own process group. */
describe("the agent's Helm chart as a release", function () {
  this.timeout(180_000);
  stopAtFirstFailure();
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-release-"));
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  let server: ApiServer;
  let client: KubeClient;
  let helmProgram: string;
  let simulated: Promise<unknown>[] = [];

  before(async function () {
    this.timeout(HELM_LIMIT_MS);
    const controllers = ["garbage-collector-controller", "job-controller"];
    [helmProgram] = await Promise.all([ensureTool("helm"), buildAgentBundle()]);
    server = await startApiServer({ name: "one", crds: false, controllers });
    ({ client } = server);
    writeChart(path.join(folder, "chart"));
    simulated = [runHooks()];
  });
  after(async () => {
    ended.abort();
    await Promise.allSettled(simulated);
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const tryHelm = (...args: string[]): Promise<ExecResult> => {
    const own = ["CACHE", "CONFIG", "DATA"].map((what): [string, string] => [
      `HELM_${what}_HOME`,
      path.join(folder, what),
    ]);
    const env = { ...process.env, ...Object.fromEntries(own), KUBECONFIG: server.kubeconfigPath };
    return exec(helmProgram, [...args, "--namespace", NAMESPACE], { env, timeoutMs: 120_000, allowFailure: true });
  };
  async function helm(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await tryHelm(...args);
    expect(code, stderr).to.equal(0);
    return stdout;
  }
  const install = async (): Promise<void> => {
    expect(await helm("install", RELEASE, path.join(folder, "chart"), "--create-namespace", ...SET)).to.contain(
      "STATUS: deployed",
    );
  };

  /** What a node does with the pods of the hook's Job: runs the agent's process with the rights of the pod's account, and tells how it ended. */
  function runHooks(): Promise<void> {
    const begun = new Set<string>();
    const changed = async ({ metadata, spec }: Pod): Promise<void> => {
      const uid = metadata?.uid ?? "";
      const [container] = spec?.containers ?? [];
      if (!container || begun.has(uid)) return;
      begun.add(uid);
      const kubeconfig = path.join(folder, `${uid}.kubeconfig`);
      const account = `system:serviceaccount:${metadata?.namespace}:${spec?.serviceAccountName}`;
      writeFileSync(kubeconfig, await server.kubeconfigFor(account), { mode: 0o600 });
      // Nothing here is about to end by itself.
      const args = [path.join(REPOSITORY, "dist/agent/agent.cjs"), ...(container.args ?? []), "--grace-seconds=0"];
      const env = { ...process.env, KUBECONFIG: kubeconfig };
      const { code: exitCode, stderr } = await exec(process.execPath, args, { env, allowFailure: true });
      const terminated = { exitCode, reason: exitCode === 0 ? "Completed" : "Error", message: stderr.slice(-1_000) };
      const { name, image = "" } = container;
      await setStatus(client, PodResource, metadata, {
        phase: exitCode === 0 ? "Succeeded" : "Failed",
        containerStatuses: [{ name, image, imageID: "", ready: false, restartCount: 0, state: { terminated } }],
      });
    };
    return follow(client, PodResource, { changed, removed: () => Promise.resolve() }, ended.signal);
  }

  const controller = () => client.get(DeploymentResource, { name: "liqo-controller-manager", namespace: NAMESPACE });
  const peering = { name: "two", namespace: "default" };
  /** Once the release's webhooks, which nobody answers, are asked nothing. */
  const peer = () =>
    until("a Configuration", 60_000, () =>
      client.create(ConfigurationResource, ConfigurationResource.build({ metadata: peering, spec: {} })),
    );

  it("installs what the Agent applies, custom resource definitions included", async () => {
    await install();
    // What it follows are kinds that the chart has brought.
    simulated.push(simulateInstallation(client, ended.signal));
    const inputs = agentInputs.parse({ ...VALUES, namespace: NAMESPACE });
    for (const object of agentManifests(installInputs(inputs, { ...VALUES, apiServerAddress: "" }))) {
      const { name = "", namespace } = object.metadata ?? {};
      const type = resourceTypeOf(object);
      expect(await client.get(type, { name, namespace }), describeObject(type, name, namespace)).to.not.equal(
        undefined,
      );
    }
    // A hook's objects are there while it runs only.
    expect(await client.get(ClusterRoleResource, { name: GUARD })).to.equal(undefined);
  });

  it("upgrades in place: what a value brings changes, and all else stays", async () => {
    const networks = async () => (await client.list(NetworkResource)).items.map(({ metadata }) => metadata.uid).sort();
    const [before, ranges] = [await controller(), await networks()];
    const set = ["--set", "replicas=3", "--set", "clusterLabels.region=west"];
    await helm("upgrade", RELEASE, path.join(folder, "chart"), ...SET, ...set);
    const after = await controller();
    expect(after?.metadata?.uid).to.equal(before?.metadata?.uid);
    expect(after?.spec?.replicas).to.equal(3);
    expect(after?.spec?.template.spec?.containers[0]?.args?.join(" ")).to.contain("region=west");
    expect(await networks()).to.deep.equal(ranges);
  });

  it("refuses to be uninstalled while something of a peering is there, and says in a log that stays what it is", async () => {
    await peer();
    const { code, stderr } = await tryHelm("uninstall", RELEASE);
    expect(code).to.not.equal(0);
    expect(stderr).to.contain(GUARD);
    expect(await controller()).to.not.equal(undefined);
    expect(await client.get(JobResource, { name: GUARD, namespace: NAMESPACE })).to.not.equal(undefined);
    const { items } = await client.list(PodResource, { namespace: NAMESPACE, labelSelector: { "job-name": GUARD } });
    expect(items.map(({ status }) => status?.containerStatuses?.[0]?.state?.terminated?.message).join("\n"))
      .to.contain("cluster one: the agent one is still in use by Configuration default/two")
      .and.to.contain("helm uninstall --no-hooks");
    // What it may is taken from it all the same.
    expect(await client.get(ClusterRoleResource, { name: GUARD })).to.equal(undefined);
  });

  it("is uninstalled once that has ended, with all that is the release's", async () => {
    await client.delete(ConfigurationResource, peering);
    await helm("uninstall", RELEASE);
    expect(await controller()).to.equal(undefined);
    expect((await client.list(ValidatingWebhookConfigurationResource)).items).to.deep.equal([]);
    expect((await client.list(NetworkResource)).items).to.deep.equal([]);
    // Volumes of users may be in it.
    expect(await client.get(NamespaceResource, { name: "liqo-storage" })).to.not.equal(undefined);
    await until("the end of the hook's Job", 60_000, async () =>
      (await client.get(JobResource, { name: GUARD, namespace: NAMESPACE })) === undefined ? true : undefined,
    );
  });

  it("is uninstalled in spite of a peering where that is asked for", async () => {
    await install();
    await peer();
    await helm("uninstall", RELEASE, "--no-hooks");
    expect(await controller()).to.equal(undefined);
    expect(await client.get(ConfigurationResource, peering)).to.not.equal(undefined);
  });
});
