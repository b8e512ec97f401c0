import { expect } from "chai";
import {
  NamespaceOffloadingPolicyResource,
  NamespaceOffloadingResource,
  type NamespaceOffloading,
  type NamespaceOffloadingPolicy,
  type NamespaceOffloadingPolicySpec,
} from "../../../agent/api/index.js";
import { TEMPLATE_ANNOTATION } from "../../../agent/controller/offloading/namespace-offloading-policy/desired.js";
import { createOffloading } from "../../../agent/controller/offloading/namespace-offloading-policy/write.js";
import {
  EventResource,
  findCondition,
  NamespaceResource,
  PersistentVolumeResource,
  sameJson,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { remoteVolume } from "../support/remote-volume.js";
import { ensureNamespace, eventually, gone, startController, tenantLabels, type RunningController } from "./harness.js";

/** The garbage collector looks for new kinds every half minute. */
const COLLECTED_MS = 90_000;

describe("NamespaceOffloadingPolicies against a real API server", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let controller: RunningController;
  let client: KubeClient;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ controllers: ["namespace-controller", "garbage-collector-controller"] });
    client = server.client;
    controller = await startController(server, "consumer", { webhooks: true });
  });

  after(async () => {
    await controller?.stop();
    await server?.stop();
  });

  /** Each test has a group of namespaces for itself. */
  const inGroup = (group: string) => ({ matchLabels: { group } });

  function createPolicy(
    name: string,
    spec: Partial<NamespaceOffloadingPolicySpec> = {},
  ): Promise<NamespaceOffloadingPolicy> {
    const whole = { namespaceSelector: inGroup(name), template: { spec: {} }, ...spec };
    const object = NamespaceOffloadingPolicyResource.build({ metadata: { name }, spec: whole });
    return client.create(NamespaceOffloadingPolicyResource, object);
  }

  const find = (namespace: string) => client.get(NamespaceOffloadingResource, { name: "offloading", namespace });
  const findPolicy = (name: string) => client.get(NamespaceOffloadingPolicyResource, { name });
  const madeBy = (policy: string) => async (namespace: string) => {
    const found = await find(namespace);
    return found?.metadata.labels?.["offloading.liqo.io/policy"] === policy && found;
  };
  const offloadedBy = (policy: string, namespace: string) =>
    eventually(`policy ${policy} in ${namespace}`, () => madeBy(policy)(namespace));
  const applied = (name: string, isSo: (condition: { status: string; reason: string; message: string }) => boolean) =>
    eventually(`the condition of policy ${name}`, async () => {
      const policy = await findPolicy(name);
      const condition = findCondition(policy?.status?.conditions, "Applied");
      if (condition && condition.observedGeneration === policy?.metadata.generation && isSo(condition)) return policy;
      throw new Error(JSON.stringify(policy?.status));
    });
  /** What a policy has done is there a moment before its status says so. */
  const counted = async (name: string, counts: { namespaces: number; offloaded: number }): Promise<void> => {
    const policy = await eventually(`${JSON.stringify(counts)} in the status of policy ${name}`, async () => {
      const found = await findPolicy(name);
      const { namespaces, offloaded } = found?.status ?? {};
      if (sameJson({ namespaces, offloaded }, counts)) return found;
      throw new Error(JSON.stringify(found?.status));
    });
    expect(findCondition(policy.status?.conditions, "Applied")).to.include({ status: "True", reason: "Applied" });
  };
  const createByHand = (namespace: string, metadata: object = {}): Promise<NamespaceOffloading> =>
    client.create(
      NamespaceOffloadingResource,
      NamespaceOffloadingResource.build({
        metadata: { name: "offloading", namespace, ...metadata },
        spec: { podOffloadingStrategy: "Remote" },
      }),
    );
  async function rejection(work: Promise<unknown>): Promise<string> {
    return work.then(
      () => "(accepted)",
      (error: Error) => error.message,
    );
  }

  it("offload namespaces with their labels, new ones and those that get them later", async () => {
    await ensureNamespace(client, "first-1", { group: "first" });
    await ensureNamespace(client, "first-2");
    await createPolicy("first", {
      template: { metadata: { labels: { team: "a" }, annotations: { note: "b" } }, spec: {} },
    });
    const { metadata, spec } = await offloadedBy("first", "first-1");
    expect(metadata.labels).to.deep.equal({ team: "a", "offloading.liqo.io/policy": "first" });
    expect(metadata.annotations).to.include({ note: "b" });
    const { uid } = (await findPolicy("first"))?.metadata ?? {};
    expect(metadata.ownerReferences).to.deep.equal([
      {
        apiVersion: "offloading.liqo.io/v1beta1",
        kind: "NamespaceOffloadingPolicy",
        name: "first",
        uid,
        controller: true,
      },
    ]);
    expect(spec).to.deep.equal({
      namespaceMappingStrategy: "DefaultName",
      podOffloadingStrategy: "LocalAndRemote",
      clusterSelector: { nodeSelectorTerms: [] },
    });
    expect(await find("first-2")).to.equal(undefined);
    await ensureNamespace(client, "first-2", { group: "first" });
    await ensureNamespace(client, "first-3", { group: "first" });
    await offloadedBy("first", "first-2");
    await offloadedBy("first", "first-3");
    await counted("first", { namespaces: 3, offloaded: 3 });
  });

  it("follow their templates, and take back what others change", async () => {
    await ensureNamespace(client, "follow", { group: "follow" });
    const terms = [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }];
    await createPolicy("follow", {
      template: {
        metadata: { labels: { old: "1", kept: "1" }, annotations: { old: "1" } },
        spec: { podOffloadingStrategy: "Remote", clusterSelector: { nodeSelectorTerms: terms } },
      },
    });
    await offloadedBy("follow", "follow");
    const change = (template: object) =>
      client.mergePatch(NamespaceOffloadingPolicyResource, { name: "follow" }, { spec: { template } });
    await change({ metadata: { labels: { old: null }, annotations: null } });
    await eventually("the end of what the template has lost", async () => {
      const { labels = {}, annotations = {} } = (await find("follow"))?.metadata ?? {};
      return !("old" in labels) && !("old" in annotations);
    });
    await change({
      metadata: { labels: { kept: "2" } },
      spec: { podOffloadingStrategy: "Local", clusterSelector: null },
    });
    const wanted = {
      namespaceMappingStrategy: "DefaultName",
      podOffloadingStrategy: "Local",
      clusterSelector: { nodeSelectorTerms: [] },
    };
    const isAsWanted = async (): Promise<true> => {
      const { metadata, spec } = (await find("follow")) ?? {};
      expect(spec).to.deep.equal(wanted);
      expect(metadata?.labels).to.deep.equal({ kept: "2", "offloading.liqo.io/policy": "follow" });
      expect(metadata?.annotations).to.have.all.keys(TEMPLATE_ANNOTATION);
      return true;
    };
    await eventually("the new template", isAsWanted);
    const id = { name: "offloading", namespace: "follow" };
    const others = { metadata: { labels: { kept: "3" } }, spec: { clusterSelector: { nodeSelectorTerms: terms } } };
    await client.mergePatch(NamespaceOffloadingResource, id, others);
    await eventually("the template again", isAsWanted);
    await client.delete(NamespaceOffloadingResource, id);
    await eventually("another one", isAsWanted);
  });

  it("end what they began when the label goes", async () => {
    await ensureNamespace(client, "label", { group: "label" });
    await createPolicy("label");
    await offloadedBy("label", "label");
    await ensureNamespace(client, "label");
    await gone(client, NamespaceOffloadingResource, { name: "offloading", namespace: "label" });
    await counted("label", { namespaces: 0, offloaded: 0 });
  });

  it("leave what is made by hand alone, and say so", async () => {
    await ensureNamespace(client, "hand", { group: "hand" });
    const byHand = await createByHand("hand");
    await createPolicy("hand");
    const policy = await applied("hand", ({ status, reason }) => status === "True" && reason === "MadeByHand");
    expect(policy.status).to.include({ namespaces: 1, offloaded: 0 });
    expect(findCondition(policy.status?.conditions, "Applied")?.message).to.contain("namespace hand: ");
    await client.delete(NamespaceOffloadingPolicyResource, { name: "hand" });
    const after = await find("hand");
    expect(after?.spec).to.deep.equal(byHand.spec);
    expect(after?.metadata).to.include({ uid: byHand.metadata.uid });
    expect(after?.metadata).not.to.have.any.keys("labels", "ownerReferences", "deletionTimestamp");
  });

  it("leave what is made by hand alone also where it was quicker by a moment", async () => {
    await ensureNamespace(client, "quick-1");
    await ensureNamespace(client, "quick-2");
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" }];
    const desired = (namespace: string, podOffloadingStrategy: "Remote" | "Local") => ({
      metadata: {
        name: "offloading",
        namespace,
        labels: { "offloading.liqo.io/policy": "quick" },
        annotations: { note: "x" },
        ownerReferences,
      },
      spec: { podOffloadingStrategy },
    });
    const { spec } = await createByHand("quick-1", { annotations: { own: "1" } });
    const cases = [
      ["Local", "conflict"],
      ["Remote", "made by somebody else"],
    ] as const;
    for (const [strategy, message] of cases) {
      expect(await rejection(createOffloading(client, desired("quick-1", strategy)))).to.contain(message);
      const after = await find("quick-1");
      expect(after?.spec).to.deep.equal(spec);
      expect(after?.metadata.annotations).to.deep.equal({ own: "1" });
      expect(after?.metadata).not.to.have.any.keys("labels", "ownerReferences");
    }
    const made = await createOffloading(client, { ...desired("quick-2", "Local") });
    expect(made.spec.podOffloadingStrategy).to.equal("Local");
  });

  it("share no namespace: who has it keeps it, else the first by name gets it", async () => {
    const namespaceSelector = inGroup("shared");
    await ensureNamespace(client, "shared-1", { group: "shared" });
    await createPolicy("shared-b", { namespaceSelector });
    await offloadedBy("shared-b", "shared-1");
    await createPolicy("shared-a", { namespaceSelector });
    const { status } = await applied("shared-a", ({ reason }) => reason === "OtherPolicy");
    expect(status).to.include({ namespaces: 1, offloaded: 0 });
    expect(findCondition(status?.conditions, "Applied")).to.include({
      status: "False",
      message: "namespace shared-1: policy shared-b offloads it",
    });
    await ensureNamespace(client, "shared-2", { group: "shared" });
    await offloadedBy("shared-a", "shared-2");
    await applied("shared-b", ({ message }) => message.includes("policy shared-a offloads it"));
    expect(await madeBy("shared-b")("shared-1")).not.to.equal(false);
    // Once it is free the other one takes it.
    await client.mergePatch(
      NamespaceOffloadingPolicyResource,
      { name: "shared-b" },
      { spec: { namespaceSelector: inGroup("x") } },
    );
    await offloadedBy("shared-a", "shared-1");
    await applied("shared-a", ({ reason }) => reason === "Applied");
    await client.delete(NamespaceOffloadingPolicyResource, { name: "shared-a" });
  });

  it("take all namespaces with an empty selector, but those that are not the user's", async () => {
    await ensureNamespace(client, "liqo-tenant-peer", tenantLabels("peer"));
    const annotations = { "liqo.io/managed-by-namespace-map": "liqo-tenant-peer/peer" };
    await client.create(NamespaceResource, { metadata: { name: "of-a-peer", annotations } });
    await createPolicy("zz-all", { namespaceSelector: {} });
    await offloadedBy("zz-all", "default");
    const protectedOnes = ["kube-system", "kube-public", "kube-node-lease", "liqo", "liqo-storage", "liqo-tenant-peer"];
    await applied("zz-all", () => true);
    for (const name of [...protectedOnes, "of-a-peer"]) expect(await find(name), name).to.equal(undefined);
    await client.mergePatch(
      NamespaceOffloadingPolicyResource,
      { name: "zz-all" },
      { spec: { namespaceSelector: inGroup("zz-all") } },
    );
    await gone(client, NamespaceOffloadingResource, { name: "offloading", namespace: "default" });
  });

  it("tell what is refused, in an event, too, and try it again", async () => {
    const long = "refused-".padEnd(60, "x");
    await ensureNamespace(client, long, { group: "refused" });
    await ensureNamespace(client, "refused", { group: "refused" });
    await createPolicy("refused");
    await offloadedBy("refused", "refused");
    const refused = await applied("refused", ({ reason }) => reason === "Refused");
    expect(refused.status).to.include({ namespaces: 2, offloaded: 1 });
    const message = findCondition(refused.status?.conditions, "Applied")?.message;
    expect(message).to.contain(`namespace ${long}: `).and.to.contain("which is not a valid namespace name");
    await eventually("the event", async () => {
      const { items } = await client.list(EventResource, { namespace: "default" });
      return items.some(({ involvedObject, reason, type }) => {
        return involvedObject.name === "refused" && reason === "Refused" && type === "Warning";
      });
    });
    await ensureNamespace(client, long);
    await applied("refused", ({ status }) => status === "True");

    const volume = await client.create(
      PersistentVolumeResource,
      remoteVolume({ name: "data", namespace: "refused" }, "peer"),
    );
    await controllerKnows(volume.metadata?.name ?? "");
    await ensureNamespace(client, "refused");
    await applied(
      "refused",
      ({ message }) => message.includes("namespace refused: ") && message.includes("claim data"),
    );
    expect((await find("refused"))?.metadata).not.to.have.property("deletionTimestamp");
    await client.delete(PersistentVolumeResource, { name: volume.metadata?.name ?? "" });
    await gone(client, NamespaceOffloadingResource, { name: "offloading", namespace: "refused" });
    await applied("refused", ({ status }) => status === "True");
  });

  /** Else the webhook may allow what it would refuse a moment later. */
  async function controllerKnows(volume: string): Promise<void> {
    const volumes = controller.context.informers.for(PersistentVolumeResource);
    await eventually("the volume", () => Promise.resolve(volumes.get(volume)));
  }

  it("take with them what they made", async () => {
    await ensureNamespace(client, "whole", { group: "whole" });
    await createPolicy("whole");
    await offloadedBy("whole", "whole");
    await client.delete(NamespaceOffloadingPolicyResource, { name: "whole" });
    await until("the garbage collector", COLLECTED_MS, async () => (await find("whole")) === undefined || undefined);
  });

  it("do not change names that are in use, and take none for many namespaces", async () => {
    const created = await createPolicy("fixed", {
      template: { spec: { namespaceMappingStrategy: "EnforceSameName" } },
    });
    const change = (spec: object) =>
      rejection(
        client.mergePatch(NamespaceOffloadingPolicyResource, { name: "fixed" }, { spec: { template: { spec } } }),
      );
    expect(await change({ namespaceMappingStrategy: "DefaultName" })).to.contain(
      "namespaceMappingStrategy is immutable",
    );
    expect(await change({ namespaceMappingStrategy: null })).to.contain("namespaceMappingStrategy is immutable");
    expect(await change({ remoteNamespaceName: "one" })).to.contain("cannot all have one remoteNamespaceName");
    expect(await change({ podOffloadingStrategy: "Remote" })).to.equal("(accepted)");
    const spec = { namespaceMappingStrategy: "SelectedName" as never };
    expect(await rejection(createPolicy("selected", { template: { spec } }))).to.contain('"SelectedName"');
    expect(created.spec.template.spec.podOffloadingStrategy).to.equal("LocalAndRemote");
  });

  it("need a selector that means something, and a name that fits into a label", async () => {
    const { apiVersion, kind } = NamespaceOffloadingPolicyResource;
    const bare = (spec: object) =>
      client.create(NamespaceOffloadingPolicyResource, { apiVersion, kind, metadata: { name: "bare" }, spec } as never);
    expect(await rejection(bare({}))).to.contain("spec.namespaceSelector: Required");
    const requirement = (operator: string, values?: string[]) =>
      rejection(bare({ namespaceSelector: { matchExpressions: [{ key: "a", operator, values }] } }));
    expect(await requirement("Near")).to.contain('"Near"');
    expect(await requirement("In")).to.contain("values are needed by In and NotIn");
    expect(await requirement("Exists", ["b"])).to.contain("mean nothing to Exists");
    expect(await rejection(createPolicy("n".repeat(64)))).to.contain("at most 63 characters");
    const stored = await bare({ namespaceSelector: inGroup("bare") });
    expect(stored.spec.template).to.deep.equal({
      spec: { namespaceMappingStrategy: "DefaultName", podOffloadingStrategy: "LocalAndRemote" },
    });
  });
});
