import { expect } from "chai";
import type { Endpoint } from "kubernetes-types/discovery/v1";
import {
  ConfigurationResource,
  Labels,
  NetworkResource,
  NetworkType,
  ShadowEndpointSliceResource,
  ShadowPodResource,
  type ShadowPod,
} from "../../../agent/api/index.js";
import { addressGuard } from "../../../agent/controller/offloading/shadow-endpoint-slice/address-guard.js";
import { endpointSliceOf } from "../../../agent/controller/offloading/shadow-endpoint-slice/mapping.js";
import {
  CHANGES_ANNOTATION,
  appliedChanges,
  changesDigest,
} from "../../../agent/controller/offloading/shadow-pod/changes.js";
import { metadataPatch, podOf } from "../../../agent/controller/offloading/shadow-pod/pod.js";

const configuration = ConfigurationResource.build({
  metadata: {},
  spec: { remote: { cidr: { pod: ["10.1.0.0/16"], external: ["10.2.0.0/16"] } } },
  status: { remote: { cidr: { pod: ["10.11.0.0/16"], external: ["10.12.0.0/16"] } } },
});

describe("Pod of a ShadowPod", () => {
  const shadow = (labels: Record<string, string>, annotations: Record<string, string> = {}): ShadowPod =>
    ShadowPodResource.build({
      metadata: { name: "p", namespace: "n", uid: "u", labels, annotations },
      spec: { pod: { containers: [], hostAliases: [{ ip: "10.2.0.3", hostnames: ["kubernetes.default"] }] } },
    });

  it("knows the consumer's API server by its address here, if there is a network", () => {
    expect(podOf(shadow({}), configuration).spec?.hostAliases?.[0]?.ip).to.equal("10.12.0.3");
    expect(podOf(shadow({}), undefined).spec?.hostAliases?.[0]?.ip).to.equal("10.2.0.3");
  });

  it("stays out of the nodes' own namespaces, and is put on no node by the consumer", () => {
    const greedy = shadow({});
    const node = { hostNetwork: true, hostPID: true, hostIPC: true, nodeName: "control-plane" };
    const asked = { ...node, priorityClassName: "system-node-critical", priority: 2_000_001_000, subdomain: "kept" };
    const spec = podOf({ ...greedy, spec: { pod: { ...greedy.spec.pod, ...asked, containers: [] } } }, undefined).spec;
    expect(JSON.parse(JSON.stringify(spec))).to.include({ subdomain: "kept" });
    expect(JSON.parse(JSON.stringify(spec))).to.not.have.any.keys(
      ...["hostNetwork", "hostPID", "hostIPC", "nodeName", "priorityClassName", "priority"],
    );
  });

  it("follows metadata, and leaves alone what the provider added", () => {
    const pod = podOf(shadow({ a: "1", b: "2" }, { x: "1" }), undefined);
    expect(metadataPatch(shadow({ a: "1", b: "2" }, { x: "1" }), pod)).to.equal(undefined);
    Object.assign(pod.metadata?.labels ?? {}, { injected: "yes" });
    const patch = metadataPatch(shadow({ a: "3" }, {}), pod) as { metadata: { labels: object; annotations: object } };
    expect(patch.metadata.labels).to.deep.equal({ a: "3", b: null });
    expect(patch.metadata.annotations).to.include({ x: null });
  });

  it("follows metadata also while other changes wait, which are not noted as given", () => {
    const pod = podOf(shadow({ a: "1" }), undefined);
    const given = appliedChanges(pod);
    const changed = shadow({ a: "2" });
    changed.spec.pod = { containers: [], activeDeadlineSeconds: 60 };
    const waiting = metadataPatch(changed, pod, given) as { metadata: { labels: object; annotations: object } };
    expect(waiting.metadata).to.deep.include({ labels: { a: "2" }, annotations: {} });
    const done = metadataPatch(changed, pod) as { metadata: { annotations: object } };
    expect(done.metadata.annotations).to.deep.equal({ [CHANGES_ANNOTATION]: changesDigest(changed) });
  });
});

describe("EndpointSlice of a ShadowEndpointSlice", () => {
  const slice = (endpoints: Endpoint[], direct?: object, reachable = true): Endpoint[] => {
    const annotations: Record<string, string> = direct
      ? { "liqo.io/direct-connections-data": JSON.stringify({ clusterAddresses: direct }) }
      : {};
    const shadow = ShadowEndpointSliceResource.build({
      metadata: { name: "s", namespace: "n", labels: { "offloading.liqo.io/origin": "consumer" }, annotations },
      spec: { template: { addressType: "IPv4", endpoints, ports: [] } },
    });
    const configurationOf = (id: string) => (id === "stranger" ? undefined : configuration);
    const result = endpointSliceOf(shadow, { reachable, configurationOf, guard: () => true }).slice;
    expect(result.metadata?.annotations).to.deep.equal({});
    return result.endpoints;
  };

  it("translates addresses of pods and of the external range, and keeps an empty slice", () => {
    const endpoints = [{ addresses: ["10.1.0.9"] }, { addresses: ["10.2.0.9"] }, { addresses: ["192.0.2.1"] }];
    expect(slice(endpoints).map(({ addresses }) => addresses[0])).to.deep.equal([
      "10.11.0.9",
      "10.12.0.9",
      "192.0.2.1",
    ]);
    expect(slice([])).to.deep.equal([]);
  });

  it("turns ready into not ready while the consumer is not reachable, never the other way", () => {
    const endpoints = [{ addresses: ["10.1.0.1"], conditions: { ready: false } }, { addresses: ["10.1.0.2"] }];
    expect(slice(endpoints).map(({ conditions }) => conditions?.ready)).to.deep.equal([false, undefined]);
    expect(slice(endpoints, undefined, false).map(({ conditions }) => conditions?.ready)).to.deep.equal([false, false]);
  });

  it("drops addresses of a third cluster without a network to it", () => {
    const endpoints = [{ addresses: ["10.1.0.1"] }, { addresses: ["10.1.0.2"] }];
    const direct = { stranger: ["10.1.0.1"], neighbour: ["10.1.0.2"] };
    expect(slice(endpoints, direct).map(({ addresses }) => addresses[0])).to.deep.equal(["10.11.0.2"]);
  });

  it("names each address once that is refused, as the consumer calls it, and what is wrong in no annotation matters", () => {
    const annotations = { "liqo.io/direct-connections-data": "{" };
    const template = {
      addressType: "IPv4" as const,
      endpoints: [{ addresses: ["10.1.0.1"] }, { addresses: ["10.1.0.1", "10.1.0.2"] }],
      ports: [],
    };
    const metadata = { name: "s", labels: { "offloading.liqo.io/origin": "consumer" }, annotations };
    const { slice: made, refused } = endpointSliceOf(
      ShadowEndpointSliceResource.build({ metadata, spec: { template } }),
      { reachable: true, configurationOf: () => configuration, guard: (address) => address !== "10.11.0.1" },
    );
    expect(made.endpoints).to.deep.equal([{ addresses: ["10.11.0.2"] }]);
    expect(refused).to.deep.equal(["10.1.0.1"]);
  });
});

describe("addresses that consumers' endpoints may have", () => {
  const network = (type: string, cidr: string) =>
    NetworkResource.build({ metadata: { labels: { [Labels.networkType]: type } }, spec: { cidr } });
  const of = (clusterID: string, name: string) => ({
    ...configuration,
    metadata: { labels: { "liqo.io/remote-cluster-id": clusterID } },
    status: { remote: { cidr: { pod: [name], external: [] } } },
  });
  const guard = addressGuard({
    networks: [
      network(NetworkType.pod, "10.244.0.0/16"),
      network(NetworkType.service, "10.96.0.0/12"),
      network(NetworkType.reserved, "10.5.0.0/16"),
    ],
    configurations: [of("consumer", "10.11.0.0/16"), of("victim", "10.12.0.0/16")],
    isHost: (address) => ["172.18.0.2", "fd00::2", "10.11.0.200"].includes(address),
  });

  it("are those of its own cluster, of clusters that it reaches directly, and outside of all that is known", () => {
    expect(guard("10.11.0.1", ["consumer"])).to.equal(true);
    expect(guard("10.12.0.1", ["consumer", "victim"])).to.equal(true);
    for (const address of ["192.0.2.1", "10.5.0.1", "fd00::3", "web.example.com"])
      expect(guard(address, ["consumer"]), address).to.equal(true);
  });

  it("are no node's, API server's, pod's or Service's here, and no other peer's", () => {
    const wrong = ["172.18.0.2", "fd00:0:0::2", "FD00::2", "10.244.3.4", "10.96.0.1", "10.12.0.1", "10.11.0.200"];
    for (const address of wrong) expect(guard(address, ["consumer"]), address).to.equal(false);
    expect(guard("10.244.3.4", ["consumer", "victim"])).to.equal(false);
  });
});
