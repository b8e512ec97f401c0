import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import { NamespaceOffloadingResource, type NamespaceOffloadingSpec } from "../../../agent/api/index.js";
import { EventResource, NamespaceResource, PodResource, type KubeClient } from "../../../agent/runtime/index.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { ensureNamespace, eventually, startController, type RunningController } from "./harness.js";

type Id = { name: string; namespace: string };

/** Of a pod that admission has given node affinity. */
const NOTE = "offloading.liqo.io/cluster-selector-hash";
const OWNER = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r", controller: true };

describe("pods of offloaded namespaces that no node was found for", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let controller: RunningController;
  let client: KubeClient;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    client = server.client;
    controller = await startController(server, "consumer", { webhooks: true });
  });

  after(async () => {
    await controller?.stop();
    await server?.stop();
  });

  const offload = (namespace: string, spec: NamespaceOffloadingSpec): Promise<unknown> => {
    const metadata = { name: "offloading", namespace };
    return client.create(NamespaceOffloadingResource, NamespaceOffloadingResource.build({ metadata, spec }));
  };
  const isLabelled = (namespace: string): Promise<unknown> =>
    eventually(`the label of namespace ${namespace}`, async () => {
      const { metadata } = (await client.get(NamespaceResource, { name: namespace })) ?? {};
      return metadata?.labels?.["liqo.io/scheduling-enabled"] === "true";
    });
  /** As a controller makes it, and as the scheduler leaves it. */
  async function unschedulable(namespace: string, name: string, isOwned = true, annotations = {}): Promise<Pod> {
    const pod = await client.create(PodResource, {
      metadata: { name, namespace, annotations, ownerReferences: isOwned ? [OWNER] : [] },
      spec: { containers: [{ name: "c", image: "i" }] },
    });
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 nodes" }];
    await client.mergePatch(PodResource, { name, namespace }, { status: { conditions } }, { subresource: "status" });
    return pod;
  }
  const find = ({ metadata }: Pod): Promise<Pod | undefined> =>
    client.get(PodResource, { name: metadata?.name ?? "", namespace: metadata?.namespace });
  const isReplaced = (pod: Pod): Promise<unknown> =>
    eventually(`the end of pod ${pod.metadata?.name}`, async () => (await find(pod)) === undefined);
  const isTold = (pod: Pod, reason: string): Promise<string> =>
    eventually(`${reason} of pod ${pod.metadata?.name}`, async () => {
      const { items } = await client.list(EventResource, { namespace: pod.metadata?.namespace });
      const uid = pod.metadata?.uid;
      return items.find((one) => one.reason === reason && one.involvedObject.uid === uid)?.message;
    });

  /** What was due before has been done by then. */
  async function anotherIsReplaced(namespace: string): Promise<void> {
    await ensureNamespace(client, namespace);
    const pod = await unschedulable(namespace, "owned");
    await offload(namespace, { podOffloadingStrategy: "Remote" });
    await isReplaced(pod);
  }

  it("are left alone where admission leaves them alone, as they would be made anew for ever", async () => {
    const names = ["kube-system", "liqo"];
    const left: Pod[] = [];
    for (const namespace of names) {
      left.push(await unschedulable(namespace, "owned"));
      await offload(namespace, { podOffloadingStrategy: "Remote" });
      await isLabelled(namespace);
    }
    await anotherIsReplaced("meanwhile");
    // What brings another look at them.
    for (const pod of left) {
      const { name = "", namespace } = pod.metadata ?? {};
      await client.mergePatch(PodResource, { name, namespace }, { metadata: { labels: { look: "again" } } });
    }
    await anotherIsReplaced("later");
    for (const pod of left) {
      const now = await find(pod);
      expect(now?.metadata?.uid).to.equal(pod.metadata?.uid);
      expect(now?.metadata?.deletionTimestamp).to.equal(undefined);
      const tolerated = now?.spec?.tolerations?.map(({ key }) => key);
      expect(tolerated).to.not.include("virtual-node.liqo.io/not-allowed");
    }
  });

  it("are made anew when the offloading of their namespace has been changed, so that they go where it leads now", async () => {
    const namespace = "moved";
    const zone = (value: string) => ({ matchExpressions: [{ key: "zone", operator: "In", values: [value] }] });
    const zonesOf = ({ spec }: Pod): string[] => {
      const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      const requirements = required?.nodeSelectorTerms.flatMap(({ matchExpressions = [] }) => matchExpressions) ?? [];
      return requirements.filter(({ key }) => key === "zone").flatMap(({ values = [] }) => values);
    };
    const select = (...values: string[]): Promise<unknown> =>
      client.mergePatch(
        NamespaceOffloadingResource,
        { name: "offloading", namespace },
        { spec: { clusterSelector: { nodeSelectorTerms: values.map(zone) } } },
      );
    /** The webhook's cache may be behind what was just written. */
    const madeFor = (name: string, ...values: string[]): Promise<Pod> =>
      eventually(`pod ${name} made for ${values.join() || "any cluster"}`, async () => {
        const pod = await unschedulable(namespace, `${name}-${Date.now()}`, name !== "bare");
        return zonesOf(pod).join() === values.join() && pod;
      });
    await ensureNamespace(client, namespace);
    await offload(namespace, {});
    await isLabelled(namespace);

    const anywhere = await madeFor("anywhere");
    await select("a");
    await isReplaced(anywhere);
    const [first, bare] = [await madeFor("first", "a"), await madeFor("bare", "a")];
    await select("b", "c");
    await isReplaced(first);
    await isTold(bare, "PredatesClusterSelector");
    const second = await madeFor("second", "b", "c");
    await anotherIsReplaced("moved-meanwhile");
    expect((await find(second))?.metadata?.deletionTimestamp).to.equal(undefined);
    expect((await find(bare))?.metadata?.deletionTimestamp).to.equal(undefined);
    await select();
    await isReplaced(second);
  });

  for (const [what, end] of [
    [
      "is for its own cluster alone from then on",
      (id: Id) => client.mergePatch(NamespaceOffloadingResource, id, { spec: { podOffloadingStrategy: "Local" } }),
    ],
    ["is offloaded no more", (id: Id) => client.delete(NamespaceOffloadingResource, id)],
  ] as const) {
    it(`are made anew when their namespace ${what}, so that they find a node at home`, async () => {
      const namespace = `home-${what.split(" ").length}`;
      const id = { name: "offloading", namespace };
      const isPrepared = ({ metadata }: Pod): boolean => NOTE in (metadata?.annotations ?? {});
      const prepared = (name: string): Promise<Pod> =>
        eventually(`pod ${name}, prepared for other clusters`, async () => {
          const pod = await unschedulable(namespace, `${name}-${Date.now()}`, name !== "bare");
          return isPrepared(pod) && pod;
        });
      await ensureNamespace(client, namespace);
      await offload(namespace, { podOffloadingStrategy: "Remote" });
      await isLabelled(namespace);
      const [owned, bare] = [await prepared("owned"), await prepared("bare")];
      await end(id);
      await isReplaced(owned);
      await isTold(bare, "PreparedForOffloading");
      await eventually("the end of the label", async () => {
        const { metadata } = (await client.get(NamespaceResource, { name: namespace })) ?? {};
        return metadata?.labels?.["liqo.io/scheduling-enabled"] === undefined;
      });
      // As of a template that was written down from a pod: it would be no better if it were made anew.
      const copied = await eventually("a pod that nobody prepares", async () => {
        const pod = await unschedulable(namespace, `copied-${Date.now()}`, true, { [NOTE]: "0123456789abcdef" });
        return !pod.spec?.affinity && pod;
      });
      await anotherIsReplaced(`${namespace}-meanwhile`);
      expect((await find(copied))?.metadata?.deletionTimestamp).to.equal(undefined);
      expect((await find(bare))?.metadata?.deletionTimestamp).to.equal(undefined);
    });
  }
});
