import { expect } from "chai";
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
    expect(spec?.template.spec).to.include({ serviceAccountName: "vn" });
  });
});

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
