import { expect } from "chai";
import { VirtualNodeResource, VkOptionsTemplateResource, type VkOptionsTemplate } from "../../../agent/api/index.js";
import { VkOptionsTemplateDefinition } from "../../../agent/api/offloading.js";
import { labelSelectorText } from "../../../agent/controller/offloading/virtual-node/label-selector-text.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import { optionsOf, WrongOptionsError } from "../../../agent/controller/offloading/virtual-node/options.js";
import { virtualKubeletTemplate } from "../../../agent/install/virtual-kubelet-template.js";
import type { Informer } from "../../../agent/runtime/index.js";

describe("selectors of what is reflected", () => {
  it("are written as kubectl does, always in the same order", () => {
    const text = labelSelectorText({
      matchLabels: { tier: "front", app: "shop", "example.com/empty": "" },
      matchExpressions: [
        { key: "color", operator: "In", values: ["red", "blue"] },
        { key: "size", operator: "NotIn", values: ["xl"] },
        { key: "owner", operator: "Exists" },
        { key: "acme.cert-manager.io/http01-solver", operator: "DoesNotExist" },
      ],
    });
    expect(text).to.equal(
      "app=shop,example.com/empty=,tier=front,color in (red,blue),size notin (xl),owner,!acme.cert-manager.io/http01-solver",
    );
    expect(labelSelectorText({})).to.equal("");
  });

  it("are refused with the path of what is wrong", () => {
    const parse = (reflectorsConfig: unknown): unknown =>
      VkOptionsTemplateDefinition.parse({
        apiVersion: VkOptionsTemplateResource.apiVersion,
        kind: VkOptionsTemplateResource.kind,
        metadata: { name: "t", namespace: "liqo" },
        spec: {
          createNode: true,
          disableNetworkCheck: false,
          containerImage: "",
          metricsEnabled: false,
          reflectorsConfig,
        },
      });
    const selecting = (selector: unknown): unknown => parse({ ingress: { workers: 1, selector } });
    const requirement = (one: unknown): unknown => selecting({ matchExpressions: [one] });
    const where = "spec.reflectorsConfig.ingress.selector";
    selecting({ matchLabels: { "example.com/a": "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] });
    expect(() => requirement({ key: "a", operator: "Gt", values: ["1"] })).to.throw(
      `${where}.matchExpressions[0].operator: `,
    );
    expect(() => requirement({ key: "a", operator: "In" })).to.throw(`${where}.matchExpressions[0].values: values are`);
    expect(() => requirement({ key: "a", operator: "Exists", values: ["b"] })).to.throw(
      `${where}.matchExpressions[0].values: values are`,
    );
    expect(() => requirement({ key: "a b", operator: "Exists" })).to.throw(`${where}.matchExpressions[0].key: must be`);
    expect(() => selecting({ matchLabels: { a: "b,c" } })).to.throw(`${where}.matchLabels.a: must be`);
    expect(() => selecting({ matchLabels: { "!a": "b" } })).to.throw(`${where}.matchLabels["!a"]: `);
    expect(() => parse({ event: { workers: 1, selector: {} } })).to.throw(
      "spec.reflectorsConfig.event.selector: a selector is for service, ingress, configmap, secret only",
    );
  });

  it("start no process with a key that the API server could not check", () => {
    const config = parseControllerArguments(["--cluster-id=home", "--image=agent:1"], {});
    const template = virtualKubeletTemplate(config);
    template.spec.reflectorsConfig = { ingress: { workers: 1, selector: { matchLabels: { "a,b": "c" } } } };
    const templates = { find: () => template } as unknown as Informer<VkOptionsTemplate>;
    const virtualNode = VirtualNodeResource.build({ metadata: { name: "vn", namespace: "tn" }, spec: {} });
    expect(() => optionsOf(virtualNode, templates, config)).to.throw(
      WrongOptionsError,
      'virtual-kubelet-default: spec.reflectorsConfig.ingress.selector.matchLabels: "a,b" is not a label\'s key',
    );
    const widgets = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets" };
    const selector = { matchLabels: { "": "c" } };
    Object.assign(template.spec, { reflectorsConfig: {}, customResources: [{ ...widgets, selector }] });
    expect(() => optionsOf(virtualNode, templates, config)).to.throw(
      WrongOptionsError,
      'spec.customResources[0].selector.matchLabels: "" is not a label\'s key',
    );
  });
});
