import { expect } from "chai";
import { VkOptionsTemplateResource } from "../../../agent/api/index.js";
import { VkOptionsTemplateDefinition } from "../../../agent/api/offloading.js";

const parse = (customResources: unknown): unknown =>
  VkOptionsTemplateDefinition.parse({
    apiVersion: VkOptionsTemplateResource.apiVersion,
    kind: VkOptionsTemplateResource.kind,
    metadata: { name: "t", namespace: "liqo" },
    spec: { createNode: true, disableNetworkCheck: false, containerImage: "", metricsEnabled: false, customResources },
  });

describe("custom resources to be reflected", () => {
  const widgets = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets" };

  it("are of a group with a domain of somebody's own", () => {
    parse([widgets, { ...widgets, group: "cluster.x-k8s.io", workers: 1, type: "AllowList", selector: {} }]);
    for (const group of [
      "",
      "apps",
      "batch",
      "rbac.authorization.k8s.io",
      "offloading.liqo.io",
      "liqo.io",
      "k8s.io",
      "Bad.io",
    ])
      expect(() => parse([widgets, { ...widgets, group }]), group).to.throw(
        "VkOptionsTemplate liqo/t is not valid: spec.customResources[1].group: must be a custom resource's group",
      );
  });

  it("are named once, and completely", () => {
    expect(() => parse([widgets, { ...widgets, version: "v2" }])).to.throw(
      "spec.customResources[1]: widgets.example.com is there twice",
    );
    expect(() => parse([{ ...widgets, plural: "wid.gets" }])).to.throw("spec.customResources[0].plural: ");
    expect(() => parse([{ ...widgets, kind: undefined }])).to.throw("spec.customResources[0].kind: ");
  });
});
