import { expect } from "chai";
import type { HTTPIngressPath, Ingress } from "kubernetes-types/networking/v1";
import { readyEndpoints } from "../../support/ingress-controller/endpoints.js";
import { routeOf } from "../../support/ingress-controller/rules.js";

describe("the test clusters' ingress controller", () => {
  const to = (name: string): { service: { name: string; port: { number: number } } } => ({
    service: { name, port: { number: 80 } },
  });
  const path = (name: string, prefix: string, pathType = "Prefix"): HTTPIngressPath => ({
    path: prefix,
    pathType,
    backend: to(name),
  });
  const ingress = (host: string | undefined, ...paths: HTTPIngressPath[]): Ingress => ({
    metadata: { namespace: "shop" },
    spec: { rules: [{ ...(host ? { host } : {}), http: { paths } }] },
  });
  const routed = (ingresses: Ingress[], host: string, asked: string): string | undefined =>
    routeOf(ingresses, host, asked)?.backend.service?.name;

  it("goes by host and path, the whole path before its beginnings", () => {
    const all = [ingress("a", path("any", "/"), path("deep", "/x/y"), path("one", "/x/y/", "Exact")), ingress("b")];
    expect(routed(all, "a", "/")).to.equal("any");
    expect(routed(all, "a", "/x/yes")).to.equal("any");
    expect(routed(all, "a", "/x/y/z")).to.equal("deep");
    expect(routed(all, "a", "/x/y/")).to.equal("one");
    expect(routed(all, "b", "/")).to.equal(undefined);
    expect(routed([ingress(undefined, path("any", "/"))], "c", "/")).to.equal("any");
    expect(routed([...all, { spec: { defaultBackend: to("rest") } }], "b", "/")).to.equal("rest");
  });

  it("leads to the ready endpoints of the named port, by the slices' own numbers", () => {
    const service = {
      spec: {
        ports: [
          { name: "http", port: 80 },
          { name: "other", port: 81 },
        ],
      },
    };
    const slice = (address: string, ready: boolean | undefined, port: number): never =>
      ({
        addressType: "IPv4",
        endpoints: [{ addresses: [address], conditions: { ready } }],
        ports: [{ name: "http", port }],
      }) as never;
    const slices = [slice("10.0.0.1", true, 8080), slice("10.0.0.2", false, 8080), slice("10.0.0.3", undefined, 8081)];
    const expected = [
      { address: "10.0.0.1", port: 8080 },
      { address: "10.0.0.3", port: 8081 },
    ];
    expect(readyEndpoints(service, slices, { name: "http" })).to.deep.equal(expected);
    expect(readyEndpoints(service, slices, { number: 80 })).to.deep.equal(expected);
    expect(readyEndpoints(service, slices, { number: 81 })).to.deep.equal([]);
    expect(readyEndpoints(undefined, slices, { name: "http" })).to.deep.equal([]);
  });
});
