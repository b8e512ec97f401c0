import { expect } from "chai";
import type { Container, PodSpec } from "kubernetes-types/core/v1";
import { ShadowPodResource, type ResourceList, type ShadowPod } from "../../../agent/api/index.js";
import { podCost, takesMore } from "../../../agent/controller/webhooks/pod-cost.js";
import { checkShadowPodUpdate } from "../../../agent/controller/webhooks/shadow-pod.js";
import { quotaProblem } from "../../../agent/controller/webhooks/shadow-pod-quota.js";

function container(requests: ResourceList, extra: Partial<Container> = {}): Container {
  return { name: "c", image: "i", resources: { requests: requests as Record<string, string> }, ...extra };
}

describe("podCost", () => {
  it("sums containers, and takes the largest init container", () => {
    const pod: PodSpec = {
      containers: [container({ cpu: "200m" }), container({ cpu: "300m", memory: "1Gi" })],
      initContainers: [container({ cpu: "400m" }), container({ memory: "2Gi" })],
    };
    expect(podCost(pod)).to.deep.equal({ cpu: "500m", memory: "2Gi", pods: 1 });
  });

  it("keeps sidecars running beside containers and later init containers", () => {
    const sidecar = container({ cpu: "100m" }, { restartPolicy: "Always" });
    const pod: PodSpec = {
      containers: [container({ cpu: "1" })],
      initContainers: [sidecar, container({ cpu: "2" })],
    };
    expect(podCost(pod)["cpu"]).to.equal("2100m");
    expect(podCost({ containers: [container({ cpu: "1" })], initContainers: [sidecar] })["cpu"]).to.equal("1100m");
  });

  it("counts what a pod asks for as a whole", () => {
    const pod = { containers: [container({ cpu: "1" })], resources: { requests: { cpu: "3" } } };
    expect(podCost(pod)["cpu"]).to.equal("3");
  });

  it("counts the overhead, which comes on top of whatever the containers take", () => {
    const pod: PodSpec = {
      containers: [container({ cpu: "1" })],
      initContainers: [container({ cpu: "2" })],
      overhead: { cpu: "250m", memory: "120Mi" },
    };
    expect(podCost(pod)).to.deep.equal({ cpu: "2250m", memory: "120Mi", pods: 1 });
    expect(podCost({ ...pod, resources: { requests: { cpu: "3" } } } as PodSpec)["cpu"]).to.equal("3250m");
  });

  it("counts a limit without a request", () => {
    const limited: Container = { name: "c", resources: { limits: { cpu: "1" } } };
    expect(podCost({ containers: [limited] })["cpu"]).to.equal("1");
  });
});

describe("quotaProblem", () => {
  const quota = { user: "u", resources: { cpu: "1", memory: "1Gi", pods: 2 } };
  const pod: PodSpec = { containers: [container({ cpu: "600m", memory: "100Mi" })] };

  it("allows what fits exactly, and tells what does not", () => {
    expect(quotaProblem(pod, quota, { cpu: "400m", pods: 1 })).to.equal(undefined);
    expect(quotaProblem(pod, quota, { cpu: "500m" })).to.equal(
      "peering cpu quota usage exceeded - free 500m / requested 600m",
    );
    expect(quotaProblem(pod, quota, { pods: 2 })).to.equal("peering pods quota usage exceeded - free 0 / requested 1");
  });

  it("refuses a resource that was not granted, and every pod of a cordoned user", () => {
    const gpu: PodSpec = { containers: [container({ "nvidia.com/gpu": 1 })] };
    expect(quotaProblem(gpu, quota, {})).to.equal("nvidia.com/gpu quota limit not found for this peering");
    expect(quotaProblem(pod, { ...quota, cordoned: true }, {})).to.equal("user is cordoned");
  });

  it("requires requests with Soft, and equal limits with Hard", () => {
    const bare: PodSpec = { containers: [{ name: "c" }] };
    expect(quotaProblem(bare, { ...quota, limitsEnforcement: "None" }, {})).to.equal(undefined);
    expect(quotaProblem(bare, { ...quota, limitsEnforcement: "Soft" }, {})).to.contain("request of cpu is required");
    expect(quotaProblem(pod, { ...quota, limitsEnforcement: "Soft" }, {})).to.equal(undefined);
    expect(quotaProblem(pod, { ...quota, limitsEnforcement: "Hard" }, {})).to.contain("limit of cpu must equal");
    const equal: PodSpec = {
      containers: [
        { name: "c", resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "0.5", memory: "1Gi" } } },
      ],
    };
    expect(quotaProblem(equal, { ...quota, limitsEnforcement: "Hard" }, {})).to.equal(undefined);
  });
});

describe("checkShadowPodUpdate", () => {
  function shadow(pod: Partial<PodSpec>, origin = "a"): ShadowPod {
    return ShadowPodResource.build({
      metadata: { name: "p", namespace: "n", labels: { "offloading.liqo.io/origin": origin } },
      spec: { pod: { containers: [container({})], ...pod } },
    });
  }

  it("lets what may change in a running pod change, nothing else", () => {
    const changed = shadow({
      containers: [container({ cpu: "1" }, { image: "other" })],
      activeDeadlineSeconds: 5,
      tolerations: [{ operator: "Exists" }],
      ephemeralContainers: [{ name: "debugger", image: "tools" }],
    });
    expect(checkShadowPodUpdate(shadow({}), changed).allowed).to.equal(true);
    expect(checkShadowPodUpdate(shadow({}), shadow({ hostname: "h" })).allowed).to.equal(false);
    expect(checkShadowPodUpdate(shadow({}), shadow({ containers: [] })).allowed).to.equal(false);
    expect(checkShadowPodUpdate(shadow({}), shadow({}, "b")).message).to.contain("immutable");
  });

  it("looks at the quota only when a pod is to take more than before", () => {
    const of = (cpu: string, memory: string): PodSpec => ({ containers: [container({ cpu, memory })] });
    expect(takesMore(of("1", "1Gi"), of("1000m", "1Gi"))).to.equal(false);
    expect(takesMore(of("500m", "1Gi"), of("1", "1Gi"))).to.equal(false);
    expect(takesMore(of("500m", "2Gi"), of("1", "1Gi"))).to.equal(true);
  });
});
