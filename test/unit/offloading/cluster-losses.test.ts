import { expect } from "chai";
import {
  ForeignClusterResource,
  NamespaceMapResource,
  NamespaceOffloadingResource,
  VirtualNodeResource,
  type VirtualNode,
} from "../../../agent/api/index.js";
import { lossesWithout, type LossInformers } from "../../../agent/controller/offloading/cluster-losses.js";
import { keyOf, type KubeObject } from "../../../agent/runtime/index.js";
import { remoteVolume } from "../../integration/support/remote-volume.js";

const TENANT = "liqo-tenant-p";
const DELETED_AT = "2026-01-01T00:00:00Z";

describe("what would be lost without a cluster's virtual nodes", () => {
  const [first, second] = [virtualNode("first"), virtualNode("second")];

  it("is the data of all namespaces mapped there, once the last of them ends", () => {
    const known = everythingWith({ virtualNodes: [first, second] });
    expect(lossesWithout([first], known)).to.deep.equal([]);
    const losses = lossesWithout([first, second], known);
    expect(losses).to.have.length(2);
    expect(losses[0]).to.contain("namespace bank: the data of claim bank-data is in cluster p");
    expect(losses[1]).to.contain("namespace shop: the data of claim shop-data is in cluster p");
    const alone = everythingWith({ virtualNodes: [first, { ...second, metadata: deleted(second.metadata) }] });
    expect(lossesWithout([first], alone)).to.deep.equal(losses);
    expect(lossesWithout([], known)).to.deep.equal([]);
  });

  const nothing: [string, Partial<Record<keyof LossInformers, KubeObject[]>>][] = [
    ["where its user agrees", { offloadings: [agreed("bank"), agreed("shop")] }],
    [
      "where the user's namespaces are being deleted",
      { namespaces: [namespace(TENANT), going("bank"), going("shop")] },
    ],
    [
      "where the tenant namespace is being deleted",
      { namespaces: [going(TENANT), namespace("bank"), namespace("shop")] },
    ],
    ["where the map is being deleted anyway", { maps: [map(deleted({}))] }],
    ["where the map is the peer's own", { maps: [map({ labels: { "liqo.io/replicated": "true" } })] }],
    ["where there is none", { maps: [] }],
    ["where the cluster is gone for good", { foreignClusters: [lostCluster()] }],
    ["where other clusters have the data", { volumes: [volume("shop", "q"), volume("bank", "q")] }],
  ];
  for (const [when, objects] of nothing) {
    it(`is nothing ${when}`, () => {
      const usual = everythingWith({ virtualNodes: [first] });
      expect(lossesWithout([first], usual)).to.have.length(2);
      expect(lossesWithout([first], everythingWith({ virtualNodes: [first], ...objects }))).to.deep.equal([]);
    });
  }
});

function everythingWith(objects: Partial<Record<keyof LossInformers, KubeObject[]>>): LossInformers {
  const usual: Record<keyof LossInformers, KubeObject[]> = {
    virtualNodes: [],
    maps: [map({})],
    offloadings: [],
    namespaces: [namespace(TENANT), namespace("bank"), namespace("shop")],
    foreignClusters: [],
    volumes: [volume("shop", "p"), volume("bank", "p")],
  };
  const kinds = Object.entries({ ...usual, ...objects }).map(([kind, list]) => [kind, informerOf(list)]);
  return Object.fromEntries(kinds) as LossInformers;
}

function informerOf(objects: KubeObject[]): object {
  const get = (key: string): KubeObject | undefined => objects.find((object) => keyOf(object) === key);
  return { list: () => objects, get, find: (namespace: string, name: string) => get(`${namespace}/${name}`) };
}

function virtualNode(name: string): VirtualNode {
  return VirtualNodeResource.build({ metadata: { name, namespace: TENANT, uid: name }, spec: { clusterID: "p" } });
}

function map(metadata: object): KubeObject {
  const desiredMapping = { shop: "shop-c", bank: "bank-c" };
  return NamespaceMapResource.build({
    metadata: { name: "p", namespace: TENANT, ...metadata },
    spec: { desiredMapping },
  });
}

function agreed(namespace: string): KubeObject {
  const annotations = { "offloading.liqo.io/delete-remote-volumes": "true" };
  return NamespaceOffloadingResource.build({ metadata: { name: "offloading", namespace, annotations }, spec: {} });
}

function lostCluster(): KubeObject {
  const annotations = { "liqo.io/foreign-cluster-permanently-unreachable": "true" };
  return ForeignClusterResource.build({ metadata: { name: "p", annotations }, spec: { clusterID: "p" } });
}

function volume(namespace: string, clusterID: string): KubeObject {
  return remoteVolume({ name: `${namespace}-data`, namespace, uid: namespace }, clusterID);
}

function namespace(name: string): KubeObject {
  return { metadata: { name } };
}

function going(name: string): KubeObject {
  return { metadata: deleted({ name }) };
}

function deleted<T extends object>(metadata: T): T & { deletionTimestamp: string } {
  return { ...metadata, deletionTimestamp: DELETED_AT };
}
