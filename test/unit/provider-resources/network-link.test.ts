import { expect } from "chai";
import {
  ConfigurationResource,
  ConnectionResource,
  GatewayServerResource,
  NetworkResource,
  type GatewayServer,
} from "../../../agent/api/index.js";
import type { Failures } from "../../../provider/framework/index.js";
import { checkGateways } from "../../../provider/resources/network-link/check.js";
import { judgeMapping } from "../../../provider/resources/network-link/configure.js";
import { orient } from "../../../provider/resources/network-link/connect.js";
import type { LinkEnds } from "../../../provider/resources/network-link/ends.js";
import { judgeConnection } from "../../../provider/resources/network-link/connection.js";
import {
  judgeAccepted,
  judgeDeployment,
  judgeEndpoint,
  judgeNewEndpoint,
} from "../../../provider/resources/network-link/gateways.js";
import {
  configurationManifest,
  gatewayClientManifest,
  gatewayServerManifest,
} from "../../../provider/resources/network-link/manifests.js";
import { linkOptions } from "../../../provider/resources/network-link/options.js";
import { judgeRanges } from "../../../provider/resources/network-link/ranges.js";
import { networkLinkInputs } from "../../../provider/resources/network-link/schema.js";
import {
  directionManager,
  isLeftByReverse,
  isUsedByReverse,
  LEFT,
  linkAnnotation,
} from "../../../provider/resources/network-link/users.js";

const end = { remoteId: "b", namespace: "liqo-tenant-b", agentNamespace: "liqo" };
const options = (inputs: object = {}) => linkOptions(networkLinkInputs.parse(inputs));

describe("NetworkLink", () => {
  it("has the defaults of Liqo's command line", () => {
    const { mtu, location, server } = options();
    expect({ mtu, location, type: server.type, port: server.port }).to.deep.equal({
      mtu: 1340,
      location: "Provider",
      type: "LoadBalancer",
      port: 51840,
    });
    expect(networkLinkInputs.safeParse({ mtu: 1200 }).success).to.equal(false);
  });

  it("writes the manifests that a person would", () => {
    expect(configurationManifest(end, { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] })).to.deep.equal({
      apiVersion: "networking.liqo.io/v1beta1",
      kind: "Configuration",
      metadata: { name: "b", namespace: "liqo-tenant-b", labels: { "liqo.io/remote-cluster-id": "b" } },
      spec: { remote: { cidr: { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] } } },
    });
    const server = gatewayServerManifest(end, options({ gatewayServer: { type: "NodePort", nodePort: 30742 } }));
    expect(server.spec).to.deep.equal({
      mtu: 1340,
      endpoint: { port: 51840, serviceType: "NodePort", nodePort: 30742 },
      serverTemplateRef: {
        apiVersion: "networking.liqo.io/v1beta1",
        kind: "WgGatewayServerTemplate",
        name: "wireguard-server",
        namespace: "liqo",
      },
    });
    const behindNat = options({ gatewayClient: { address: "vpn.example.com" } });
    const client = gatewayClientManifest(end, behindNat, { addresses: ["1.2.3.4"], port: 30742, protocol: "UDP" });
    expect(client.spec.endpoint).to.deep.equal({ addresses: ["vpn.example.com"], port: 30742, protocol: "UDP" });
  });

  it("names keys, templates of other kinds and several addresses as the program does", () => {
    const wanted = options({
      gatewayServer: { secretRef: { name: "keys" }, templateKind: "Own", templateApiVersion: "example.com/v1" },
      gatewayClient: { secretRef: { name: "keys" }, addresses: ["1.1.1.1", "nat.example.com"], templateName: "own" },
    });
    const server = gatewayServerManifest(end, wanted);
    expect(server.spec.secretRef).to.deep.equal({ name: "keys" });
    expect(server.spec.serverTemplateRef).to.deep.equal({
      apiVersion: "example.com/v1",
      kind: "Own",
      name: "wireguard-server",
      namespace: "liqo",
    });
    const client = gatewayClientManifest(end, wanted, { addresses: ["1.2.3.4"], port: 30742, protocol: "UDP" });
    expect(client.spec.secretRef).to.deep.equal({ name: "keys" });
    expect(client.spec.clientTemplateRef).to.include({ kind: "WgGatewayClientTemplate", name: "own" });
    expect(client.spec.endpoint?.addresses).to.deep.equal(["1.1.1.1", "nat.example.com"]);
  });

  it("refuses one address and several at once", () => {
    const found: string[] = [];
    const failures = { add: (path: string, why: string) => found.push(`${path}: ${why}`) } as unknown as Failures;
    checkGateways({ gatewayClient: { address: "1.1.1.1", addresses: ["1.1.1.2"], templateName: "t" } }, failures);
    expect(found).to.deep.equal(["gatewayClient.addresses: either this or gatewayClient.address may be set, not both"]);
  });

  it("refuses options that the type of Service does not know", () => {
    const found: string[] = [];
    const failures = { add: (path: string) => found.push(path) } as unknown as Failures;
    checkGateways(
      { gatewayServer: { type: "NodePort", loadBalancerIP: "1.2.3.4", port: 1, templateName: "t" } },
      failures,
    );
    checkGateways({ gatewayServer: { type: "ClusterIP", nodePort: 3, port: 1, templateName: "t" } }, failures);
    checkGateways(
      { gatewayServer: { type: "NodePort", loadBalancerClass: "edge", port: 1, templateName: "t" } },
      failures,
    );
    expect(found).to.deep.equal([
      "gatewayServer.loadBalancerIP",
      "gatewayServer.nodePort",
      "gatewayServer.loadBalancerClass",
    ]);
  });

  it("reads ranges once every Network has one", () => {
    const network = (type: string, cidr?: string) =>
      NetworkResource.build({
        metadata: { name: type, labels: { "ipam.liqo.io/network-type": type } },
        spec: { cidr: cidr ?? "10.0.0.0/16" },
        status: { cidr },
      });
    expect(judgeRanges([network("pod-cidr", "10.1.0.0/16"), network("external-cidr", "10.70.0.0/16")])).to.deep.equal({
      done: { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] },
    });
    expect(judgeRanges([network("pod-cidr", "10.1.0.0/16")])).to.have.property("waiting");
    expect(judgeRanges([network("pod-cidr"), network("external-cidr", "10.70.0.0/16")])).to.have.property("waiting");
  });

  it("takes a mapping when it is complete and of this generation", () => {
    const configuration = (status: object, observedGeneration = 2) => {
      const condition = {
        type: "NetworkCIDRsConfigured",
        status: "True" as const,
        observedGeneration,
        lastTransitionTime: "",
        reason: "x",
        message: "",
      };
      const spec = { remote: { cidr: { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] } } };
      return ConfigurationResource.build({
        metadata: { name: "b" },
        spec,
        status: { ...status, conditions: [condition] },
      });
    };
    const mapped = { remote: { cidr: { pod: ["10.60.0.0/16"], external: ["10.71.0.0/16"] } } };
    expect(judgeMapping(configuration(mapped), 2)).to.deep.equal({
      done: { pod: ["10.60.0.0/16"], external: ["10.71.0.0/16"] },
    });
    expect(judgeMapping(configuration(mapped, 1), 2)).to.have.property("waiting");
    expect(judgeMapping(configuration({ remote: { cidr: { pod: ["10.60.0.0/16"] } } }), 2)).to.have.property("waiting");
  });

  it("takes an endpoint when it has an address and the wanted port", () => {
    const server = (addresses: string[], port: number, nodePort?: number): GatewayServer =>
      GatewayServerResource.build({
        metadata: { name: "b" },
        spec: { endpoint: { port: 51840, serviceType: "NodePort", nodePort } },
        status: { endpoint: { addresses, port } },
      });
    expect(judgeEndpoint(server(["1.2.3.4"], 30000))).to.have.nested.property("done.port", 30000);
    expect(judgeEndpoint(server([""], 30000))).to.have.property("waiting");
    expect(judgeEndpoint(server(["1.2.3.4"], 30000, 30001))).to.have.property("waiting");
    const balanced = GatewayServerResource.build({
      metadata: { name: "b" },
      spec: { endpoint: { port: 51840, serviceType: "LoadBalancer" } },
    });
    expect(judgeEndpoint(balanced)).to.have.property("waiting").that.contains("set gatewayServer.type to NodePort");
  });

  it("does not take the endpoint of a spec from before for that of a changed one", () => {
    const server = (observedGeneration: number): GatewayServer =>
      GatewayServerResource.build({
        metadata: { name: "b", generation: 2 },
        spec: { endpoint: { port: 51840, serviceType: "NodePort" } },
        status: {
          endpoint: { addresses: ["192.0.2.1"], port: 51840 },
          conditions: [
            { type: "Accepted", status: "True", reason: "R", message: "", lastTransitionTime: "", observedGeneration },
          ],
        },
      });
    expect(judgeNewEndpoint(server(1), 2)).to.have.property("waiting");
    expect(judgeNewEndpoint(server(2), 2)).to.have.nested.property("done.port", 51840);
    expect(judgeNewEndpoint(undefined, 2)).to.have.property("failed");
  });

  it("runs once what its spec asks now has been made, and nothing from before runs", () => {
    const accepted = { type: "Accepted", reason: "R", message: "spec.x: is wrong", lastTransitionTime: "" };
    const gateway = (observedGeneration: number, status: "True" | "False") =>
      GatewayServerResource.build({
        metadata: { name: "b", generation: 2 },
        spec: {},
        status: {
          conditions: [{ ...accepted, status, observedGeneration }],
        },
      });
    expect(judgeAccepted(gateway(1, "True"), 2)).to.have.property("waiting");
    expect(judgeAccepted(gateway(2, "False"), 2)).to.deep.equal({ waiting: "spec.x: is wrong", forMs: 15_000 });
    expect(judgeAccepted(gateway(2, "True"), 2)).to.have.property("done");
    expect(judgeAccepted(GatewayServerResource.build({ metadata: { name: "b" }, spec: {} }), 2)).to.have.property(
      "done",
    );
    const rolledOut = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1 };
    const deployment = (status: object) => ({ metadata: { generation: 2 }, status: { ...rolledOut, ...status } });
    expect(judgeDeployment(deployment({}))).to.have.property("done");
    for (const status of [{ observedGeneration: 1 }, { updatedReplicas: 0 }, { readyReplicas: 0 }])
      expect(judgeDeployment(deployment(status))).to.have.property("waiting");
  });

  it("is connected when the Connection says so", () => {
    const connection = (value: string) =>
      ConnectionResource.build({
        metadata: { name: "gw-b" },
        spec: { type: "Client", gatewayRef: {} },
        status: { value },
      });
    expect(judgeConnection([connection("Connected")])).to.deep.equal({ done: "Connected" });
    expect(judgeConnection([connection("Error")]))
      .to.have.property("waiting")
      .that.contains("UDP port");
    expect(judgeConnection([])).to.have.property("waiting");
  });

  it("is not done while full-size packets do not pass, or an earlier state is told", () => {
    const connection = (status: object) => [
      ConnectionResource.build({
        metadata: { name: "gw-b" },
        spec: { type: "Client", gatewayRef: {} },
        status: { value: "Connected", mtu: 1480, fullSizePackets: "Pass", ...status },
      }),
    ];
    expect(judgeConnection(connection({}), { mtu: 1480 })).to.deep.equal({ done: "Connected" });
    expect(judgeConnection(connection({ mtu: 1340 }), { mtu: 1480 })).to.have.property("waiting");
    expect(judgeConnection(connection({ fullSizePackets: undefined }))).to.have.property("waiting");
    const elsewhere = connection({ endpoint: "192.0.2.1:1" });
    expect(judgeConnection(elsewhere, { endpoint: { port: 2 } })).to.have.property("waiting");
    expect(judgeConnection(elsewhere, { endpoint: { addresses: ["192.0.2.2"], port: 1 } })).to.have.property("waiting");
    const endpoint = { addresses: ["server.example", "192.0.2.2"], port: 1 };
    expect(judgeConnection(elsewhere, { endpoint })).to.have.property("done");
    const server = connection({ endpoint: ":51840" });
    expect(judgeConnection(server, { endpoint: { port: 51_841 } }))
      .to.have.property("waiting")
      .that.contains("still listens on UDP port 51840");
    expect(judgeConnection(server, { endpoint: { port: 51_840 } })).to.have.property("done");
    const lost = connection({ fullSizePackets: "Lost", message: "the MTU is too large: …" });
    expect(judgeConnection(lost)).to.have.property("failed").that.contains("mtu: the MTU is too large");
    const former = connection({ publicKey: "former", peerPublicKey: "peer" });
    expect(judgeConnection(former, { publicKey: "new", peerPublicKey: "peer" })).to.have.property("waiting");
    expect(judgeConnection(former, { publicKey: "former", peerPublicKey: "new" })).to.have.property("waiting");
    expect(judgeConnection(former, { publicKey: "former", peerPublicKey: "peer" })).to.have.property("done");
    expect(judgeConnection(connection({}), { publicKey: "new" })).to.have.property("done");
  });

  it("uses the other direction's gateways where there are some", () => {
    const ends = { consumer: { side: "consumer" }, provider: { side: "provider" } } as LinkEnds;
    const gateway = { metadata: {}, spec: {} } as GatewayServer;
    expect(orient(ends, { consumer: {}, provider: {} }, "Provider").server.end.side).to.equal("provider");
    expect(orient(ends, { consumer: {}, provider: {} }, "Consumer").server.end.side).to.equal("consumer");
    expect(orient(ends, { consumer: { server: gateway }, provider: {} }, "Provider").server.end.side).to.equal(
      "consumer",
    );
    expect(orient(ends, { consumer: {}, provider: { server: gateway } }, "Provider").server.end.side).to.equal(
      "provider",
    );
  });

  it("marks which direction uses it, each as a manager of its own", () => {
    const forward = { side: "consumer", clusterId: "a", remoteId: "b" } as const;
    const reverse = { side: "provider", clusterId: "a", remoteId: "b" } as const;
    expect(directionManager(forward)).to.equal("pulumi-liqo/a");
    expect(directionManager(reverse)).to.equal("pulumi-liqo/b");
    expect(isUsedByReverse(forward, { [linkAnnotation(forward)]: "true" })).to.equal(false);
    expect(isUsedByReverse(forward, { [linkAnnotation(reverse)]: "true" })).to.equal(true);
    const left = { [linkAnnotation(reverse)]: LEFT };
    expect([isUsedByReverse(forward, left), isLeftByReverse(forward, left)]).to.deep.equal([false, true]);
    expect(isLeftByReverse(forward, { [linkAnnotation(forward)]: LEFT })).to.equal(false);
  });
});
