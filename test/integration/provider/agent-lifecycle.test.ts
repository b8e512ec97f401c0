import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { crds } from "../../../agent/api/crd.js";
import {
  NamespaceOffloadingPolicyResource,
  NamespaceOffloadingResource,
  NetworkResource,
} from "../../../agent/api/index.js";
import { agentManifests, type InstallInputs } from "../../../agent/install/index.js";
import { refuseWhilePeered } from "../../../agent/install/remaining-peerings.js";
import {
  ClusterRoleBindingResource,
  NamespaceResource,
  NodeResource,
  PersistentVolumeClaimResource,
  PodResource,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { applyManifests } from "../../../provider/resources/agent/apply.js";
import { detectRanges } from "../../../provider/resources/agent/detect.js";
import { findInstallation } from "../../../provider/resources/agent/existing.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import type { Patience } from "../../../provider/resources/agent/uninstall-fabric.js";
import { uninstall } from "../../../provider/resources/agent/uninstall.js";
import { until } from "../../clusters/support/wait.js";
import { compareListings, listEverything } from "../../support/listing.js";
import { installCrds } from "../support/install-crds.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

/** What makes deletion come to an end. */
const CONTROLLERS = [
  "namespace-controller",
  "garbage-collector-controller",
  "deployment-controller",
  "replicaset-controller",
  "daemonset-controller",
];

const FABRIC_PODS = "app.kubernetes.io/name=fabric";

/** On a real API server, without nodes: what is applied is accepted, and removing it leaves nothing. */
describe("provider: an agent's objects", function () {
  this.timeout(120_000);

  let server: ApiServer;
  let client: KubeClient;
  const inputs: InstallInputs = installInputs(
    agentInputs.parse({ clusterId: "one", reservedSubnets: ["172.20.0.0/16"] }),
    {
      podCIDRs: ["10.1.0.0/16"],
      serviceCIDR: "10.2.0.0/16",
      apiServerAddress: "",
    },
  );
  const context = () => {
    const signal = AbortSignal.timeout(60_000);
    setMaxListeners(0, signal);
    return { client, signal, status: (line: string) => void (last = line) };
  };
  let last = "";
  afterEach(function () {
    if (this.currentTest?.state === "failed") console.error(`last waited for: ${last}`);
  });
  const warnings: string[] = [];
  const remove = (force: boolean, patience?: Patience, within = 30_000) =>
    uninstall(
      { ...context(), warn: (line) => warnings.push(line), deadline: Date.now() + within, patience },
      inputs,
      force,
    );
  /** Without webhooks, which no controller runs here to answer. */
  const own = () => agentManifests(inputs).filter(({ kind }) => !kind?.endsWith("WebhookConfiguration"));

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ crds: false, controllers: CONTROLLERS });
    client = server.client;
  });
  after(() => server?.stop());

  it("are applied, again without a change, found, and removed without a trace", async () => {
    const before = await listEverything(client);
    await applyManifests(context(), agentManifests(inputs));
    const versions = async () => {
      const { items } = await client.list(ClusterRoleBindingResource, {
        labelSelector: "app.kubernetes.io/part-of=liqo",
      });
      return items.map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`);
    };
    const first = await versions();
    await applyManifests(context(), agentManifests(inputs));
    expect(await versions()).to.deep.equal(first);
    expect(await findInstallation(client, context().signal)).to.include({
      clusterId: "one",
      namespace: "liqo",
      version: inputs.version,
      ours: true,
    });
    // No controller runs here to answer the webhooks.
    await remove(true);
    expect(compareListings(before, await listEverything(client))).to.deep.equal({ added: [], removed: [] });
    expect(await findInstallation(client, context().signal)).to.equal(undefined);
  });

  it("are not removed while something uses them, unless forced", async () => {
    await applyManifests(
      context(),
      agentManifests(inputs).filter(({ kind }) => !kind?.endsWith("WebhookConfiguration")),
    );
    await client.create(
      NamespaceOffloadingResource,
      NamespaceOffloadingResource.build({
        metadata: { name: "offloading", namespace: "default", finalizers: ["held.example/by-a-test"] },
        spec: { clusterSelector: { nodeSelectorTerms: [] } },
      }),
    );
    let refusal = "";
    await remove(false, undefined, 2_000).catch((error: unknown) => (refusal = String(error)));
    expect(refusal).to.contain("still in use by NamespaceOffloading default/offloading");
    expect((await client.list(NetworkResource)).items).not.to.deep.equal([]);
    await remove(true);
    expect(await client.get(NamespaceResource, { name: "liqo" })).to.equal(undefined);
  });

  it("are not kept by a policy whose namespaces no provider has", async () => {
    await applyManifests(
      context(),
      agentManifests(inputs).filter(({ kind }) => !kind?.endsWith("WebhookConfiguration")),
    );
    const spec = { namespaceSelector: {}, template: { spec: {} } };
    const policy = NamespaceOffloadingPolicyResource.build({ metadata: { name: "all" }, spec });
    await client.create(NamespaceOffloadingPolicyResource, policy);
    const id = { name: "offloading", namespace: "default" };
    const labels = { "offloading.liqo.io/policy": "all" };
    const object = NamespaceOffloadingResource.build({ metadata: { ...id, labels }, spec: {} });
    await client.create(NamespaceOffloadingResource, object);
    const conditions = { peer: [{ type: "OffloadingRequired" as const, status: "True" as const }] };
    const tell = (remoteNamespacesConditions: object | null) =>
      client.mergePatch(
        NamespaceOffloadingResource,
        id,
        { status: { remoteNamespacesConditions } },
        { subresource: "status" },
      );
    await tell(conditions);
    let refusal = "";
    await remove(false, undefined, 2_000).catch((error: unknown) => (refusal = String(error)));
    expect(refusal).to.contain("NamespaceOffloading default/offloading (made by NamespaceOffloadingPolicy all)");
    await tell(null);
    await remove(false);
    expect(await client.get(NamespaceResource, { name: "liqo" })).to.equal(undefined);
  });

  it("are asked for again while what uses them is ending, however long it takes", async () => {
    await installCrds(client, crds());
    const id = { name: "offloading", namespace: "default" };
    const spec = { clusterSelector: { nodeSelectorTerms: [] } };
    await client.create(
      NamespaceOffloadingResource,
      NamespaceOffloadingResource.build({ metadata: { ...id, finalizers: ["held.example/by-a-test"] }, spec }),
    );
    const graceMs = 1_000;
    const patient = { ...context(), graceMs, deadline: Date.now() + 60_000 };
    await client.delete(NamespaceOffloadingResource, id);
    const gone = refuseWhilePeered(patient, "one", "do nothing");
    gone.catch(() => undefined);
    await delay(3 * graceMs);
    await client.mergePatch(NamespaceOffloadingResource, id, { metadata: { finalizers: null } });
    await gone;
    await remove(true);
  });

  it("leave a namespace that was there before", async () => {
    await client.create(NamespaceResource, { metadata: { name: "liqo", labels: { own: "yes" } } });
    const own = agentManifests(inputs).filter(
      ({ kind, metadata }) => kind !== "Namespace" || metadata?.name !== "liqo",
    );
    await applyManifests(context(), own);
    await remove(true);
    const namespace = await client.get(NamespaceResource, { name: "liqo" });
    expect(namespace?.metadata?.labels).to.include({ own: "yes" });
    expect(namespace?.metadata?.deletionTimestamp).to.equal(undefined);
  });

  it("leave the storage namespace while there is data in it", async () => {
    const namespace = "liqo-storage";
    await applyManifests(context(), agentManifests(inputs));
    const claim = { name: "data", namespace };
    await client.create(PersistentVolumeClaimResource, {
      metadata: claim,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    await remove(true);
    expect((await client.get(NamespaceResource, { name: namespace }))?.status?.phase).to.equal("Active");
    await client.mergePatch(PersistentVolumeClaimResource, claim, { metadata: { finalizers: null } });
    await client.delete(PersistentVolumeClaimResource, claim);
    await applyManifests(context(), agentManifests(inputs));
    await remove(true);
    expect(await client.get(NamespaceResource, { name: namespace })).to.equal(undefined);
  });

  /** As far as it goes without a kubelet: nobody confirms that the pod has ended. */
  async function fabricPodOn(node: string): Promise<string> {
    await client.create(NodeResource, { metadata: { name: node } });
    await applyManifests(context(), own());
    const found = await until("the fabric's pod", 20_000, async () => {
      const { items } = await client.list(PodResource, { namespace: "liqo", labelSelector: FABRIC_PODS });
      return items[0];
    });
    const name = found.metadata?.name ?? "";
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: node } };
    await client.request("POST", `/api/v1/namespaces/liqo/pods/${name}/binding`, { body: binding });
    return name;
  }

  it("leave the API although a node is away, if forced: what may have stayed on it is told, with the remedy", async () => {
    await fabricPodOn("away");
    await remove(true, { fabricMs: 500, podsMs: 500 });
    expect(await client.get(NamespaceResource, { name: "liqo" })).to.equal(undefined);
    const [warning = ""] = warnings.splice(0);
    expect(warning).to.match(/^the fabric did not run on away: links \(liqo\.\*\), routes, rules/);
    expect(warning).to.contain(`kubectl debug node/NODE --image=${inputs.image} `);
    await client.delete(NodeResource, { name: "away" });
  });

  it("stay until the fabric runs again on a node, which it has yet to clean", async () => {
    const pod = await fabricPodOn("slow");
    const removal = remove(true, { fabricMs: 60_000, podsMs: 500 });
    await until("the removal to wait", 20_000, () => Promise.resolve(last.includes("on slow") || undefined));
    const conditions = [{ type: "Ready" as const, status: "True" as const }];
    const id = { name: pod, namespace: "liqo" };
    expect((await client.get(PodResource, id))?.metadata?.deletionTimestamp).to.equal(undefined);
    await client.mergePatch(PodResource, id, { status: { conditions } }, { subresource: "status" });
    await removal;
    expect(warnings).to.deep.equal([]);
    await client.delete(NodeResource, { name: "slow" });
  });

  it("know the ranges that the cluster tells", async () => {
    const detected = await detectRanges(client, context().signal);
    expect(detected.podCIDRs).to.deep.equal([]);
    expect(detected.serviceCIDR).to.match(/^\d+\.\d+\.\d+\.\d+\/\d+$/);
  });
});
