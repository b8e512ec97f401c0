import { expect } from "chai";
import { COMPONENTS, componentOf } from "../../clusters/components/catalog.js";
import { compareVersions, pinnedVersion, pinnedVersions } from "../../clusters/components/versions.js";

describe("test clusters: components", () => {
  it("reads direct requirements and passes over indirect ones", () => {
    const versions = pinnedVersions(
      "module m\n\nrequire (\n\texample.org/a v1.2.3\n\texample.org/b v0.1.0 // indirect\n)\nrequire example.org/c v2.0.0\n",
    );
    expect([...versions]).to.deep.equal([
      ["example.org/a", "v1.2.3"],
      ["example.org/c", "v2.0.0"],
    ]);
  });

  it("finds every component's version in go.mod", () => {
    for (const component of COMPONENTS) expect(pinnedVersion(component.module)).to.match(/^v\d+\.\d+\.\d+/);
  });

  it("orders versions by their numbers", () => {
    expect(compareVersions("v3.190.0", "v3.99.1")).to.be.greaterThan(0);
    expect(compareVersions("v3.190.0-alpha.1", "v3.190.0")).to.equal(0);
    expect(compareVersions("3.189.9", "v3.190.0")).to.be.lessThan(0);
  });

  it("names only the projects' own release hosts, over TLS, and checksums beside the files", () => {
    const hosts = new Set<string>();
    for (const component of COMPONENTS) {
      for (const program of Object.keys(component.programs)) {
        const release = component.release?.("v1.2.3", "amd64", program);
        for (const url of release ? [release.url, release.checksums] : []) {
          expect(url)
            .to.match(/^https:\/\//)
            .and.to.contain("1.2.3");
          hosts.add(new URL(url).host);
        }
      }
    }
    expect([...hosts].sort()).to.deep.equal(["dl.k8s.io", "get.helm.sh", "get.pulumi.com", "github.com"]);
  });

  it("knows which component a program is of", () => {
    expect(componentOf("kubelet").name).to.equal("kubernetes");
    expect(componentOf("pulumi-language-yaml").name).to.equal("pulumi");
    expect(() => componentOf("nope")).to.throw("nope");
  });
});
