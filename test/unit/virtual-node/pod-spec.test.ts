import { expect } from "chai";
import type { PersistentVolumeClaim, Pod, PodSpec, Volume } from "kubernetes-types/core/v1";
import { Annotations } from "../../../agent/api/index.js";
import type { KubeClient } from "../../../agent/runtime/index.js";
import { meansOtherNode, notCarried } from "../../../agent/virtual-node/pods/not-carried.js";
import { podProblems } from "../../../agent/virtual-node/pods/pod-problems.js";
import { remotePodSpec, type PodSpecOptions } from "../../../agent/virtual-node/pods/pod-spec.js";
import { virtualClaimsOf } from "../../../agent/virtual-node/pods/pod-volumes.js";
import { remoteRootCaName } from "../../../agent/virtual-node/reflection/root-ca.js";
import { tokenKey } from "../../../agent/virtual-node/service-accounts/api-access.js";

const container = { name: "main", image: "web" };
const options: PodSpecOptions = {
  patch: {},
  apiAccess: "token",
  rootCaName: "kube-root-ca.crt.consu",
  labels: { app: "a", "pod-template-hash": "h", tier: "t" },
};
const pod = (spec: Partial<PodSpec>, annotations: Record<string, string> = {}): Pod => ({
  metadata: { name: "web", namespace: "shop", annotations },
  spec: { containers: [container], ...spec },
});
const projected = {
  name: "api",
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", audience: "vault" } },
      { configMap: { name: "kube-root-ca.crt" } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
};

describe("spec of the remote pod", () => {
  it("drops what speaks of the consumer's nodes and forces isolation", () => {
    const spec = remotePodSpec(
      pod({
        nodeName: "p",
        nodeSelector: { a: "b" },
        affinity: { podAffinity: {} },
        schedulerName: "s",
        priority: 5,
        priorityClassName: "high",
        overhead: { cpu: "1" },
        hostNetwork: true,
        hostPID: true,
        runtimeClassName: "liqo",
        serviceAccountName: "robot",
        terminationGracePeriodSeconds: 7,
        tolerations: [{ key: "virtual-node.liqo.io/not-allowed", operator: "Exists" }, { key: "x" }],
      }),
      options,
    );
    expect(spec).to.deep.equal({
      containers: [container],
      terminationGracePeriodSeconds: 7,
      tolerations: [{ key: "x" }],
      automountServiceAccountToken: false,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
    });
  });

  it("applies the offloading patch and the runtime class of the annotation, the pod, the patch in this order", () => {
    const patch = {
      nodeSelector: { pool: "c" },
      tolerations: [{ key: "c" }],
      runtimeClassName: "patch",
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    };
    const spec = remotePodSpec(pod({ runtimeClassName: "liqo" }), { ...options, patch });
    expect(spec).to.deep.include({
      nodeSelector: { pool: "c" },
      tolerations: [{ key: "c" }],
      runtimeClassName: "patch",
    });
    expect(spec.affinity).to.deep.equal(patch.affinity);
    expect(remotePodSpec(pod({ runtimeClassName: "own" }), { ...options, patch }).runtimeClassName).to.equal("own");
    const annotated = pod({ runtimeClassName: "own" }, { [Annotations.remoteRuntimeClassName]: "other" });
    expect(remotePodSpec(annotated, { ...options, patch }).runtimeClassName).to.equal("other");
  });

  it("spreads replicas as the annotation asks", () => {
    const soft = remotePodSpec(pod({}, { [Annotations.antiAffinityPreset]: "soft" }), options).affinity
      ?.podAntiAffinity;
    const term = soft?.preferredDuringSchedulingIgnoredDuringExecution?.[0];
    expect(term?.weight).to.equal(1);
    expect(term?.podAffinityTerm.labelSelector?.matchLabels).to.deep.equal({ app: "a", tier: "t" });
    const annotations = { [Annotations.antiAffinityPreset]: "hard", [Annotations.antiAffinityLabels]: "tier" };
    const hard = remotePodSpec(pod({}, annotations), options).affinity?.podAntiAffinity;
    expect(hard?.requiredDuringSchedulingIgnoredDuringExecution?.[0]?.labelSelector?.matchLabels).to.deep.equal({
      tier: "t",
    });
  });

  it("names a label key once, where the consumer has merged it into the selector", () => {
    const hash = "pod-template-hash";
    const merged = { matchLabels: { app: "a" }, matchExpressions: [{ key: hash, operator: "In", values: ["h"] }] };
    const term = { topologyKey: "zone", labelSelector: merged };
    const tenant = { key: "tenant", operator: "NotIn", values: ["t"] };
    const topologySpreadConstraints = [
      { maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", ...term, matchLabelKeys: [hash] },
      { maxSkew: 2, whenUnsatisfiable: "DoNotSchedule", ...term, matchLabelKeys: [hash, "absent"] },
      { maxSkew: 3, whenUnsatisfiable: "DoNotSchedule", topologyKey: "zone", matchLabelKeys: [hash] },
    ];
    const podAntiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, matchLabelKeys: [hash], mismatchLabelKeys: ["x"] }],
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 3,
          podAffinityTerm: {
            topologyKey: "zone",
            labelSelector: { matchExpressions: [tenant] },
            mismatchLabelKeys: ["tenant"],
          },
        },
      ],
    };
    const asking = pod(
      { topologySpreadConstraints, affinity: { podAntiAffinity } },
      { [Annotations.antiAffinityPreset]: "propagate" },
    );
    const before = structuredClone(asking);
    const spec = remotePodSpec(asking, options);
    expect(spec.topologySpreadConstraints).to.deep.equal([
      { maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", ...term },
      { maxSkew: 2, whenUnsatisfiable: "DoNotSchedule", ...term, matchLabelKeys: ["absent"] },
      topologySpreadConstraints[2],
    ]);
    expect(spec.affinity?.podAntiAffinity).to.deep.equal({
      requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, mismatchLabelKeys: ["x"] }],
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 3, podAffinityTerm: { topologyKey: "zone", labelSelector: { matchExpressions: [tenant] } } },
      ],
    });
    expect(asking).to.deep.equal(before);
  });

  it("uses the reflected claims of ephemeral volumes, and leaves those of other classes to the provider", async () => {
    const ephemeral = (name: string, storageClassName?: string): Volume => ({
      name,
      ephemeral: { volumeClaimTemplate: { spec: { storageClassName, accessModes: ["ReadWriteOnce"] } } },
    });
    const claimed = (name: string): Volume => ({ name, persistentVolumeClaim: { claimName: `web-${name}` } });
    const names = ["default", "renamed", "theirs", "others", "absent"];
    const volumes = [ephemeral("scratch", "liqo"), ...names.map((name) => ephemeral(name))];
    const claim = (provisioner: string, uid: string): PersistentVolumeClaim => ({
      metadata: {
        annotations: { "volume.kubernetes.io/storage-provisioner": provisioner },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid, controller: true }],
      },
    });
    const claims: Record<string, PersistentVolumeClaim> = {
      "web-default": claim("liqo.io/storage", "u"),
      "web-renamed": claim("liqo.io/storage", "u"),
      "web-theirs": claim("example.com/disks", "u"),
      // Of a pod before this one, or made by somebody.
      "web-others": claim("liqo.io/storage", "v"),
    };
    const asked: string[] = [];
    const local = {
      get: (_type: unknown, { name, namespace }: { name: string; namespace: string }) => {
        asked.push(`${namespace}/${name}`);
        return Promise.resolve(claims[name]);
      },
    } as unknown as KubeClient;
    const { spec, metadata } = pod({ volumes });
    const asking: Pod = { spec, metadata: { ...metadata, uid: "u" } };
    const virtualClaims = await virtualClaimsOf(asking, local);
    expect(asked).to.deep.equal(names.map((name) => `shop/web-${name}`));
    const wanted = [claimed("scratch"), claimed("default"), claimed("renamed"), ...volumes.slice(3)];
    for (const apiAccess of ["token", "remote"] as const)
      expect(remotePodSpec(asking, { ...options, apiAccess, virtualClaims }).volumes).to.deep.equal(wanted);
  });

  it("takes tokens from a Secret and the CA from the renamed ConfigMap", () => {
    const spec = remotePodSpec(
      pod({ volumes: [projected, { name: "ca", configMap: { name: "kube-root-ca.crt" } }] }),
      options,
    );
    const items = [{ key: tokenKey("api", "token"), path: "token" }];
    expect(spec.volumes?.[0]?.projected?.sources).to.deep.equal([
      { secret: { name: "web-token", items } },
      { configMap: { name: "kube-root-ca.crt.consu" } },
      // Beside a token it says where that token is of.
      {
        downwardAPI: {
          items: [
            {
              path: "namespace",
              fieldRef: { fieldPath: "metadata.annotations['offloading.liqo.io/local-pod-namespace']" },
            },
          ],
        },
      },
    ]);
    expect(spec.volumes?.[1]?.configMap?.name).to.equal("kube-root-ca.crt.consu");
    // SHA-256 of "token" begins 3c469e.
    expect(tokenKey("api", "token")).to.equal("api-3c469e");
  });

  it("leads variables that come from the CA to the renamed ConfigMap, and no others", () => {
    const from = (name: string) => ({ name: "CA", valueFrom: { configMapKeyRef: { name, key: "ca.crt" } } });
    const all = (name: string) => ({ prefix: "P_", configMapRef: { name } });
    const spec = remotePodSpec(
      pod({
        containers: [
          {
            ...container,
            env: [from("kube-root-ca.crt"), from("own")],
            envFrom: [all("kube-root-ca.crt"), all("own")],
          },
        ],
      }),
      options,
    );
    expect(spec.containers[0]?.env).to.deep.equal([from("kube-root-ca.crt.consu"), from("own")]);
    expect(spec.containers[0]?.envFrom).to.deep.equal([all("kube-root-ca.crt.consu"), all("own")]);
  });

  it("removes tokens where access is disabled, and changes nothing where it is the provider's", () => {
    const disabled = remotePodSpec(pod({ volumes: [projected] }), { ...options, apiAccess: "disabled" });
    expect(disabled.volumes?.[0]?.projected?.sources).to.deep.equal([
      { configMap: { name: "kube-root-ca.crt.consu" } },
      projected.projected.sources[2],
    ]);
    const remote = remotePodSpec(pod({ volumes: [projected], serviceAccountName: "robot" }), {
      ...options,
      apiAccess: "remote",
    });
    expect(remote).to.deep.include({
      volumes: [projected],
      serviceAccountName: "robot",
      automountServiceAccountToken: true,
    });
  });

  it("leads to the consumer's API server only where there is a way", () => {
    const apiServer = { addresses: ["10.70.0.7"], port: 6443 };
    const own = { ...container, env: [{ name: "KUBERNETES_SERVICE_HOST", value: "mine" }] };
    const spec = remotePodSpec(pod({ containers: [own], initContainers: [container] }), { ...options, apiServer });
    expect(spec.hostAliases).to.deep.equal([
      { ip: "10.70.0.7", hostnames: ["kubernetes.default", "kubernetes.default.svc"] },
    ]);
    for (const { env = [] } of [...spec.containers, ...(spec.initContainers ?? [])]) {
      const values = Object.fromEntries(env.map(({ name, value }) => [name, value]));
      expect(values).to.include({
        KUBERNETES_SERVICE_HOST: "kubernetes.default",
        KUBERNETES_SERVICE_PORT: "6443",
        KUBERNETES_SERVICE_PORT_HTTPS: "6443",
        KUBERNETES_PORT: "tcp://kubernetes.default:6443",
        KUBERNETES_PORT_6443_TCP_ADDR: "kubernetes.default",
      });
    }
    expect(remotePodSpec(pod({}), options).containers[0]).to.not.have.property("env");
  });

  it("resolves the account's name, which the remote pod does not have", () => {
    const env = [{ name: "SA", valueFrom: { fieldRef: { fieldPath: "spec.serviceAccountName" } } }];
    const spec = remotePodSpec(pod({ serviceAccountName: "robot", containers: [{ ...container, env }] }), options);
    expect(spec.containers[0]?.env).to.deep.equal([{ name: "SA", value: "robot" }]);
  });

  it("names the CA by the first five characters of the cluster's ID", () => {
    expect(remoteRootCaName("consumer")).to.equal("kube-root-ca.crt.consu");
    expect(remoteRootCaName("aaaa-b")).to.equal("kube-root-ca.crt.aaaa-a");
    expect(remoteRootCaName("c")).to.equal("kube-root-ca.crt.c");
  });
});

describe("what is wrong with a pod that is to be offloaded", () => {
  const long = "p".repeat(250);
  const problemsOf = (annotations: Record<string, string>, name = "p", spec: Partial<PodSpec> = {}): string[] =>
    podProblems({ metadata: { name, annotations }, spec: { containers: [container], ...spec } }, true);

  it("is nothing with the words that annotations take", () => {
    const good = { [Annotations.antiAffinityPreset]: "soft", [Annotations.apiServerSupport]: "remote" };
    expect(problemsOf({ ...good, [Annotations.remoteRuntimeClassName]: "kata.v2" })).to.deep.equal([]);
    expect(problemsOf({ [Annotations.antiAffinityPreset]: "" })).to.deep.equal([]);
    expect(problemsOf({}, long)).to.deep.equal([]);
  });

  it("is named by its path", () => {
    expect(problemsOf({ [Annotations.antiAffinityPreset]: "Hard" })).to.deep.equal([
      'metadata.annotations[liqo.io/anti-affinity-preset]: "Hard" is none of soft, hard, propagate',
    ]);
    expect(problemsOf({ [Annotations.remoteServiceAccountName]: "my account" })[0]).to.contain(
      "metadata.annotations[liqo.io/remote-service-account-name]",
    );
    const tooLong = problemsOf({}, long, { volumes: [projected] });
    expect(tooLong[0]).to.match(/^metadata\.name: .* 256 characters/);
    expect(problemsOf({ [Annotations.apiServerSupport]: "disabled" }, long, { volumes: [projected] })).to.be.empty;
  });
});

describe("what a pod asks for and does not get at the provider", () => {
  const asking = (spec: Partial<PodSpec>, annotations: Record<string, string> = {}): Pod => ({
    metadata: { name: "p", annotations },
    spec: { containers: [{ name: "main" }], schedulerName: "default-scheduler", hostNetwork: false, ...spec },
  });

  it("is nothing for an ordinary pod, whatever has led it to the virtual node", () => {
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } };
    const pod = asking({ nodeSelector: { a: "b" }, affinity: { nodeAffinity }, priorityClassName: "" });
    expect(notCarried(pod)).to.deep.equal([]);
  });

  it("is another where the provider's node is meant", () => {
    const container = {
      name: "main",
      securityContext: { privileged: true },
      ports: [{ containerPort: 1, hostPort: 1 }],
    };
    const pod = asking({ volumes: [{ name: "logs", hostPath: { path: "/var/log" } }], containers: [container] });
    expect(meansOtherNode(pod)).to.deep.equal([
      "spec.volumes[logs].hostPath /var/log",
      "spec.containers[main].securityContext.privileged",
      "spec.containers[main].ports.hostPort",
    ]);
    expect(notCarried(pod)).to.be.empty;
    expect(meansOtherNode(asking({}))).to.be.empty;
  });

  it("is named by its field", () => {
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [] };
    const pod = asking({ hostNetwork: true, priorityClassName: "high", affinity: { podAntiAffinity } });
    expect(notCarried(pod)).to.deep.equal([
      "spec.hostNetwork",
      "spec.priorityClassName",
      "spec.affinity.podAntiAffinity (see liqo.io/anti-affinity-preset)",
    ]);
    expect(notCarried(asking({ affinity: { podAntiAffinity } }, { "liqo.io/anti-affinity-preset": "hard" }))).to.be
      .empty;
  });
});
