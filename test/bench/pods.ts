import type { Pod } from "kubernetes-types/core/v1";
import { NamespaceResource, PodResource } from "../../agent/runtime/index.js";
import { TEST_TOOLS_IMAGE } from "../clusters/index.js";
import type { LabCluster } from "../support/lab.js";
import { isReady, waitForPods } from "../support/workload.js";
import { timed } from "./pulumi-commands.js";
import { figure, median, type Result } from "./result.js";

/** Pods through the virtual node against the same pods on the provider itself: same image, same node, one run. */
export async function benchPods(
  consumer: LabCluster,
  provider: LabCluster,
  offloaded: string,
  virtualNode: string,
): Promise<Result[]> {
  const native = "bench-native";
  const nativeNode = provider.cluster.nodes[0]?.name ?? "";
  await provider.client.apply(NamespaceResource, { metadata: { name: native } }, { fieldManager: "bench" });
  const one = { virtual: [] as number[], native: [] as number[] };
  for (let round = 0; round < 5; round++) {
    one.native.push(await createAndAwait(provider, native, nativeNode, 1, `one-${round}`));
    one.virtual.push(await createAndAwait(consumer, offloaded, virtualNode, 1, `one-${round}`));
  }
  const fortyNative = await createAndAwait(provider, native, nativeNode, 40, "forty");
  const fortyVirtual = await createAndAwait(consumer, offloaded, virtualNode, 40, "forty");
  await provider.client.delete(NamespaceResource, { name: native });
  return [
    figure("one pod to Ready, on the provider itself", median(one.native), "s"),
    figure("one pod to Ready, through the virtual node", median(one.virtual), "s"),
    figure("40 pods to Ready, on the provider itself", fortyNative, "s"),
    figure("40 pods to Ready, through the virtual node", fortyVirtual, "s"),
    figure("40 pods, virtual against native", fortyVirtual / fortyNative, "x"),
  ];
}

/** Seconds from the first create to the last pod Ready; the pods are gone again when it returns. */
async function createAndAwait(
  lab: LabCluster,
  namespace: string,
  node: string,
  count: number,
  prefix: string,
): Promise<number> {
  const names = Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
  const ours = (pods: Pod[]): Pod[] => pods.filter(({ metadata }) => names.includes(metadata?.name ?? ""));
  const seconds = await timed(async () => {
    await Promise.all(names.map((name) => lab.client.create(PodResource, benchPod(namespace, name, node))));
    await waitForPods(
      lab,
      namespace,
      `${count} pods Ready`,
      (pods) => ours(pods).filter(isReady).length === count,
      180_000,
    );
  });
  await Promise.all(
    names.map((name) => lab.client.delete(PodResource, { name, namespace }, { gracePeriodSeconds: 0 })),
  );
  await waitForPods(lab, namespace, `${count} pods gone`, (pods) => ours(pods).length === 0, 180_000);
  return seconds;
}

function benchPod(namespace: string, name: string, node: string): Pod {
  return {
    metadata: { name, namespace },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      tolerations: [{ operator: "Exists" }],
      automountServiceAccountToken: false,
      containers: [{ name: "sleep", image: TEST_TOOLS_IMAGE, command: ["sleep", "100000"] }],
    },
  };
}
