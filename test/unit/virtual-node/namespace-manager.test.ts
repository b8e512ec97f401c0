import { expect } from "chai";
import { pino } from "pino";
import { NamespaceMapResource, VirtualNodeResource, type NamespaceMap } from "../../../agent/api/index.js";
import { type KubeClient, type KubeObject } from "../../../agent/runtime/index.js";
import { parseVirtualNodeArguments } from "../../../agent/virtual-node/arguments.js";
import type { VirtualNodeContext } from "../../../agent/virtual-node/context.js";
import { NamespaceManager } from "../../../agent/virtual-node/namespaces/namespace-manager.js";
import { until } from "../../clusters/support/wait.js";

const SECONDS = 5_000;
const config = parseVirtualNodeArguments([
  "--foreign-cluster-id=p",
  "--home-cluster-id=c",
  "--nodename=node",
  "--node-ip=10.0.0.1",
  "--tenant-namespace=t",
  "--foreign-kubeconfig-secret-name=s",
]);

const map = (name: string): NamespaceMap =>
  NamespaceMapResource.build({
    metadata: { name, namespace: "t", uid: name, resourceVersion: "1", labels: { "liqo.io/remoteID": "p" } },
    spec: { desiredMapping: { shop: "shop-c" } },
    status: { currentMapping: { shop: { remoteNamespace: "shop-c", phase: "Accepted" } } },
  });

/** A virtual node's process that begins with such maps; whatever is lost there is lost at once. */
async function started(maps: NamespaceMap[]) {
  const told: string[] = [];
  let send: (event: { type: string; object: NamespaceMap }) => void = () => undefined;
  const local = {
    cluster: "c",
    async *pages() {
      yield await Promise.resolve({ metadata: { resourceVersion: "1" }, items: maps });
    },
    async *watch(_type: unknown, { signal }: { signal: AbortSignal }) {
      while (!signal.aborted) {
        yield await new Promise((resolve) => {
          send = resolve;
          signal.addEventListener("abort", () => resolve({ type: "BOOKMARK", object: map("one") }));
        });
      }
    },
  } as unknown as KubeClient;
  const recorder = {
    warning: (_type: unknown, { metadata }: KubeObject, reason: string, message: string) =>
      void told.push(`${metadata?.name} ${reason} ${message}`),
  };
  const state = { virtualNode: VirtualNodeResource.build({ metadata: { name: "node", namespace: "t" }, spec: {} }) };
  const context = { local, config, state, recorder, logger: pino({ level: "silent" }) };
  const manager = new NamespaceManager(context as unknown as VirtualNodeContext, 0);
  await manager.start();
  const standing = (wanted: string): Promise<unknown> =>
    until(`the namespace to be ${wanted}`, SECONDS, () =>
      Promise.resolve(manager.standingOf("shop") === wanted || undefined),
    );
  return { manager, state, told, standing, send: (type: string, object: NamespaceMap) => send({ type, object }) };
}

describe("NamespaceManager", () => {
  it("gives no namespace up that it has not begun with because there is a map too many, says so, and begins once that is gone", async () => {
    const { manager, told, standing, send } = await started([map("p"), map("copy")]);
    try {
      expect(manager.standingOf("shop")).to.equal("unsettled");
      expect(told[0]).to.match(
        /^node NamespaceMapsContradict .*more than one NamespaceMap for cluster p: p, copy\..*keep/,
      );
      send("DELETED", map("copy"));
      await standing("active");
    } finally {
      await manager.stop();
    }
  });

  it("goes on with what it has begun while there is a map too many, and gives up what is not mapped any more afterwards", async () => {
    const { manager, told, standing, send } = await started([map("p")]);
    try {
      await standing("active");
      send("ADDED", map("copy"));
      await until("the warning", SECONDS, () => Promise.resolve(told.length > 0 || undefined));
      expect(manager.standingOf("shop")).to.equal("active");
      const without = map("p");
      send("MODIFIED", { ...without, metadata: { ...without.metadata, resourceVersion: "2" }, spec: {}, status: {} });
      await until("another warning", SECONDS, () => Promise.resolve(told.length > 1 || undefined));
      expect(manager.standingOf("shop")).to.equal("active");
      send("DELETED", map("copy"));
      await standing("lost");
    } finally {
      await manager.stop();
    }
  });

  it("has what activities have left behind taken off when they end for good, and only then", async () => {
    const steps: string[] = [];
    const watched = (name: string) => ({
      stop: () => Promise.resolve(void steps.push(`${name} stopped`)),
      withdraw: () => Promise.resolve(void steps.push(`${name} withdrawn`)),
    });
    const restarted = await started([map("p")]);
    restarted.manager.add(() => watched("restarted"));
    await restarted.standing("active");
    await restarted.manager.stop();
    expect(steps.splice(0)).to.deep.equal(["restarted stopped"]);

    const ended = await started([map("p")]);
    ended.manager.add(() => watched("ended"));
    await ended.standing("active");
    Object.assign(ended.state.virtualNode.metadata, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    await ended.manager.stop();
    expect(steps.splice(0)).to.deep.equal(["ended stopped", "ended withdrawn"]);

    const unmapped = await started([map("p")]);
    unmapped.manager.add(() => watched("unmapped"));
    await unmapped.standing("active");
    unmapped.send("DELETED", map("p"));
    await unmapped.standing("lost");
    await until("its end", SECONDS, () => Promise.resolve(steps.length === 2 || undefined));
    expect(steps).to.deep.equal(["unmapped stopped", "unmapped withdrawn"]);
    await unmapped.manager.stop();
  });

  it("ends, also where something cannot be taken off", async () => {
    const { manager, standing, send } = await started([map("p")]);
    manager.add(() => ({ stop: () => Promise.resolve(), withdraw: () => Promise.reject(new Error("forbidden")) }));
    await standing("active");
    send("DELETED", map("p"));
    await standing("lost");
    await manager.stop();
  });
});
