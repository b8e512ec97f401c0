import { expect } from "chai";
import type { Secret } from "kubernetes-types/core/v1";
import { copyOf, isCopy, isPullSecret, isSameCredential } from "../../../agent/controller/pull-secrets/copy.js";

const ORIGINAL: Secret = {
  metadata: {
    name: "pull",
    namespace: "liqo",
    labels: { "liqo.io/identity-type": "ControlPlane" },
    annotations: { "example.org/owner": "team" },
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "1" }],
  },
  type: "kubernetes.io/dockerconfigjson",
  data: { ".dockerconfigjson": "e30=" },
};

describe("copies of pull Secrets", () => {
  it("carry the credential and nothing else of the original", () => {
    const copy = copyOf(ORIGINAL, "liqo-tenant-b");
    expect(copy).to.deep.equal({
      metadata: {
        name: "pull",
        namespace: "liqo-tenant-b",
        labels: { "liqo.io/managed-by": "pullsecret", "app.kubernetes.io/part-of": "liqo" },
      },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": "e30=" },
    });
    expect([isCopy(copy), isCopy(ORIGINAL)]).to.deep.equal([true, false]);
  });

  it("are made of Secrets that a kubelet pulls with", () => {
    const types = [
      "kubernetes.io/dockerconfigjson",
      "kubernetes.io/dockercfg",
      "Opaque",
      "kubernetes.io/tls",
      undefined,
    ];
    expect(types.map((type) => isPullSecret({ ...ORIGINAL, type }))).to.deep.equal([true, true, false, false, false]);
  });

  it("are the same by type and data", () => {
    expect(isSameCredential(copyOf(ORIGINAL, "other"), ORIGINAL)).to.equal(true);
    expect(isSameCredential({ ...ORIGINAL, data: { ".dockerconfigjson": "e31=" } }, ORIGINAL)).to.equal(false);
    expect(isSameCredential({ ...ORIGINAL, type: "Opaque" }, ORIGINAL)).to.equal(false);
  });
});
