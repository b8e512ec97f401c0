import { expect } from "chai";
import type { Service, ServiceSpec } from "kubernetes-types/core/v1";
import type { Endpoint } from "kubernetes-types/discovery/v1";
import { NamespaceMapResource, type NamespaceMap } from "../../../agent/api/index.js";
import { namespaceMappings } from "../../../agent/virtual-node/namespaces/namespace-mapping.js";
import { shadowPodPatch } from "../../../agent/virtual-node/pods/shadow-pod.js";
import {
  asksForDirectConnections,
  directConnections,
  type DirectConnections,
} from "../../../agent/virtual-node/reflection/direct-connections.js";
import {
  clusterOfEndpoint,
  isSliceReflectable,
  remoteEndpoints,
} from "../../../agent/virtual-node/reflection/endpoint-slice.js";
import { localEvent, localKindOf } from "../../../agent/virtual-node/reflection/event.js";
import { remoteIngressSpec } from "../../../agent/virtual-node/reflection/ingress.js";
import type { ReflectionScope } from "../../../agent/virtual-node/reflection/reflected-kind.js";
import {
  isReflectable,
  isReflected,
  reflectedMetadata,
} from "../../../agent/virtual-node/reflection/reflected-metadata.js";
import { remoteServiceSpec, serviceKind } from "../../../agent/virtual-node/reflection/service.js";

const reflection = { origin: "consumer", destination: "provider" };

describe("reflection", () => {
  it("follows the policy and the annotations", () => {
    expect(isReflectable({}, "DenyList")).to.equal(true);
    expect(isReflectable({ "liqo.io/skip-reflection": "" }, "DenyList")).to.equal(false);
    expect(isReflectable({ "liqo.io/skip-reflection": "False" }, "DenyList")).to.equal(true);
    expect(isReflectable({}, "AllowList")).to.equal(false);
    expect(isReflectable({ "liqo.io/allow-reflection": "true" }, "AllowList")).to.equal(true);
    const [skip, allow] = [{ "liqo.io/skip-reflection": "true" }, { "liqo.io/allow-reflection": "true" }];
    expect(isSliceReflectable({}, skip, "DenyList")).to.equal(false);
    expect(isSliceReflectable(allow, skip, "DenyList")).to.equal(true);
    expect(isSliceReflectable(undefined, undefined, "AllowList")).to.equal(false);
    expect(() => isSliceReflectable({ ...skip, ...allow }, {}, "DenyList")).to.throw("contradict");
  });

  it("marks what is reflected and leaves out what is not to be", () => {
    const metadata = {
      labels: { a: "1", secret: "x" },
      annotations: {
        b: "2",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "offloading.liqo.io/cluster-selector-hash": "0123456789abcdef",
        "cloud.google.com/neg": "n",
        hide: "h",
      },
    };
    const patch = { labelsNotReflected: ["secret"], annotationsNotReflected: ["hide"] };
    const reflected = reflectedMetadata(metadata, reflection, patch);
    expect(reflected).to.deep.equal({
      labels: { a: "1", "offloading.liqo.io/origin": "consumer", "offloading.liqo.io/destination": "provider" },
      annotations: { b: "2" },
    });
    expect(isReflected(reflected, reflection)).to.equal(true);
    expect(isReflected(metadata, reflection)).to.equal(false);
  });

  it("leaves the provider's label on ShadowPods", () => {
    const present = { labels: { old: "1", "liqo.io/creator-user": "u", a: "1" }, annotations: {} };
    expect(shadowPodPatch(present, { labels: { a: "2" }, annotations: {} })).to.deep.equal({
      metadata: { labels: { a: "2", old: null }, annotations: undefined },
    });
    expect(shadowPodPatch(present, { labels: { a: "1", old: "1" }, annotations: {} })).to.equal(undefined);
  });

  it("leaves addresses and node ports to the provider", () => {
    const spec = {
      type: "NodePort",
      clusterIP: "10.91.0.5",
      clusterIPs: ["10.91.0.5"],
      externalIPs: ["1.2.3.4"],
      ipFamilies: ["IPv4"],
      selector: { app: "a" },
      ports: [
        { name: "a", port: 80, protocol: "TCP", targetPort: "web", nodePort: 30080 },
        { name: "b", port: 81 },
      ],
    };
    expect(remoteServiceSpec({ spec })).to.deep.equal({
      type: "NodePort",
      selector: { app: "a" },
      ports: [
        { name: "a", port: 80, protocol: "TCP", targetPort: "web" },
        { name: "b", port: 81, nodePort: 0 },
      ],
    });
    const forced = { metadata: { annotations: { "liqo.io/force-remote-node-port": "true" } }, spec };
    expect(remoteServiceSpec(forced).ports?.[0]?.nodePort).to.equal(30080);
    expect(remoteServiceSpec({ spec: { clusterIP: "None", type: "ClusterIP" } }).clusterIP).to.equal("None");
    expect(remoteServiceSpec({ spec: { type: "LoadBalancer" } }, "metal").loadBalancerClass).to.equal("metal");
    expect(remoteServiceSpec({ spec }, "metal")).to.not.have.property("loadBalancerClass");
  });

  it("carries Services of every type with what decides who answers", () => {
    const kept: ServiceSpec[] = [
      { type: "ExternalName", externalName: "example.com" },
      {
        clusterIP: "None",
        selector: { app: "set" },
        publishNotReadyAddresses: true,
        ports: [{ port: 80, nodePort: 0 }],
      },
      {
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        selector: { app: "a" },
      },
      { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, loadBalancerSourceRanges: ["192.0.2.0/24"] },
      { internalTrafficPolicy: "Local", externalTrafficPolicy: "Local", ipFamilyPolicy: "SingleStack" },
      { trafficDistribution: "PreferClose" },
    ];
    for (const spec of kept) expect(remoteServiceSpec({ spec })).to.deep.equal(spec);
  });

  it("leaves a load balancer its class, or none, when the provider offers another", () => {
    const local: Service = { spec: { type: "LoadBalancer" } };
    const scope = { context: { state: { loadBalancerClass: "second" } } } as unknown as ReflectionScope;
    const classOf = (spec?: ServiceSpec) => serviceKind.forge(local, scope, spec && { spec }).spec?.loadBalancerClass;
    expect(classOf()).to.equal("second");
    expect(classOf({ type: "ClusterIP" })).to.equal("second");
    expect(classOf({ type: "LoadBalancer", loadBalancerClass: "first" })).to.equal("first");
    expect(classOf({ type: "LoadBalancer" })).to.equal(undefined);
  });

  it("gives Ingresses the provider's class", () => {
    const spec = { ingressClassName: "mine", rules: [{ host: "a" }] };
    expect(remoteIngressSpec({ spec }, "theirs")).to.deep.equal({ rules: [{ host: "a" }], ingressClassName: "theirs" });
    expect(remoteIngressSpec({ spec })).to.deep.equal({ rules: [{ host: "a" }] });
  });

  it("keeps endpoints that are not the provider's own, also where none is left", () => {
    const clusters = { homeClusterId: "consumer", foreignClusterId: "provider" };
    const labels: Record<string, Record<string, string>> = {
      worker: {},
      home: { "liqo.io/remote-cluster-id": "consumer" },
      provider: { "liqo.io/remote-cluster-id": "provider" },
      third: { "liqo.io/remote-cluster-id": "third" },
    };
    const nodeOf = (name: string) => labels[name] && { metadata: { name, labels: labels[name] } };
    const translation = {
      ...clusters,
      clusterOf: (endpoint: Endpoint) => clusterOfEndpoint(endpoint, clusters, nodeOf),
      translate: (address: string) => (address === "10.9.9.9" ? undefined : address),
    };
    const on = (nodeName: string | undefined, address: string): { addresses: string[]; nodeName?: string } => ({
      addresses: [address],
      nodeName,
    });
    const slice = {
      addressType: "IPv4",
      endpoints: [
        on("worker", "10.0.0.1"),
        on("home", "10.0.0.2"),
        on("provider", "10.0.0.3"),
        on("third", "10.0.0.4"),
        on("unknown", "10.0.0.5"),
        on(undefined, "10.0.0.6"),
        on("worker", "10.9.9.9"),
      ],
    };
    const endpoints = remoteEndpoints(slice, translation);
    expect(endpoints.flatMap(({ addresses }) => addresses)).to.deep.equal([
      "10.0.0.1",
      "10.0.0.2",
      "10.0.0.4",
      "10.0.0.6",
    ]);
    expect(new Set(endpoints.map(({ nodeName }) => nodeName))).to.deep.equal(new Set(["consumer"]));
    expect(remoteEndpoints({ addressType: "IPv4", endpoints: [] }, translation)).to.deep.equal([]);
  });

  describe("of Services with direct connections", () => {
    /** Nodes are named after their clusters; the second one's pods are known here by another range. */
    const direct = (
      endpoints: [cluster: string | undefined, address: string][],
      annotations: Record<string, string> = {},
    ): DirectConnections =>
      directConnections(
        {
          metadata: { name: "web-1", annotations },
          addressType: "IPv4",
          endpoints: endpoints.map(([nodeName, address]) => ({ addresses: [address], nodeName })),
        },
        {
          homeClusterId: "consumer",
          clusterOf: ({ nodeName = "consumer" }) => (nodeName === "provider" ? undefined : nodeName),
          ownAddress: (address, cluster) => (cluster === "second" ? address.replace("10.81.", "10.42.") : address),
        },
      );
    const dataOf = ({ data }: DirectConnections): unknown => data && JSON.parse(data);

    it("are asked for by the value true alone", () => {
      const asks = (value: string): boolean =>
        asksForDirectConnections({ metadata: { annotations: { "liqo.io/use-direct-connections": value } } });
      expect(["true", "True", "false", "", "yes"].map(asks)).to.deep.equal([true, true, false, false, false]);
      expect(asksForDirectConnections({})).to.equal(false);
      expect(asksForDirectConnections(undefined)).to.equal(false);
    });

    it("names addresses at other providers as those call them, and translates none", () => {
      const plan = direct([
        ["consumer", "10.42.0.1"],
        [undefined, "192.168.7.7"],
        ["provider", "10.71.0.1"],
        ["second", "10.81.0.2"],
        ["third", "10.43.0.3"],
        ["third", "10.43.0.4"],
      ]);
      expect(dataOf(plan)).to.deep.equal({
        clusterAddresses: { second: ["10.42.0.2"], third: ["10.43.0.3", "10.43.0.4"] },
      });
      expect(plan.problem).to.equal(undefined);
      expect(plan.addressOf("10.42.0.1", "consumer")).to.equal("10.42.0.1");
      expect(plan.addressOf("192.168.7.7", "consumer")).to.equal("192.168.7.7");
      expect(plan.addressOf("10.81.0.2", "second")).to.equal("10.42.0.2");
      expect(plan.addressOf("10.43.0.3", "third")).to.equal("10.43.0.3");
    });

    it("says nothing of other providers where there is none", () => {
      expect(direct([["consumer", "10.42.0.1"]]).data).to.equal(undefined);
      expect(direct([]).data).to.equal(undefined);
    });

    it("leaves an address that several clusters have to the way through here, and says so", () => {
      const plan = direct([
        ["consumer", "10.42.0.2"],
        ["second", "10.81.0.2"],
        ["second", "10.81.0.3"],
      ]);
      expect(dataOf(plan)).to.deep.equal({ clusterAddresses: { second: ["10.42.0.3"] } });
      expect(plan.addressOf("10.42.0.2", "consumer")).to.equal("10.42.0.2");
      expect(plan.addressOf("10.81.0.2", "second")).to.equal(undefined);
      expect(plan.addressOf("10.81.0.3", "second")).to.equal("10.42.0.3");
      expect(plan.problem).to.match(/^EndpointSlice web-1: .*10\.42\.0\.2 \(consumer, second\)/);
    });

    it("leaves everything to the way through here when the annotations would be too large, and says so", () => {
      const endpoints: [string, string][] = [["third", "10.43.0.3"]];
      const data = JSON.stringify({ clusterAddresses: { third: ["10.43.0.3"] } });
      const room = 256 * 1024 - "liqo.io/direct-connections-data".length - data.length - "note".length;
      // What stands in the way of its own annotation only is replaced.
      const own = { "liqo.io/direct-connections-data": "x".repeat(100) };
      expect(direct(endpoints, { ...own, note: "x".repeat(room - 1) }).data).to.equal(data);
      const plan = direct(endpoints, { note: "x".repeat(room) });
      expect(plan.data).to.equal(undefined);
      expect(plan.addressOf("10.43.0.3", "third")).to.equal(undefined);
      expect(plan.problem).to.match(/^EndpointSlice web-1: .*256 KiB/);
      expect(direct([["consumer", "10.42.0.1"]], { note: "x".repeat(room) }).problem).to.equal(undefined);
    });
  });

  it("turns a ShadowPod's event into the pod's", () => {
    const event = {
      metadata: { name: "e", namespace: "remote" },
      involvedObject: {
        kind: "ShadowPod",
        apiVersion: "offloading.liqo.io/v1beta1",
        name: "web",
        fieldPath: "spec.containers{main}",
      },
      reason: "Pulled",
      count: 2,
      source: { component: "kubelet", host: "n" },
    };
    expect(localKindOf(event.involvedObject)).to.equal("Pod");
    expect(localKindOf({ kind: "ReplicaSet" })).to.equal(undefined);
    expect(localKindOf({ kind: "ShadowEndpointSlice" })).to.equal("EndpointSlice");
    const ofSlice = localEvent(event, "EndpointSlice", { metadata: { name: "web-1" } }, reflection);
    expect(ofSlice.involvedObject).to.include({ kind: "EndpointSlice", apiVersion: "discovery.k8s.io/v1" });
    const copy = localEvent(event, "Pod", { metadata: { name: "web", namespace: "shop", uid: "u" } }, reflection);
    expect(copy.involvedObject).to.deep.equal({
      kind: "Pod",
      apiVersion: "v1",
      name: "web",
      namespace: "shop",
      uid: "u",
      fieldPath: "spec.containers{main}",
    });
    expect(copy).to.deep.include({ reason: "Pulled", count: 2, source: { component: "kubelet (remote)", host: "n" } });
  });

  it("uses only the map that goes to this provider", () => {
    const map = (name: string, remoteID: string): NamespaceMap =>
      NamespaceMapResource.build({
        metadata: { name, labels: { "liqo.io/remoteID": remoteID, "liqo.io/remote-cluster-id": "provider" } },
        spec: { desiredMapping: { a: `a-${name}` } },
        status: { currentMapping: { b: { remoteNamespace: "b-x", phase: "Accepted" } } },
      });
    const { mappings } = namespaceMappings([map("one", "provider"), map("two", "consumer")], "provider");
    expect(Object.fromEntries(mappings)).to.deep.equal({
      a: { remote: "a-one" },
      // The provider may say that it still ends what was offloaded; it cannot claim what nobody offloads.
      b: { remote: "b-x", phase: "Terminating" },
    });
    expect(() => namespaceMappings([map("one", "provider"), map("two", "provider")], "provider")).to.throw(
      "more than one",
    );
  });

  it("takes no peer's copy for this cluster's own map, whatever else its labels say", () => {
    const copy = NamespaceMapResource.build({
      metadata: { name: "forged", labels: { "liqo.io/remoteID": "provider", "liqo.io/replicated": "true" } },
      spec: { desiredMapping: { "kube-system": "stolen" } },
      status: { currentMapping: { "kube-system": { remoteNamespace: "stolen", phase: "Accepted" } } },
    });
    expect(namespaceMappings([copy], "provider").mappings.size).to.equal(0);
  });
});
