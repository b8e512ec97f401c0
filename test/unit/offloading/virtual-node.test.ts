import { expect } from "chai";
import type { NodeAffinity, NodeSelectorRequirement, PodTemplateSpec } from "kubernetes-types/core/v1";
import {
  IdentityResource,
  ResourceSliceResource,
  VirtualNodeResource,
  type ResourceSlice,
  type VirtualNodeSpec,
} from "../../../agent/api/index.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import { isReadyForVirtualNode, virtualNodeOf } from "../../../agent/controller/offloading/virtual-node-creator.js";
import {
  deploymentOf,
  type VirtualKubeletInputs,
} from "../../../agent/controller/offloading/virtual-node/deployment.js";
import {
  DRAIN_DEADLINE_MS,
  drainCondition,
  drainDeadline,
} from "../../../agent/controller/offloading/virtual-node/drain-condition.js";
import { virtualKubeletTemplate } from "../../../agent/install/virtual-kubelet-template.js";
import { parseVirtualNodeArguments } from "../../../agent/virtual-node/arguments.js";

function slice(parts: Partial<ResourceSlice> = {}): ResourceSlice {
  const conditions = (["Authentication", "Resources"] as const).map((type) => ({ type, status: "Accepted" as const }));
  return ResourceSliceResource.build({
    metadata: {
      name: "p",
      namespace: "tn",
      labels: { "liqo.io/remote-cluster-id": "p" },
      annotations: { "liqo.io/create-virtual-node": "true" },
    },
    spec: {},
    status: { conditions, resources: { cpu: 4 }, nodeLabels: { zone: "z" }, nodeSelector: {} },
    ...parts,
  });
}

describe("virtual node from a slice", () => {
  it("needs a source slice that asks for one and is accepted in both ways", () => {
    expect(isReadyForVirtualNode(slice())).to.equal(true);
    const { metadata, status } = slice();
    expect(isReadyForVirtualNode(slice({ metadata: { ...metadata, annotations: {} } }))).to.equal(false);
    const copy = { ...metadata.labels, "liqo.io/replicated": "true" };
    expect(isReadyForVirtualNode(slice({ metadata: { ...metadata, labels: copy } }))).to.equal(false);
    const half = { ...status, conditions: status?.conditions?.slice(0, 1) };
    expect(isReadyForVirtualNode(slice({ status: half }))).to.equal(false);
  });

  it("carries what was granted, and no empty patch", () => {
    const identity = IdentityResource.build({
      metadata: { name: "i" },
      spec: {},
      status: { kubeconfigSecretRef: { name: "k" } },
    });
    const { spec } = virtualNodeOf(slice(), identity);
    expect(spec).to.deep.include({
      clusterID: "p",
      kubeconfigSecretRef: { name: "k" },
      resourceQuota: { hard: { cpu: 4 } },
      labels: { zone: "z", "liqo.io/remote-cluster-id": "p" },
    });
    expect(spec).not.to.have.property("offloadingPatch");
  });
});

describe("virtual node's Deployment", () => {
  const config = parseControllerArguments(["--cluster-id=home", "--image=agent:1"], {});
  const inputs = (spec: Partial<VirtualNodeSpec> = {}): VirtualKubeletInputs => ({
    virtualNode: VirtualNodeResource.build({
      metadata: { name: "vn", namespace: "tn", uid: "u" },
      spec: { clusterID: "far", kubeconfigSecretRef: { name: "k" }, ...spec },
    }),
    options: virtualKubeletTemplate(config).spec,
    config,
    localPodCIDRs: ["10.2.0.0/16", "10.1.0.0/16"],
  });

  it("does not change with what the process reads while it runs", () => {
    const changed = inputs({
      resourceQuota: { hard: { cpu: 9 } },
      labels: { a: "b" },
      taints: [{ key: "k", effect: "NoSchedule" }],
      storageClasses: [{ storageClassName: "s" }],
      offloadingPatch: { nodeSelector: { a: "b" } },
    });
    expect(deploymentOf(changed)).to.deep.equal(deploymentOf(inputs()));
  });

  it("follows the VirtualNode where it decides, the options elsewhere", () => {
    const argumentsOf = (one: VirtualKubeletInputs) => deploymentOf(one).spec?.template.spec?.containers[0]?.args ?? [];
    expect(argumentsOf(inputs())).to.include.members([
      "--create-node=true",
      "--node-check-network=true",
      "--local-podcidr=10.1.0.0/16",
    ]);
    expect(argumentsOf(inputs({ createNode: false, disableNetworkCheck: true }))).to.include.members([
      "--create-node=false",
      "--node-check-network=false",
    ]);
    const { metadata, spec } = deploymentOf(inputs());
    expect(metadata).to.include({ name: "vk-vn", namespace: "tn" });
    expect(spec?.selector.matchLabels).to.deep.equal({
      "offloading.liqo.io/component": "virtual-kubelet",
      "liqo.io/remote-cluster-id": "far",
      "liqo.io/virtual-node": "vn",
    });
    expect(spec?.template.spec).to.include({ serviceAccountName: "vk-vn" });
  });

  it("says what the options add in arguments that the process reads back", () => {
    const one = inputs();
    Object.assign(one.options, {
      metricsEnabled: true,
      labelsNotReflected: ["team"],
      nodeExtraLabels: { rack: "7" },
      nodeExtraAnnotations: { note: "a=b, c" },
      reflectorsConfig: {
        secret: { workers: 1, type: "AllowList" },
        event: { workers: 0 },
        ingress: { workers: 2, selector: { matchExpressions: [{ key: "solver", operator: "DoesNotExist" }] } },
        configmap: { workers: 3, selector: {} },
      },
      customResources: [
        {
          group: "example.com",
          version: "v1",
          kind: "Widget",
          plural: "widgets",
          workers: 1,
          type: "AllowList",
          selector: { matchLabels: { a: "b" } },
        },
      ],
    });
    const container = deploymentOf(one).spec?.template.spec?.containers[0];
    const read = parseVirtualNodeArguments(container?.args ?? [], { POD_IP: "10.0.0.1" });
    expect(read).to.deep.include({
      metricsAddress: ":5872",
      labelsNotReflected: ["team"],
      annotationsNotReflected: [],
      nodeExtraLabels: { rack: "7" },
      nodeExtraAnnotations: { note: "a=b, c" },
    });
    expect(read.reflection).to.deep.include({
      secret: { workers: 1, policy: "AllowList" },
      event: { workers: 0, policy: "DenyList" },
      ingress: { workers: 2, policy: "DenyList", selector: "!solver" },
      configmap: { workers: 3, policy: "DenyList" },
      "widgets.example.com": { workers: 1, policy: "AllowList", selector: "a=b" },
    });
    expect(read.customResources).to.deep.equal([
      { group: "example.com", version: "v1", kind: "Widget", plural: "widgets" },
    ]);
    expect(container?.ports?.map(({ containerPort }) => containerPort)).to.deep.equal([10250, 5872]);
  });

  it("takes from the VirtualNode's own template how it runs, not what it is", () => {
    const template: PodTemplateSpec = {
      metadata: { labels: { team: "a", "liqo.io/virtual-node": "other" }, annotations: { scrape: "yes" } },
      spec: {
        priorityClassName: "important",
        nodeSelector: { disk: "ssd" },
        affinity: { nodeAffinity: required({ key: "zone", operator: "In", values: ["a"] }) },
        serviceAccountName: "cluster-admin",
        containers: [
          {
            name: "virtual-kubelet",
            image: "ghcr.io/other/virtual-kubelet",
            command: ["/usr/bin/virtual-kubelet"],
            args: ["--nodename", "other", "--home-cluster-id=other", "--event-reflection-workers=1"],
            resources: { limits: { memory: "1Gi" } },
            env: [
              { name: "NODE_OPTIONS", value: "--max-old-space-size=64" },
              { name: "VIRTUALNODE_NAME", value: "other" },
            ],
          },
          { name: "sidecar", image: "tools" },
        ],
      },
    };
    const { spec } = deploymentOf(inputs({ template: { spec: { selector: {}, replicas: 9, template } } }));
    expect(spec?.replicas).to.equal(1);
    expect(spec?.template.metadata?.labels).to.include({ team: "a", "liqo.io/virtual-node": "vn" });
    const pod = spec?.template.spec;
    expect(pod).to.deep.include({
      priorityClassName: "important",
      nodeSelector: { disk: "ssd" },
      serviceAccountName: "vk-vn",
    });
    const [term] = pod?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
    expect(term?.matchExpressions?.map(({ key }) => key)).to.deep.equal(["zone", "liqo.io/type"]);
    const [process, sidecar] = pod?.containers ?? [];
    expect(sidecar?.name).to.equal("sidecar");
    expect(process).to.include({ image: "agent:1" }).and.not.have.property("command");
    expect(process?.resources).to.deep.equal({ limits: { memory: "1Gi" } });
    expect(process?.env?.find(({ name }) => name === "VIRTUALNODE_NAME")?.value).to.equal("vn");
    const read = parseVirtualNodeArguments(process?.args ?? [], { POD_IP: "10.0.0.1" });
    expect(read).to.include({ nodeName: "vn", homeClusterId: "home" });
    expect(read.reflection["event"]?.workers).to.equal(1);
  });
});

function required(...matchExpressions: NodeSelectorRequirement[]): NodeAffinity {
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } };
}

describe("drain condition", () => {
  it("names who is waited for, who is held and until when, counted from the drain's start", () => {
    const virtualNode = VirtualNodeResource.build({
      metadata: {},
      spec: {},
      status: { conditions: [{ type: "Node", status: "Draining", lastTransitionTime: "2026-01-01T00:00:00Z" }] },
    });
    const deadline = drainDeadline(virtualNode);
    expect(deadline.getTime()).to.equal(Date.parse("2026-01-01T00:00:00Z") + DRAIN_DEADLINE_MS);
    const { message, reason } = drainCondition({ remaining: ["a/b", "a/c"], blocked: ["a/c"] }, deadline);
    expect(reason).to.equal("EvictionBlocked");
    expect(message).to.equal(
      "waiting for 2 pods to leave: a/b, a/c; held by a PodDisruptionBudget: a/c; those left at 2026-01-01T00:05:00Z are deleted",
    );
  });
});
