import { expect } from "chai";
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import { claimsDiffer } from "../../soak/claims-agreement.js";
import { endpointsDiffer } from "../../soak/endpoints-agreement.js";

describe("a soak's comparison", () => {
  describe("of EndpointSlices", () => {
    const slice = (
      name: string,
      endpoints: EndpointSlice["endpoints"],
      labels: Record<string, string> = {},
    ): EndpointSlice => ({
      metadata: { name, labels: { "kubernetes.io/service-name": "web", ...labels } },
      addressType: "IPv4",
      endpoints,
      ports: [{ port: 8080 }],
    });
    const copy = { "liqo.io/managed-by": "shadowendpointslice" };
    const pod = (name: string, ready = true): EndpointSlice["endpoints"][number] => ({
      ...{ addresses: [`of ${name}`], targetRef: { kind: "Pod", name }, conditions: { ready } },
    });
    const address = (ip: string): EndpointSlice["endpoints"][number] => ({ addresses: [ip] });
    const there = (ip: string): string => ip.replace("10.1.", "10.2.");
    const here = [slice("web-a", [pod("one")]), slice("own", [address("10.1.0.7")])];

    it("goes by pods' names and by addresses as the provider calls them, in whichever slice they are", () => {
      const remote = [
        slice("web-b", [pod("one")]),
        slice("web-a", [], copy),
        slice("own", [address("10.2.0.7")], copy),
      ];
      expect(endpointsDiffer(here, remote, there)).to.deep.equal([]);
    });

    it("tells of other endpoints, of other readiness, and of slices without their copy", () => {
      const remote = [slice("web-b", [pod("one", false)]), slice("own", [address("10.1.0.7")], copy)];
      const findings = endpointsDiffer(here, [...remote, slice("left", [], copy)], there);
      expect(findings).to.deep.equal([
        "Service web leads to 10.2.0.7 port 8080, one port 8080 here and to 10.1.0.7 port 8080, one (not ready) port 8080 there",
        "EndpointSlice web-a is not there",
        "EndpointSlice left is only there",
      ]);
    });
  });

  describe("of claims", () => {
    const claim = (name: string, change: Partial<PersistentVolumeClaim["metadata"]> = {}): PersistentVolumeClaim => ({
      metadata: { name, uid: `uid of ${name}`, ...change },
      spec: { volumeName: `volume of ${name}`, resources: { requests: { storage: "1Mi" } } },
      status: { phase: "Bound" },
    });
    const copyOf = (name: string, uid = `uid of ${name}`): PersistentVolumeClaim =>
      claim(name, { uid: "its own", annotations: { "storage.liqo.io/virtual-pvc-uid": uid } });
    const volumeOf = (name: string, namespace = "soak"): PersistentVolume => ({
      metadata: { name: `volume of ${name}` },
      spec: { claimRef: { namespace, name, uid: `uid of ${name}` } },
    });
    const waiting = (name: string, annotations = {}): PersistentVolumeClaim => ({
      metadata: { name, annotations },
      spec: {},
    });
    const differ = (
      local: PersistentVolumeClaim[],
      remote: PersistentVolumeClaim[],
      volumes: PersistentVolume[] = [],
    ): string[] => claimsDiffer({ namespace: "soak", local, remote, volumes });

    it("is content with bound claims that have their copy, and with those that no pod has asked for", () => {
      const volumes = [volumeOf("data"), volumeOf("another", "elsewhere")];
      expect(differ([claim("data"), waiting("later")], [copyOf("data")], volumes)).to.deep.equal([]);
    });

    it("tells of what is missing, left over, too old or not settled", () => {
      const selected = waiting("early", { "volume.kubernetes.io/selected-node": "provider" });
      expect(differ([claim("data"), selected], [copyOf("gone")], [volumeOf("gone")])).to.deep.equal([
        "claim data is not there",
        "claim early waits for its volume",
        "claim gone is only there",
        "volume volume of gone is of claim gone, which has gone",
      ]);
      expect(differ([claim("data")], [copyOf("data", "uid of another")])).to.deep.equal([
        "claim data has its predecessor's copy there",
      ]);
      expect(differ([claim("data")], [{ ...copyOf("data"), status: { phase: "Pending" } }])).to.deep.equal([
        "claim data is Pending there",
      ]);
    });
  });
});
