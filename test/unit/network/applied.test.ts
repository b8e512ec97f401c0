import { expect } from "chai";
import type { Service } from "kubernetes-types/core/v1";
import { AppliedMemory } from "../../../agent/controller/network/gateways/applied.js";

const WISH: Service = {
  metadata: { name: "gw", labels: { app: "gateway" }, annotations: { "example.org/kind": "internal" } },
  spec: { type: "LoadBalancer", selector: { app: "gateway" }, ports: [{ port: 51_840, protocol: "UDP" }] },
};

/** As the API server answers. */
function made(spec: Service["spec"] = {}, annotations: Record<string, string> = {}): Service {
  return {
    metadata: { ...WISH.metadata, uid: "1", annotations: { ...WISH.metadata?.annotations, ...annotations } },
    spec: { ...WISH.spec, clusterIP: "10.96.0.9", ...spec },
  };
}

describe("what was applied to an object without a generation", () => {
  const memory = new AppliedMemory();
  memory.remember("gw", WISH, made());
  const isCurrent = (present: Service): boolean => memory.isCurrent("gw", WISH, present);

  it("is current as long as only fields change that nobody asked for", () => {
    const set = { clusterIP: "10.96.0.10", healthCheckNodePort: 30_001, externalTrafficPolicy: "Local" as const };
    expect(isCurrent(made(set, { "example.org/id": "lb-1" }))).to.equal(true);
    expect(isCurrent(made({ ports: [{ port: 51_840, protocol: "UDP", nodePort: 30_000 }] }))).to.equal(true);
  });

  it("is current whatever annotations it gets where none was asked for", () => {
    for (const annotations of [undefined, {}]) {
      const bare: Service = { ...WISH, metadata: { name: "gw", annotations } };
      const careless = new AppliedMemory();
      careless.remember("gw", bare, { ...made(), metadata: { uid: "1" } });
      expect(careless.isCurrent("gw", bare, made({}, { "example.org/id": "lb-1" }))).to.equal(true);
    }
  });

  for (const [what, changed] of Object.entries({
    "another selector": made({ selector: { app: "else" } }),
    "a selector that is gone": made({ selector: undefined }),
    "a port changed": made({ ports: [{ port: 51_841, protocol: "UDP" }] }),
    "a port more": made({ ports: [...(WISH.spec?.ports ?? []), { port: 80 }] }),
    "another type": made({ type: "NodePort" }),
    "an annotation changed": made({}, { "example.org/kind": "public" }),
    "another object": { ...made(), metadata: { ...made().metadata, uid: "2" } },
  })) {
    it(`is not current with ${what}`, () => {
      expect(isCurrent(changed)).to.equal(false);
    });
  }

  it("is current with what the API server, or a webhook, has put in the place of what was asked for", () => {
    const other = made({ type: "ClusterIP", ports: [{ port: 51_840, protocol: "UDP" }, { port: 80 }] });
    const changing = new AppliedMemory();
    changing.remember("gw", WISH, other);
    expect(changing.isCurrent("gw", WISH, structuredClone(other))).to.equal(true);
    expect(changing.isCurrent("gw", WISH, made())).to.equal(false);
  });

  it("is known by the generation where there is one", () => {
    const ofGeneration = (generation: number, type: string): Service => ({
      metadata: { uid: "1", generation },
      spec: { type },
    });
    const counting = new AppliedMemory();
    counting.remember("gw", WISH, ofGeneration(1, "NodePort"));
    expect(counting.isCurrent("gw", WISH, ofGeneration(1, "ClusterIP"))).to.equal(true);
    expect(counting.isCurrent("gw", WISH, ofGeneration(2, "NodePort"))).to.equal(false);
  });
});
