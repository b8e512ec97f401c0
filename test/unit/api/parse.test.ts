import { expect } from "chai";
import { ResourceSliceDefinition, TenantDefinition } from "../../../agent/api/authentication.js";
import { ForeignClusterDefinition } from "../../../agent/api/core.js";
import {
  ConfigurationResource,
  ForeignClusterResource,
  isClusterID,
  normalizeCidrs,
  TenantResource,
} from "../../../agent/api/index.js";
import { ConfigurationDefinition } from "../../../agent/api/networking-configuration.js";

const slice = (parts: Record<string, unknown>) => ({
  apiVersion: "authentication.liqo.io/v1beta1",
  kind: "ResourceSlice",
  metadata: { name: "s", namespace: "ns" },
  ...parts,
});

describe("parsing of custom resources", () => {
  it("keeps fields it does not know, and takes null as absent", () => {
    const parsed = ResourceSliceDefinition.parse(
      slice({
        metadata: { name: "s", namespace: "ns", creationTimestamp: null, labels: { a: "b" } },
        spec: { class: null, resources: { cpu: 20, memory: "8Gi" }, newField: { a: 1 } },
        status: null,
      }),
    );
    expect(parsed).to.deep.equal(
      slice({
        metadata: { name: "s", namespace: "ns", labels: { a: "b" } },
        spec: { resources: { cpu: 20, memory: "8Gi" }, newField: { a: 1 } },
      }),
    );
  });

  it("gives an absent spec as an empty one where nothing in it is required", () => {
    const { apiVersion, kind } = TenantResource;
    expect(TenantDefinition.parse({ apiVersion, kind, metadata: { name: "t" } }).spec).to.deep.equal({});
  });

  it("names kind, object and the path of every wrong property", () => {
    const wrong = slice({ spec: { class: 1, resources: { "nvidia.com/gpu": "many" } }, status: { conditions: [{}] } });
    expect(() => ResourceSliceDefinition.parse(wrong))
      .to.throw("ResourceSlice ns/s is not valid: ")
      .with.property("message")
      .that.includes("spec.class: ")
      .and.includes('spec.resources["nvidia.com/gpu"]: must be a quantity')
      .and.includes("status.conditions[0].type: ");
    const { apiVersion, kind } = ForeignClusterResource;
    expect(() => ForeignClusterDefinition.parse({ apiVersion, kind, metadata: { name: "f" } })).to.throw(
      "ForeignCluster f is not valid: spec: ",
    );
    expect(() => ForeignClusterDefinition.parse(slice({ spec: {} }))).to.throw(
      "ForeignCluster ns/s is not valid: apiVersion: ",
    );
    expect(() => ForeignClusterDefinition.parse(undefined)).to.throw(
      "ForeignCluster (without name) is not valid: (the object): ",
    );
  });

  it("normalises ranges to lists", () => {
    const { apiVersion, kind } = ConfigurationResource;
    const parse = (pod: unknown) =>
      ConfigurationDefinition.parse({ apiVersion, kind, metadata: { name: "c" }, spec: { remote: { cidr: { pod } } } });
    expect(parse("10.0.0.0/16").spec.remote?.cidr?.pod).to.deep.equal(["10.0.0.0/16"]);
    expect(parse(["10.0.0.0/16", "10.1.0.0/16"]).spec.remote?.cidr?.pod).to.have.length(2);
    expect(() => parse("10.0.0.0/99")).to.throw(
      "Configuration c is not valid: spec.remote.cidr.pod: must hold IPv4 ranges",
    );
    expect(() => parse(5)).to.throw("spec.remote.cidr.pod: must be a list of IPv4 ranges");
    expect(normalizeCidrs(undefined)).to.deep.equal([]);
    expect(normalizeCidrs("")).to.deep.equal([]);
  });

  it("checks cluster IDs", () => {
    for (const id of ["a", "consumer", "0b1-c", "a".repeat(51)]) expect(isClusterID(id), id).to.equal(true);
    for (const id of ["", "-a", "a-", "A", "a.b", "a_b", "a".repeat(52)]) expect(isClusterID(id), id).to.equal(false);
  });
});
