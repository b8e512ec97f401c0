import { expect } from "chai";
import type { Node } from "kubernetes-types/core/v1";
import { pino } from "pino";
import { ForeignClusterResource, Labels, VirtualNodeResource, type VirtualNode } from "../../../agent/api/index.js";
import { Informer, KubeError, type KubeClient } from "../../../agent/runtime/index.js";
import { parseVirtualNodeArguments } from "../../../agent/virtual-node/arguments.js";
import type { VirtualNodeContext } from "../../../agent/virtual-node/context.js";
import { NodeController } from "../../../agent/virtual-node/node/node-controller.js";
import { until } from "../../clusters/support/wait.js";

const SECONDS = 5_000;
const config = parseVirtualNodeArguments([
  "--foreign-cluster-id=p",
  "--home-cluster-id=c",
  "--nodename=node",
  "--node-ip=10.0.0.1",
  "--tenant-namespace=t",
  "--foreign-kubeconfig-secret-name=s",
  "--create-node=true",
]);

type Write = "create" | "metadata" | "status" | "lease";

/** A consumer's cluster that refuses some writes; `done` are the others, `told` what the VirtualNode is told. */
function consumer(refused: Write[], options: { alive?: boolean; hasNode?: boolean } = {}) {
  const { alive = true, hasNode = true } = options;
  const done: Write[] = [];
  const told: string[] = [];
  const labels = { [Labels.type]: "virtual-node", [Labels.remoteClusterID]: "p" };
  const node: Node = { metadata: { name: "node", uid: "u", resourceVersion: "1", labels } };
  const write = (what: Write): Promise<Node> => {
    if (refused.includes(what)) return Promise.reject(new KubeError(`no ${what}`, 422, "Invalid", "c"));
    done.push(what);
    return Promise.resolve(node);
  };
  const local = {
    request: () => Promise.resolve({ gitVersion: "v1" }),
    async *pages() {
      yield await Promise.resolve({ metadata: { resourceVersion: "1" }, items: hasNode ? [node] : [] });
    },
    async *watch(_type: unknown, { signal }: { signal: AbortSignal }) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield* [];
    },
    create: () => write("create"),
    mergePatch: (_type: unknown, _id: unknown, _patch: unknown, { subresource }: { subresource?: string }) =>
      write(subresource ? "status" : "metadata"),
    apply: () => write("lease"),
  } as unknown as KubeClient;
  const virtualNode = VirtualNodeResource.build({ metadata: { name: "node", namespace: "t" }, spec: {} });
  const conditions = [{ type: "APIServerStatus", status: alive ? "Established" : "Error" }];
  const recorder = {
    warning: (_type: unknown, { metadata }: VirtualNode, reason: string, message: string) =>
      void told.push(`${metadata.name} ${reason} ${message}`),
  };
  const state = {
    virtualNode,
    virtualNodes: new Informer(local, VirtualNodeResource),
    foreignClusters: new Informer(local, ForeignClusterResource),
    foreignCluster: { status: { conditions, modules: { networking: { enabled: false } } } },
  };
  const logger = pino({ level: "silent" });
  const controller = new NodeController({ local, config, state, recorder, logger } as unknown as VirtualNodeContext);
  return { controller, done, told };
}

/** What is done, and what told, until a pass has failed twice. */
async function afterTwoFailures(
  ...given: Parameters<typeof consumer>
): Promise<{ done: Set<Write>; told: Set<string> }> {
  const { controller, done, told } = consumer(...given);
  await controller.start();
  try {
    await until("two failures", SECONDS, () => Promise.resolve(told.length >= 2 * given[0].length || undefined));
  } finally {
    await controller.stop();
  }
  return { done: new Set(done), told: new Set(told) };
}

describe("Node of a virtual node, some of whose writes are refused", () => {
  const tell = (what: Write): string => `node FailedNodeUpdate no ${what}`;

  it("lives on, whichever is refused, and the VirtualNode is told", async () => {
    const all: Write[] = ["metadata", "status", "lease"];
    for (const refused of [["metadata"], ["status"], ["lease"], ["metadata", "status"]] satisfies Write[][]) {
      const { done, told } = await afterTwoFailures(refused);
      expect(done).to.deep.equal(new Set(all.filter((what) => !refused.some((other) => other === what))));
      expect(told).to.deep.equal(new Set(refused.map(tell)));
    }
  });

  it("is silent all the same while its provider is away", async () => {
    const { done, told } = await afterTwoFailures(["metadata"], { alive: false });
    expect(done).to.deep.equal(new Set());
    expect(told).to.deep.equal(new Set([tell("metadata")]));
  });

  it("is told of also before there is one", async () => {
    const { told } = await afterTwoFailures(["create"], { hasNode: false });
    expect(told).to.deep.equal(new Set([tell("create")]));
  });
});
