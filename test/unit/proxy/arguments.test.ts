import { expect } from "chai";
import { parseProxyArguments } from "../../../agent/proxy/arguments.js";
import { parseAuthority } from "../../../agent/proxy/authority.js";

describe("the proxy's arguments", () => {
  it("name the cluster's own API server by default", () => {
    const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
    expect(parseProxyArguments([], env)).to.deep.equal({ port: 8118, apiServer: { host: "10.96.0.1", port: 443 } });
    expect(parseProxyArguments([], {}).apiServer).to.deep.equal({ host: "kubernetes.default.svc", port: 443 });
    const six = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
    expect(parseProxyArguments([], six).apiServer).to.deep.equal({ host: "fd00::1", port: 443 });
  });

  it("take the configured address in every form that the installation takes", () => {
    const address = (text: string) => parseProxyArguments([`--public-address=${text}`], {}).publicAddress;
    expect(address("https://API.example:8443/path")).to.deep.equal({ host: "api.example", port: 8443 });
    expect(address("api.example")).to.deep.equal({ host: "api.example", port: 443 });
    expect(address("10.0.0.1:16443")).to.deep.equal({ host: "10.0.0.1", port: 16443 });
    expect(address("https://[fd00::1]:6443")).to.deep.equal({ host: "fd00::1", port: 6443 });
    expect(() => address("not a host")).to.throw("--public-address");
  });
});

describe("the target of a CONNECT request", () => {
  it("is host and port, nothing else", () => {
    expect(parseAuthority("Api.Example:6443")).to.deep.equal({ host: "api.example", port: 6443 });
    expect(parseAuthority("[fd00::1]:443")).to.deep.equal({ host: "fd00::1", port: 443 });
    for (const text of ["", "a", "a:", ":1", "a:0", "a:65536", "u@a:1", "a:1/x", "a b:1", "-a:1", "a%2e:1", "[a]:1x"])
      expect(parseAuthority(text), text).to.equal(undefined);
  });
});
