import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { expect } from "chai";
import { registry } from "../../../provider/resources/index.js";
import { kubeconfigOf } from "../../integration/provider-resources/support/own-kubeconfig.js";
import { Methods, startFakeEngine, toStruct, type FakeEngine } from "../provider/fake-engine.js";
import { FakeMonitor } from "../provider/fake-monitor.js";
import { settableProperties } from "./properties.js";

type Properties = Record<string, unknown>;

/**
 * What becomes of one property of a Peering: nothing in a cluster is its own, so that creating, changing, refreshing and importing are its parts', which have a
 * table of their own. Two values, what else they need, and where each of them goes: part and property, several where several parts have it.
 */
interface Row {
  create: unknown;
  update: unknown;
  beside?: Properties;
  goesTo: string[];
}

const NETWORK = "network";
const AUTHENTICATION = "authentication";
const RESOURCES = "resources";
const EVERYWHERE = [NETWORK, AUTHENTICATION, RESOURCES, `reverse-${AUTHENTICATION}`, `reverse-${RESOURCES}`];

const both = { bidirectional: true };
const inAll = (property: string): string[] => EVERYWHERE.map((part) => `${part} ${property}`);
const ofNetwork = (create: unknown, update: unknown, property: string): Row => ({
  create,
  update,
  goesTo: [`${NETWORK} ${property}`],
});
/** Of the request, and of that in the other direction, which is the same if nothing else is said. */
const ofRequest = (create: unknown, update: unknown, property: string): Row => ({
  create,
  update,
  beside: both,
  goesTo: [`${RESOURCES} ${property}`, `reverse-${RESOURCES} ${property}`],
});
const ofReverse = (create: unknown, update: unknown, property: string): Row => ({
  create,
  update,
  beside: both,
  goesTo: [`reverse-${RESOURCES} ${property}`],
});

const TABLE: Record<string, Row> = {
  consumer: {
    create: { context: "west" },
    update: { context: "south" },
    beside: both,
    goesTo: [
      ...[NETWORK, AUTHENTICATION, RESOURCES].map((part) => `${part} consumer`),
      ...[AUTHENTICATION, RESOURCES].map((part) => `reverse-${part} provider`),
    ],
  },
  provider: {
    create: { context: "east" },
    update: { context: "north" },
    beside: both,
    goesTo: [
      ...[NETWORK, AUTHENTICATION, RESOURCES].map((part) => `${part} provider`),
      ...[AUTHENTICATION, RESOURCES].map((part) => `reverse-${part} consumer`),
    ],
  },
  gatewayServerLocation: ofNetwork("Consumer", "Provider", "gatewayServerLocation"),
  gatewayServer: ofNetwork({ port: 51000 }, { type: "NodePort" }, "gatewayServer"),
  gatewayClient: ofNetwork({ address: "nat.example.com" }, { addresses: ["203.0.113.7"] }, "gatewayClient"),
  mtu: ofNetwork(1400, 1380, "mtu"),
  keyRotationTrigger: ofNetwork("2026-01", "2026-02", "keyRotationTrigger"),
  inBand: {
    create: true,
    update: false,
    beside: both,
    goesTo: [`${AUTHENTICATION} inBand`, `reverse-${AUTHENTICATION} inBand`],
  },
  // The other direction's way is another one.
  proxyURL: {
    create: "http://proxy.example.com:8118",
    update: "http://other.example.com:8118",
    beside: both,
    goesTo: [`${AUTHENTICATION} proxyURL`],
  },
  // Of each consumer its own provider says what it may do.
  tenantCondition: {
    create: "Cordoned",
    update: "Drained",
    beside: both,
    goesTo: [`${AUTHENTICATION} tenantCondition`],
  },
  "reverse.tenantCondition": {
    create: "Cordoned",
    update: "Drained",
    beside: both,
    goesTo: [`reverse-${AUTHENTICATION} tenantCondition`],
  },
  createVirtualNode: ofRequest(false, true, "createVirtualNode"),
  resourceSliceName: { create: "one", update: "two", beside: both, goesTo: [`${RESOURCES} name`] },
  resourceSliceClass: ofRequest("gold", "silver", "class"),
  cpu: ofRequest("2", "3", "resources.cpu"),
  memory: ofRequest("1Gi", "2Gi", "resources.memory"),
  pods: ofRequest("10", "20", "resources.pods"),
  resources: ofRequest({ "example.com/gpu": "1" }, { "example.com/gpu": "2" }, "resources"),
  "reverse.createVirtualNode": ofReverse(false, true, "createVirtualNode"),
  "reverse.resourceSliceName": ofReverse("one", "two", "name"),
  "reverse.resourceSliceClass": ofReverse("gold", "silver", "class"),
  "reverse.cpu": ofReverse("2", "3", "resources.cpu"),
  "reverse.memory": ofReverse("1Gi", "2Gi", "resources.memory"),
  "reverse.pods": ofReverse("10", "20", "resources.pods"),
  "reverse.resources": ofReverse({ "example.com/gpu": "1" }, { "example.com/gpu": "2" }, "resources"),
  objectLabels: { create: { env: "test" }, update: { env: "live" }, beside: both, goesTo: inAll("objectLabels") },
  objectAnnotations: { create: { note: "a" }, update: { note: "b" }, beside: both, goesTo: inAll("objectAnnotations") },
  forceUnreachable: { create: true, update: false, beside: both, goesTo: inAll("forceUnreachable") },
};

const SLICE = "resources-further";
/** Of one of several further slices, by their properties in additionalResourceSlices. */
const FURTHER: Record<string, Row> = {
  resourceSliceClass: { create: "gold", update: "silver", goesTo: [`${SLICE} class`] },
  createVirtualNode: { create: false, update: true, goesTo: [`${SLICE} createVirtualNode`] },
  cpu: { create: "2", update: "3", goesTo: [`${SLICE} resources.cpu`] },
  memory: { create: "1Gi", update: "2Gi", goesTo: [`${SLICE} resources.memory`] },
  pods: { create: "10", update: "20", goesTo: [`${SLICE} resources.pods`] },
  resources: { create: { "example.com/gpu": "1" }, update: { "example.com/gpu": "2" }, goesTo: [`${SLICE} resources`] },
};

const ALL = [NETWORK, AUTHENTICATION, RESOURCES];
/** Those that decide what a Peering consists of: a change makes parts, or takes them away. */
const PARTS: Record<string, [inputs: Properties, parts: string[]][]> = {
  bidirectional: [
    [{ bidirectional: false }, ALL],
    [{ bidirectional: true }, EVERYWHERE],
  ],
  networkingDisabled: [
    [{ networkingDisabled: false }, ALL],
    [{ networkingDisabled: true }, [AUTHENTICATION, RESOURCES]],
  ],
  authenticationDisabled: [
    [{ authenticationDisabled: false }, ALL],
    [{ authenticationDisabled: true }, [NETWORK]],
  ],
  createResourceSlice: [
    [{ createResourceSlice: true }, ALL],
    [{ createResourceSlice: false }, [NETWORK, AUTHENTICATION]],
  ],
  additionalResourceSlices: [
    [{ additionalResourceSlices: [] }, ALL],
    [{ additionalResourceSlices: [{ name: "further" }] }, [...ALL, SLICE]],
  ],
  "additionalResourceSlices.name": [
    [{ additionalResourceSlices: [{ name: "other" }] }, [...ALL, "resources-other"]],
    [{ additionalResourceSlices: [{ name: "further" }] }, [...ALL, SLICE]],
  ],
  reverse: [
    [{ bidirectional: true }, EVERYWHERE],
    [{ reverse: {} }, ALL],
  ],
  "reverse.createResourceSlice": [
    [{ bidirectional: true, reverse: { createResourceSlice: true } }, EVERYWHERE],
    [{ bidirectional: true, reverse: { createResourceSlice: false } }, [...ALL, `reverse-${AUTHENTICATION}`]],
  ],
};

/** An identity that the program brings along: each of these needs the others. */
const OWN_IDENTITY = ["authzPolicy", "identityKubeconfig", "identityUserName"].flatMap((name) => [
  name,
  `reverse.${name}`,
]);

describe("every input property of a Peering", function () {
  this.timeout(120_000);
  let engine: FakeEngine;
  let monitor: FakeMonitor;
  let made = 0;
  const known = new Map<string, Promise<Map<string, Properties>>>();
  before(async () => {
    engine = await startFakeEngine(registry);
    monitor = await new FakeMonitor().start();
  });
  after(async () => {
    await engine?.stop();
    monitor?.stop();
  });

  /** What a Peering with these inputs consists of, by the parts' names. */
  async function partsOf(inputs: Properties): Promise<Map<string, Properties>> {
    const name = `peering${made++}`;
    const request = new proto.ConstructRequest();
    request.setType("liqo:index:Peering");
    request.setName(name);
    request.setProject("run");
    request.setStack("run");
    request.setMonitorendpoint(monitor.endpoint);
    request.setInputs(toStruct({ consumer: { context: "one" }, provider: { context: "two" }, ...inputs }));
    await engine.call(Methods.construct, request);
    const parts = [...monitor.inputs].filter(([part]) => part.startsWith(`${name}-`));
    return new Map(parts.map(([part, given]) => [part.slice(name.length + 1), given]));
  }

  it("has a row", () => {
    const wanted = settableProperties()
      .filter(({ owner, path }) => owner === "Peering" && !/^(consumer|provider|gateway(Server|Client))\./.test(path))
      .map(({ path }) => path)
      .filter((path) => path !== "additionalResourceSlices[0]" && !/\.key$/.test(path));
    const further = Object.keys(FURTHER).map((name) => `additionalResourceSlices[0].${name}`);
    const parts = Object.keys(PARTS).map((path) => path.replace(/^(additionalResourceSlices)\./, "$1[0]."));
    expect([...Object.keys(TABLE), ...further, ...parts, ...OWN_IDENTITY].sort()).to.deep.equal(wanted.sort());
  });

  it("goes to the parts that it is about, and to no other, when given and when changed", async () => {
    for (const [path, row] of Object.entries(TABLE)) await expectRow(path, row, (value) => nested(path, value));
    for (const [name, row] of Object.entries(FURTHER)) {
      const inputs = (value: unknown) => ({
        additionalResourceSlices: [{ name: "further", ...(value === undefined ? {} : { [name]: value }) }],
      });
      await expectRow(`additionalResourceSlices[0].${name}`, row, inputs);
    }
  });

  it("brings an identity along to the direction that it is of, where it is one of those", async () => {
    for (const [direction, part] of [
      ["", AUTHENTICATION],
      ["reverse", `reverse-${AUTHENTICATION}`],
    ] as const) {
      const inDirection = (inputs: Properties): Properties => ({
        ...both,
        ...(direction ? { [direction]: inputs } : inputs),
      });
      const without = await partsWithout(both);
      const exchanged = await partsOf(inDirection({ authzPolicy: "KeysExchange" }));
      expect(changedParts(without, exchanged, direction)).to.deep.equal([part]);
      expect(exchanged.get(part)).to.include({ authzPolicy: "KeysExchange" });
      for (const user of ["friend", "other"]) {
        const own = { authzPolicy: "TolerateNoHandshake", identityKubeconfig: kubeconfigOf(user) };
        const brought = await partsOf(inDirection({ ...own, identityUserName: user }));
        expect(changedParts(without, brought, direction)).to.deep.equal([part]);
        expect(brought.get(part)).to.include({ authzPolicy: "TolerateNoHandshake", userName: user });
        expect(JSON.stringify(brought.get(part)?.["kubeconfig"])).to.contain(JSON.stringify(kubeconfigOf(user)));
      }
    }
  });

  it("decides what there is, where it is one of those", async () => {
    for (const [path, cases] of Object.entries(PARTS)) {
      for (const [inputs, parts] of cases) {
        const found = [...(await partsOf(inputs)).keys()];
        expect(found.sort(), `${path}: ${JSON.stringify(inputs)}`).to.deep.equal([...parts].sort());
      }
    }
  });

  /** Many rows have the same beside them. */
  function partsWithout(inputs: Properties): Promise<Map<string, Properties>> {
    const key = JSON.stringify(inputs);
    const parts = known.get(key) ?? partsOf(inputs);
    known.set(key, parts);
    return parts;
  }

  async function expectRow(path: string, row: Row, inputs: (value: unknown) => Properties): Promise<void> {
    const without = await partsWithout({ ...row.beside, ...inputs(undefined) });
    for (const value of [row.create, row.update]) {
      const parts = await partsOf({ ...row.beside, ...inputs(value) });
      expect(changedParts(without, parts, path), path).to.deep.equal(partsNamedIn(row));
      for (const place of row.goesTo) {
        const [part = "", property = ""] = place.split(" ");
        expect(at(parts.get(part), property), `${path}: ${place}`).to.deep.equal(value);
      }
    }
  }
});

/** Clusters are given in any case. */
function changedParts(before: Map<string, Properties>, after: Map<string, Properties>, path: string): string[] {
  expect([...after.keys()].sort(), path).to.deep.equal([...before.keys()].sort());
  const isSame = (part: string): boolean => JSON.stringify(before.get(part)) === JSON.stringify(after.get(part));
  return [...after.keys()].filter((part) => !isSame(part)).sort();
}

function partsNamedIn({ goesTo }: Row): string[] {
  return [...new Set(goesTo.map((place) => place.split(" ")[0] ?? ""))].sort();
}

function nested(path: string, value: unknown): Properties {
  if (value === undefined) return {};
  return path.split(".").reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as Properties;
}

function at(properties: Properties | undefined, path: string): unknown {
  return path.split(".").reduce<unknown>((inner, part) => (inner as Properties | undefined)?.[part], properties);
}
