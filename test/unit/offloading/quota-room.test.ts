import { expect } from "chai";
import type { Pod, PodSpec } from "kubernetes-types/core/v1";
import { QuotaResource, ShadowPodResource, type Quota, type ShadowPod } from "../../../agent/api/index.js";
import { QuotaRoom } from "../../../agent/controller/offloading/shadow-pod/quota-room.js";
import { Informer, PodResource, RuntimeClassResource, type KubeClient } from "../../../agent/runtime/index.js";

const USER = "slice-1";
const client = {} as KubeClient;

function setup(spec: Partial<Quota["spec"]> = {}): { room: QuotaRoom; pods: Informer<Pod>; quota: Quota } {
  const quotas = new Informer(client, QuotaResource);
  const resources = { cpu: "1", pods: 10 };
  const metadata = { name: "q", namespace: "t" };
  const quota = QuotaResource.build({ metadata, spec: { user: USER, resources, ...spec } });
  quotas.observe(quota);
  const pods = new Informer(client, PodResource);
  const runtimeClasses = new Informer(client, RuntimeClassResource);
  runtimeClasses.observe({ metadata: { name: "kata" }, handler: "kata", overhead: { podFixed: { cpu: "250m" } } });
  return { room: new QuotaRoom(quotas, pods, runtimeClasses), pods, quota };
}

const metadata = (name: string) => ({ name, namespace: "n", labels: { "liqo.io/creator-user": USER } });
const spec = (cpu: string) => ({ containers: [{ name: "c", resources: { requests: { cpu } } }] });
const shadow = (name: string, cpu: string): ShadowPod =>
  ShadowPodResource.build({ metadata: metadata(name), spec: { pod: spec(cpu) } });
const running = (name: string, cpu: string): Pod => ({ metadata: metadata(name), spec: spec(cpu) });

describe("room in a quota", () => {
  it("is given once, also while Pods are only about to be made", () => {
    const { room } = setup();
    expect(room.take(shadow("a", "600m"))).to.equal(undefined);
    expect(room.take(shadow("b", "600m"))).to.contain("free 400m / requested 600m");
    expect(room.waitingFor(USER)).to.deep.equal(["n/b"]);
    room.settle(shadow("a", "600m"));
    expect(room.take(shadow("b", "600m"))).to.equal(undefined);
    expect(room.waitingFor()).to.deep.equal([]);
  });

  it("is taken by Pods that are there, whatever they were asked to be, and by none that has ended", () => {
    const { room, pods } = setup();
    pods.observe(running("a", "900m"));
    pods.observe({ ...running("ended", "1"), status: { phase: "Succeeded" } });
    expect(room.take(shadow("b", "200m"))).to.contain("free 100m");
    expect(room.take(shadow("a", "1"))).to.equal(undefined);
  });

  it("is given once to Pods that grow, also while neither has grown yet", () => {
    const { room, pods } = setup();
    pods.observe(running("a", "300m"));
    pods.observe(running("b", "300m"));
    expect(room.take(shadow("a", "600m"))).to.equal(undefined);
    expect(room.take(shadow("b", "600m"))).to.contain("free 400m / requested 600m");
    pods.observe(running("a", "600m"));
    room.settle(shadow("a", "600m"));
    expect(room.take(shadow("b", "400m"))).to.equal(undefined);
  });

  it("is taken by a Pod's overhead too: by its RuntimeClass's before it is there, and by its own from then on", () => {
    const { room, pods } = setup();
    const inKata = (cpu: string): PodSpec => ({ ...spec(cpu), runtimeClassName: "kata" });
    const asked = (name: string, cpu: string): ShadowPod =>
      ShadowPodResource.build({ metadata: metadata(name), spec: { pod: inKata(cpu) } });
    expect(room.take(asked("a", "800m"))).to.contain("requested 1050m");
    expect(room.take(asked("a", "300m"))).to.equal(undefined);
    expect(room.take(shadow("b", "500m"))).to.contain("free 450m");
    pods.observe({ metadata: metadata("a"), spec: { ...inKata("300m"), overhead: { cpu: "200m" } } });
    room.settle(asked("a", "300m"));
    expect(room.take(asked("a", "900m"))).to.contain("requested 1100m");
    expect(room.take(shadow("b", "500m"))).to.equal(undefined);
  });

  it("is taken by what admission has made of a Pod, which stays only if there is as much, and is known the next time", () => {
    const { room, pods } = setup();
    const other = (cpu: string, resourceVersion: string): Pod => ({
      ...running("other", cpu),
      metadata: { ...metadata("other"), resourceVersion },
    });
    pods.observe(other("500m", "1"));
    const injected: Pod = running("a", "300m");
    injected.spec?.containers.push({ name: "sidecar", resources: { requests: { cpu: "300m" } } });
    const asked = shadow("a", "300m");
    expect(room.take(asked)).to.equal(undefined);
    expect(room.confirm(asked, running("a", "300m"))).to.equal(undefined);
    expect(room.confirm(asked, injected)).to.contain("free 500m / requested 600m");
    room.settle(asked);
    expect(room.take(asked)).to.contain("requested 600m");
    expect(room.waitingFor(USER)).to.deep.equal(["n/a"]);
    pods.observe(other("400m", "2"));
    expect(room.take(asked)).to.equal(undefined);
    expect(room.take(shadow("b", "100m"))).to.contain("free 0");
    expect(room.confirm(asked, injected)).to.equal(undefined);
    room.settle(asked);
    expect(room.take(shadow("a", "600m")), "no more than it asks for").to.equal(undefined);
  });

  it("is left to those who were admitted before a cordon and stricter rules, and to users whom nothing is enforced on", () => {
    const { room } = setup({ cordoned: true, limitsEnforcement: "Hard" });
    expect(room.take(shadow("a", "1"))).to.equal(undefined);
    const free = ShadowPodResource.build({ metadata: { name: "f", namespace: "n" }, spec: { pod: spec("64") } });
    expect(room.take(free)).to.equal(undefined);
  });

  it("may be less than what runs, once a smaller grant has come: then it is known by how much", () => {
    const { room, pods, quota } = setup();
    pods.observe(running("a", "900m"));
    pods.observe({ ...running("ended", "1"), status: { phase: "Failed" } });
    expect(room.excessOf(quota)).to.deep.equal({});
    expect(room.take(shadow("b", "100m"))).to.equal(undefined);
    const granted = (resources: Quota["spec"]["resources"]): Quota => ({
      ...quota,
      spec: { ...quota.spec, resources },
    });
    expect(room.excessOf(granted({ cpu: "250m", pods: 1 }))).to.deep.equal({ cpu: "750m", pods: "1" });
    expect(room.excessOf(granted({ memory: "1Gi" }))).to.deep.equal({ cpu: "1" });
  });

  it("ends with the grant", () => {
    expect(setup({ user: "another" }).room.take(shadow("a", "1m"))).to.contain("no Quota for user slice-1");
  });
});
