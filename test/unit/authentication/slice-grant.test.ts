import { expect } from "chai";
import {
  ResourceSliceResource,
  TenantResource,
  type ResourceSliceStatus,
  type TenantSpec,
} from "../../../agent/api/index.js";
import { answerResources, withSliceCondition } from "../../../agent/controller/authentication/slice-grant.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";

const CONFIG = {
  ...parseControllerArguments(["--cluster-id=p"], {}),
  ingressClasses: ["nginx;default", "traefik"],
  loadBalancerClasses: ["first", "second"],
  clusterLabels: { zone: "z" },
};
const CLASSES = [
  { metadata: { name: "b", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } }, provisioner: "x" },
  { metadata: { name: "a" }, provisioner: "x" },
];

function slice(spec: object): ReturnType<typeof ResourceSliceResource.build> {
  return ResourceSliceResource.build({ metadata: { name: "s" }, spec });
}

function answer(
  spec: object,
  tenant: TenantSpec["tenantCondition"],
  status: ResourceSliceStatus = {},
): ResourceSliceStatus {
  const owner = TenantResource.build({
    metadata: {},
    spec: { clusterID: "c", authzPolicy: "KeysExchange", tenantCondition: tenant },
  });
  return answerResources(status, slice(spec), owner, CONFIG, CLASSES);
}

describe("the built-in slice class", () => {
  it("grants what is asked for and defaults for the rest, with this cluster's classes and labels", () => {
    const status = answer({ resources: { cpu: 20, "example.com/gpu": "2" } }, "Active");
    expect(status.resources).to.deep.equal({
      cpu: 20,
      memory: "8Gi",
      pods: "110",
      "ephemeral-storage": "20Gi",
      "example.com/gpu": "2",
    });
    expect(status.storageClasses).to.deep.equal([{ storageClassName: "a" }, { storageClassName: "b", default: true }]);
    expect(status.ingressClasses).to.deep.equal([
      { ingressClassName: "nginx", default: true },
      { ingressClassName: "traefik" },
    ]);
    expect(status.loadBalancerClasses?.[0]).to.deep.equal({ loadBalancerClassName: "first", default: true });
    expect(status.nodeLabels).to.deep.equal({ zone: "z" });
    expect(status.conditions?.[0]).to.include({
      type: "Resources",
      status: "Accepted",
      reason: "ResourceSliceResourcesAccepted",
    });
  });

  it("computes anew: what is no longer asked for goes", () => {
    const before = answer({ resources: { "example.com/gpu": "2" } }, "Active");
    expect(answer({ resources: {} }, "Active", before).resources).not.to.have.property("example.com/gpu");
  });

  it("leaves other classes to their controllers", () => {
    expect(answer({ class: "special" }, "Active")).to.deep.equal({});
  });

  it("denies new slices of a cordoned tenant and keeps accepted ones", () => {
    expect(answer({}, "Cordoned").conditions?.[0]?.status).to.equal("Denied");
    const accepted = answer({}, "Active");
    expect(answer({ resources: { cpu: "9" } }, "Cordoned", accepted)).to.equal(accepted);
  });

  it("denies every slice of a drained tenant, of whatever class", () => {
    expect(answer({ class: "special" }, "Drained", answer({}, "Active")).conditions?.[0]?.status).to.equal("Denied");
  });
});

describe("slice conditions", () => {
  it("move their time when status, reason or message changes, and only then", () => {
    const at = "2020-01-01T00:00:00Z";
    const value = { type: "Resources" as const, accepted: false, message: "one" };
    const first = withSliceCondition({}, value);
    const old = { conditions: first.conditions?.map((condition) => ({ ...condition, lastTransitionTime: at })) };
    expect(withSliceCondition(old, value).conditions?.[0]?.lastTransitionTime).to.equal(at);
    expect(withSliceCondition(old, { ...value, message: "two" }).conditions?.[0]?.lastTransitionTime).not.to.equal(at);
  });
});
