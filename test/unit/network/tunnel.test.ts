import { mock } from "node:test";
import dgram from "node:dgram";
import { once } from "node:events";
import { expect } from "chai";
import { until } from "../../clusters/support/wait.js";
import { freePorts } from "../../integration/support/programs.js";
import type { Node, Pod, Secret, Service } from "kubernetes-types/core/v1";
import { ConnectionCheck, type ConnectionResult } from "../../../agent/gateway/connection-check.js";
import { EndpointChooser } from "../../../agent/gateway/endpoint-chooser.js";
import { endpointMessage, parseEndpointMessage } from "../../../agent/gateway/endpoint-message.js";
import { formatLatency, parsePingMessage, pingMessage, pongMessage } from "../../../agent/gateway/ping-message.js";
import { parseDump, wireguardChanges } from "../../../agent/gateway/wireguard.js";
import { gatewayEndpoint } from "../../../agent/controller/network/gateways/endpoint.js";
import { keySecretName, keySecretProblem, newKeyPair } from "../../../agent/controller/network/gateways/key-secret.js";

describe("WireGuard's configuration", () => {
  const dump = "PRIVATE\tPUBLIC\t51840\toff\nPEER\t(none)\t192.0.2.1:4000\t0.0.0.0/0\t1700000000\t10\t20\toff\n";
  const status = parseDump(dump);
  const config = { privateKey: "PRIVATE", listenPort: 51840, peer: { publicKey: "PEER" } };

  it("is read as wg prints it", () => {
    expect(status.peers[0]).to.deep.include({
      publicKey: "PEER",
      endpoint: "192.0.2.1:4000",
      latestHandshake: 1_700_000_000,
    });
    expect(parseDump("(none)\t(none)\t0\toff\n").peers).to.deep.equal([]);
  });

  it("is left alone when nothing differs, and a server keeps the endpoint it has learnt", () => {
    expect(wireguardChanges(config, status, undefined)).to.equal(undefined);
  });

  it("changes what differs, without the key among the arguments", () => {
    const change = wireguardChanges({ ...config, privateKey: "NEW", peer: { publicKey: "OTHER" } }, status, undefined);
    expect(change).to.deep.equal({
      privateKey: "NEW",
      args: ["peer", "PEER", "remove", "peer", "OTHER", "allowed-ips", "0.0.0.0/0"],
    });
    expect(wireguardChanges({ ...config, peer: undefined }, status, undefined)?.args).to.deep.equal([
      "peer",
      "PEER",
      "remove",
    ]);
  });

  it("follows a peer that answers from elsewhere until another endpoint is asked for", () => {
    const at = (endpoint: string) => ({ ...config, peer: { publicKey: "PEER", endpoint } });
    expect(wireguardChanges(at("192.0.2.2:1"), status, "192.0.2.2:1")).to.equal(undefined);
    expect(wireguardChanges(at("192.0.2.3:1"), status, "192.0.2.2:1")?.args).to.include("192.0.2.3:1");
  });
});

describe("the connection check", () => {
  it("speaks the peer's format", () => {
    expect(String(pingMessage("b", "2025-05-01T10:20:30.123Z"))).to.equal(
      '{"clusterID":"b","msgType":"PING","timeStamp":"2025-05-01T10:20:30.123Z"}',
    );
    const ping = parsePingMessage(
      Buffer.from('{"clusterID":"x","msgType":"PING","timeStamp":"2025-05-01T10:20:30.123456789+02:00"}'),
    );
    expect(ping && String(pongMessage(ping))).to.equal(
      '{"clusterID":"x","msgType":"PONG","timeStamp":"2025-05-01T10:20:30.123456789+02:00"}',
    );
    for (const text of [
      "",
      "{}",
      "null",
      '{"clusterID":1}',
      '{"clusterID":"a","msgType":"X","timeStamp":""}',
      " ".repeat(2000),
    ]) {
      expect(parsePingMessage(Buffer.from(text))).to.equal(undefined);
    }
  });

  it("writes latencies as others do", () => {
    expect([0, 0.0004, 0.34, 1, 12.6].map(formatLatency)).to.deep.equal(["N/A", "1μs", "340μs", "1ms", "13ms"]);
  });

  it("finds the peer at once", async () => {
    const results: ConnectionResult[] = [];
    const [port] = await freePorts(1);
    const check = new ConnectionCheck({
      remoteClusterID: "b",
      peerAddress: "127.0.0.1",
      // Far longer than is waited for.
      intervalMs: 60_000,
      lossThreshold: 5,
      port,
      onResult: (result) => results.push(result),
    });
    await check.listen();
    check.start();
    await until("a result", 10_000, () => results.length > 0 || undefined, 5);
    expect(results[0]).to.include({ connected: true });
    check.close();
  });
});

describe("a connection check whose clock is set back", () => {
  afterEach(() => mock.timers.reset());

  it("goes on hearing the peer", async () => {
    const results: ConnectionResult[] = [];
    const [port] = await freePorts(1);
    const options = { remoteClusterID: "b", peerAddress: "127.0.0.1", intervalMs: 100, lossThreshold: 30, port };
    const check = new ConnectionCheck({ ...options, onResult: (result) => results.push(result) });
    await check.listen();
    try {
      check.start();
      await until("an answer", 10_000, () => Promise.resolve(results.length > 0 || undefined));
      mock.timers.enable({ apis: ["Date"], now: Date.now() - 3_600_000 });
      const heard = results.length;
      // Longer than it takes to be given up.
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      expect(results.length).to.be.above(heard + 2);
      expect(results.filter(({ connected }) => !connected)).to.deep.equal([]);
    } finally {
      check.close();
    }
  });
});

describe("the answer to a connection check", () => {
  it("goes to whoever asks, from whatever port, for whatever cluster; other messages are passed over", async () => {
    const [port] = await freePorts(1);
    const options = { remoteClusterID: "b", peerAddress: "127.0.0.1", intervalMs: 2_000, lossThreshold: 5, port };
    const check = new ConnectionCheck({ ...options, onResult: () => undefined });
    await check.listen();
    const asking = dgram.createSocket("udp4");
    try {
      const message = (msgType: string): string =>
        JSON.stringify({ clusterID: "somebody else's", msgType, timeStamp: "2025-05-01T10:20:30.123456789Z" });
      const answered = once(asking, "message");
      for (const text of [message("HELLO"), "nothing", message("PONG"), message("PING")])
        asking.send(text, port, "127.0.0.1");
      const [answer] = (await answered) as [Buffer];
      expect(String(answer)).to.equal(message("PONG"));
    } finally {
      asking.close();
      check.close();
    }
  });
});

describe("what a server says of where it is", () => {
  const endpoint = { addresses: ["192.0.2.1", "server.example"], port: 30_742 };
  const nodes = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`);

  it("is a message that the check for pings passes over, as Liqo does, and the other way round", () => {
    const message = endpointMessage("b", endpoint);
    expect(parseEndpointMessage(message)).to.deep.equal(endpoint);
    expect(parsePingMessage(message)).to.equal(undefined);
    expect(parseEndpointMessage(pingMessage("b", "2025-05-01T10:20:30Z"))).to.equal(undefined);
    for (const text of [
      "",
      "null",
      "[]",
      "{",
      '{"msgType":"ENDPOINT"}',
      '{"msgType":"ENDPOINT","addresses":1,"port":1}',
    ])
      expect(parseEndpointMessage(Buffer.from(text)), text).to.equal(undefined);
  });

  it("is never more than Liqo reads, whose first addresses it keeps", () => {
    const message = endpointMessage("b", { addresses: nodes, port: 30_742 });
    expect(message.length).to.be.at.most(1024);
    const { addresses = [] } = parseEndpointMessage(message) ?? {};
    expect(addresses.length).to.be.greaterThan(40);
    expect(addresses).to.deep.equal(nodes.slice(0, addresses.length));
  });

  it("reaches the peer once it answers, and again when it changes", async () => {
    const [port] = await freePorts(1);
    const options = { remoteClusterID: "b", peerAddress: "127.0.0.1", intervalMs: 100, lossThreshold: 30, port };
    const heard: object[] = [];
    const check = new ConnectionCheck({
      ...options,
      onResult: () => undefined,
      onEndpoint: (said) => void heard.push(said),
    });
    await check.listen();
    try {
      check.announce(endpoint);
      check.start();
      await until("the endpoint", 10_000, () => Promise.resolve(heard.length > 0 || undefined));
      check.announce({ ...endpoint, port: 30_743 });
      await until("the other endpoint", 10_000, () => Promise.resolve(heard.length > 1 || undefined));
      expect(heard).to.deep.equal([endpoint, { ...endpoint, port: 30_743 }]);
    } finally {
      check.close();
    }
  });
});

describe("a client's choice of the server's address", () => {
  it("keeps to one as long as it is among the answers", async () => {
    let answers = ["192.0.2.1", "192.0.2.2"];
    const chooser = new EndpointChooser({ addresses: ["server.example", "198.51.100.1"], port: 51840 }, () =>
      Promise.resolve(answers),
    );
    await chooser.refresh();
    expect(chooser.endpoint).to.equal("192.0.2.1:51840");
    answers = ["192.0.2.2", "192.0.2.1"];
    await chooser.refresh();
    expect(chooser.endpoint).to.equal("192.0.2.1:51840");
    answers = ["192.0.2.2"];
    await chooser.refresh();
    expect(chooser.endpoint).to.equal("192.0.2.2:51840");
    chooser.next();
    expect(chooser.endpoint).to.equal("198.51.100.1:51840");
  });

  it("goes where the server says that it is once the address it was given does not answer, and before others it was given", async () => {
    const chooser = new EndpointChooser({ addresses: ["192.0.2.1", "192.0.2.2"], port: 51840 });
    await chooser.refresh();
    expect(await chooser.learn({ addresses: ["198.51.100.1", "192.0.2.1"], port: 30742 })).to.equal(true);
    const tried = [chooser.endpoint];
    for (let attempt = 0; attempt < 4; attempt++) {
      chooser.next();
      tried.push(chooser.endpoint);
    }
    expect(tried).to.deep.equal([
      "192.0.2.1:51840",
      "198.51.100.1:30742",
      "192.0.2.1:30742",
      "192.0.2.2:51840",
      "192.0.2.1:51840",
    ]);
  });

  it("moves on with a server that says that it has moved again, and keeps to what it was given where nothing is said", async () => {
    const chooser = new EndpointChooser({ addresses: ["192.0.2.1"], port: 51840 });
    await chooser.refresh();
    expect(await chooser.learn(undefined)).to.equal(false);
    await chooser.learn({ addresses: ["198.51.100.1"], port: 51840 });
    chooser.next();
    expect(await chooser.learn({ addresses: ["198.51.100.1"], port: 51840 })).to.equal(false);
    expect(chooser.endpoint).to.equal("198.51.100.1:51840");
    await chooser.learn({ addresses: ["198.51.100.2"], port: 51840 });
    expect(chooser.endpoint).to.equal("198.51.100.2:51840");
    await chooser.learn(undefined);
    expect(chooser.endpoint).to.equal("192.0.2.1:51840");
  });
});

describe("a gateway server's endpoint", () => {
  const service = (type: string, status = {}): Service => ({
    spec: { type, clusterIPs: ["10.96.0.9"], ports: [{ port: 51840, nodePort: 30742 }] },
    status,
  });
  const node = (name: string, address: string, ready = "True"): Node => ({
    metadata: { name },
    status: { conditions: [{ type: "Ready", status: ready }], addresses: [{ type: "InternalIP", address }] },
  });
  const pod: Pod = { spec: { nodeName: "n2", containers: [] }, status: { podIP: "10.244.1.9" } };
  const nodes = [node("n1", "192.0.2.1"), node("n2", "192.0.2.2"), node("n3", "192.0.2.3", "False")];

  it("by type of Service", () => {
    expect(gatewayEndpoint(service("ClusterIP"), pod, nodes)).to.deep.equal({
      addresses: ["10.96.0.9"],
      port: 51840,
      protocol: "UDP",
    });
    expect(gatewayEndpoint(service("NodePort"), pod, nodes)?.addresses).to.deep.equal(["192.0.2.2", "192.0.2.1"]);
    expect(gatewayEndpoint(service("NodePort"), undefined, nodes)).to.equal(undefined);
    const loadBalancer = service("LoadBalancer", {
      loadBalancer: { ingress: [{ ip: "198.51.100.1" }, { hostname: "lb.example" }] },
    });
    expect(gatewayEndpoint(loadBalancer, pod, nodes)?.addresses).to.deep.equal(["198.51.100.1", "lb.example"]);
    expect(gatewayEndpoint(service("LoadBalancer"), pod, nodes)).to.equal(undefined);
  });
});

describe("a gateway's keys", () => {
  const labelled = (name: string) => ({ metadata: { name, labels: { "liqo.io/remote-cluster-id": "b" } } });
  const gateway = { name: "x", remoteClusterID: "b" };

  it("are found by name, by label, or made", () => {
    expect(keySecretName({ ...gateway, secretRef: "mine" }, [labelled("a")])).to.equal("mine");
    expect(keySecretName(gateway, [labelled("a")])).to.equal("a");
    expect(keySecretName(gateway, [])).to.equal("gw-x");
    expect(() => keySecretName(gateway, [labelled("a"), labelled("b")])).to.throw("a, b");
  });

  it("are not those that another gateway leaves, but may be those that one of the same name has left", () => {
    const isLeft = ({ metadata }: Secret) => metadata?.name?.startsWith("gw-") ?? false;
    expect(keySecretName(gateway, [labelled("gw-y")], isLeft)).to.equal("gw-x");
    expect(keySecretName(gateway, [labelled("gw-y"), labelled("a")], isLeft)).to.equal("a");
    expect(keySecretName({ ...gateway, name: "y" }, [labelled("gw-y")], isLeft)).to.equal("gw-y");
  });

  it("are 32 bytes each, clamped", () => {
    const data = newKeyPair();
    const bytes = Buffer.from(data.privateKey, "base64");
    expect([bytes.length, (bytes[0] ?? 0) & 7, (bytes[31] ?? 0) & 192]).to.deep.equal([32, 0, 64]);
    expect(keySecretProblem({ data }, "b")).to.equal(undefined);
    expect(keySecretProblem({ data: { ...data, publicKey: "AAAA" } }, "b")).to.contain(
      "data.publicKey must be 32 bytes, has 3",
    );
    expect(keySecretProblem({ ...labelled("a"), data }, "c")).to.contain("cluster b, not c");
  });
});
