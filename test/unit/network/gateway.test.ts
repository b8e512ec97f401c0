import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod } from "kubernetes-types/core/v1";
import { explainNobody, explainPath, explainSilence, type Observations } from "../../../agent/gateway/diagnosis.js";
import { isPortRefused } from "../../../agent/gateway/endpoint-probe.js";
import { privateKeyOf } from "../../../agent/gateway/key-source.js";
import {
  HeartbeatListener,
  SILENCE_MS,
  type SiblingState,
} from "../../../agent/gateway/leadership/heartbeat-listener.js";
import { HeartbeatServer } from "../../../agent/gateway/leadership/heartbeat-server.js";
import { isVacant, nextLookMs, renewMs } from "../../../agent/gateway/leadership/leadership.js";
import { leaseName } from "../../../agent/gateway/leadership/lease-name.js";
import { PathProbeResponder, probePath } from "../../../agent/gateway/path-probe.js";
import { keySecretProblem, newKeyPair } from "../../../agent/controller/network/gateways/key-secret.js";
import { renderObject } from "../../../agent/controller/network/gateways/render-object.js";
import { wireguardPublicKey } from "../../../agent/crypto/wireguard-keys.js";
import { gatewayTemplateManifests } from "../../../agent/install/network-templates.js";
import { LEASE_SECONDS } from "../../../agent/runtime/holder-lease.js";
import { until } from "../../clusters/support/wait.js";
import { freePorts } from "../../integration/support/programs.js";

describe("the choice among a gateway's replicas", () => {
  const pod: Pod = { metadata: { name: "other" } };
  const held = { holder: "other", isOurs: false, isExpired: false, ageMs: 0 };

  it("leaves the place to a holder that lives", () => {
    for (const state of ["unknown", "alive", "silent"] as const) expect(isVacant(held, pod, state)).to.equal(false);
    expect(isVacant({ ...held, ageMs: 10_000 }, pod, "alive")).to.equal(false);
  });

  it("leaves it to one that is heard although its Lease has run out: it alone may be cut off from the API server", () => {
    const expired = { ...held, isExpired: true, ageMs: 20_000 };
    expect(isVacant(expired, pod, "alive")).to.equal(false);
    for (const state of ["unknown", "silent", "dead"] as const) expect(isVacant(expired, pod, state)).to.equal(true);
    expect(isVacant(expired, undefined, "alive"), "its pod has gone").to.equal(true);
    expect(isVacant({ ...expired, isOurs: true }, pod, "alive")).to.equal(true);
  });

  it("takes the place of one that has ended, gone, or is neither heard nor renews", () => {
    expect(isVacant(held, pod, "dead")).to.equal(true);
    expect(isVacant(held, undefined, "alive")).to.equal(true);
    expect(isVacant({ ...held, ageMs: 6_000 }, pod, "silent")).to.equal(true);
    expect(isVacant({ ...held, isExpired: true }, pod, "unknown")).to.equal(true);
    expect(isVacant({ ...held, holder: undefined }, undefined, "unknown")).to.equal(true);
  });

  it("looks at one that is not heard any more the moment its place is free, and at others now and then", () => {
    for (const state of ["unknown", "alive", "dead"] as const)
      expect(nextLookMs({ ageMs: 4_900 }, state)).to.equal(2_000);
    expect(nextLookMs({ ageMs: 0 }, "silent")).to.equal(2_000);
    for (const ageMs of [3_500, 4_000, 4_500]) {
      expect(isVacant({ ...held, ageMs: ageMs + nextLookMs({ ageMs }, "silent") }, pod, "silent")).to.equal(true);
      expect(nextLookMs({ ageMs }, "silent")).to.be.below(2_000);
    }
    // Not without a pause, should another one be trying just now.
    expect(nextLookMs({ ageMs: 9_000 }, "silent")).to.equal(500);
  });

  it("holds it by renewals well before it runs out, and often where others might believe it silent", () => {
    expect(renewMs(1) * 2).to.be.below(LEASE_SECONDS * 1_000);
    expect(renewMs(2) * 2).to.be.below(5_000);
    expect(renewMs(3)).to.equal(renewMs(2));
  });

  it("uses Liqo's name of the Lease", () => {
    expect(leaseName({ name: "b", namespace: "liqo-tenant-b", mode: "server" })).to.equal(
      "b.liqo-tenant-b.server.connections.liqo.io",
    );
  });

  it("sees the end of the holder's process at once", async () => {
    const [port] = await freePorts(1);
    const server = new HeartbeatServer(port);
    await server.listen();
    let changed: () => void = () => undefined;
    const states: SiblingState[] = [];
    const onChange = (): void => {
      states.push(listener.state);
      changed();
    };
    const listener = new HeartbeatListener(onChange, port);
    const untilIt = async (state: SiblingState): Promise<void> => {
      while (listener.state !== state) await new Promise<void>((resolve) => (changed = resolve));
    };
    listener.follow("127.0.0.1");
    await untilIt("alive");
    server.close();
    await untilIt("dead");
    listener.close();
    expect(states, "not by silence").to.deep.equal(["alive", "dead"]);
  });

  it("is heard by those who answer, and by nobody when they have gone", async () => {
    const [port] = await freePorts(1);
    const server = new HeartbeatServer(port);
    await server.listen();
    const listener = new HeartbeatListener(() => undefined, port);
    expect(server.isHeard).to.equal(false);
    listener.follow("127.0.0.1");
    await until("an answer", 10_000, () => server.isHeard || undefined);
    listener.close();
    await until("the end of answers", 10_000, () => !server.isHeard || undefined);
    server.close();
  });

  it("is not heard any more by one whose host has gone without a word, before that one gives it up", async () => {
    const [port = 0] = await freePorts(1);
    const server = new HeartbeatServer(port);
    await server.listen();
    const standby = net.connect({ host: "127.0.0.1", port });
    const [answeredAt] = await once(standby, "data").then(() => [Date.now(), standby.write(".")] as const);
    await until("an answer", 10_000, () => server.isHeard || undefined);
    const left = await until("its silence", 10_000, () => !server.isHeard || undefined, 10).then(() => Date.now());
    expect(standby.closed).to.equal(false);
    expect(left - answeredAt).to.be.below(SILENCE_MS);
    standby.destroy();
    server.close();
  });

  it("does not take one that lives without serving for the one that serves", async () => {
    const [port] = await freePorts(1);
    let serves = false;
    const server = new HeartbeatServer(port, () => serves);
    await server.listen();
    const states: SiblingState[] = [];
    const listener = new HeartbeatListener(() => states.push(listener.state), port);
    listener.follow("127.0.0.1");
    await until("silence", 10_000, () => listener.state === "silent" || undefined);
    serves = true;
    await until("a heartbeat", 10_000, () => listener.state === "alive" || undefined);
    listener.close();
    server.close();
    expect(states).to.deep.equal(["silent", "alive"]);
  });

  it("is made by templates with several replicas alone", () => {
    const inputs = { namespace: "liqo", image: "i", imagePullPolicy: "Always" as const, imagePullSecrets: [] };
    const text = (gatewayReplicas: number) =>
      JSON.stringify(gatewayTemplateManifests({ ...inputs, gatewayReplicas })[1]);
    expect(text(2)).to.contain("--leader-election").and.to.contain("RollingUpdate").and.not.contain("/active");
    expect(text(1)).to.contain('networking.liqo.io/active":"true"').and.to.contain("Recreate");
    expect(text(1)).to.not.contain("--leader-election");
  });

  it("leaves a node that is lost after seconds, not after Kubernetes' five minutes", () => {
    const inputs = { namespace: "liqo", image: "i", imagePullPolicy: "Always" as const, imagePullSecrets: [] };
    const patience = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 10 };
    for (const gatewayReplicas of [1, 2])
      for (const { spec } of gatewayTemplateManifests({ ...inputs, gatewayReplicas })) {
        const { deployment } = (renderObject(spec.template, {}) as { spec: { deployment: Deployment } }).spec;
        expect(deployment.spec?.template.spec?.tolerations).to.deep.equal([
          { key: "node.kubernetes.io/unreachable", ...patience },
          { key: "node.kubernetes.io/not-ready", ...patience },
        ]);
      }
  });

  it("has its keys in files that nobody else may read", () => {
    const inputs = { namespace: "liqo", image: "i", imagePullPolicy: "Always" as const, imagePullSecrets: [] };
    for (const { spec } of gatewayTemplateManifests(inputs)) {
      const { deployment } = (spec.template as { spec: { deployment: Deployment } }).spec;
      const { volumes = [], containers } = deployment.spec?.template.spec ?? { containers: [] };
      expect(volumes.map(({ secret }) => secret)).to.deep.equal([
        { secretName: "{{ .SecretName }}", defaultMode: 0o400 },
      ]);
      expect(containers[0]?.volumeMounts).to.deep.equal([
        { name: volumes[0]?.name, mountPath: "/etc/wireguard/keys", readOnly: true },
      ]);
    }
  });
});

describe("the diagnosis of a tunnel", () => {
  const seen: Observations = {
    mode: "client",
    remoteClusterID: "b",
    ownKey: "OWN",
    peerKey: "PEER",
    endpoint: "192.0.2.1:30742",
    endpointAddresses: ["192.0.2.1"],
    isRefused: false,
    listenPort: 51_840,
    requests: 0,
    hasSession: false,
  };

  it("names what a client can know", () => {
    expect(explainSilence(seen)).to.contain("UDP 192.0.2.1:30742: UDP is blocked").and.to.contain("must be OWN");
    expect(explainSilence({ ...seen, isRefused: true })).to.contain("nothing listens on UDP 192.0.2.1:30742");
    const unresolved = { ...seen, endpoint: undefined, endpointAddresses: ["gw.example"] };
    expect(explainSilence(unresolved)).to.contain("cannot be resolved: gw.example");
  });

  it("names what a server can know", () => {
    const server = { ...seen, mode: "server" as const };
    expect(explainSilence(server)).to.contain("nothing arrives").and.to.contain("51840");
    expect(explainSilence({ ...server, requests: 3 })).to.match(/keys do not match.*PEER.*OWN/);
    expect(explainSilence({ ...server, hasSession: true })).to.contain("12345");
  });

  it("names what is missing where there is nobody to connect to", () => {
    const end = { namespace: "liqo-tenant-b", remoteClusterID: "b", endpointAddresses: ["gw.example"] };
    expect(explainNobody({ ...end, isPeerKnown: false })).to.match(/no PublicKey of b's .* in namespace liqo-tenant-b/);
    expect(explainNobody({ ...end, isPeerKnown: true })).to.match(/b's gateway server cannot be resolved: gw.example/);
  });

  it("names an MTU that would do", () => {
    expect(explainPath({ state: "fits" }, 1340)).to.equal(undefined);
    expect(explainPath({ state: "unknown" }, 1340)).to.equal(undefined);
    expect(explainPath({ state: "lost", largest: 1380 }, 1420))
      .to.contain("1420 bytes do not reach")
      .and.contain("1380");
    expect(explainPath({ state: "fragmented", largest: 1440 }, 1480)).to.contain("in fragments");
  });

  it("finds out whether full-size packets arrive, also from a peer that knows no probes", async () => {
    const [port] = await freePorts(1);
    const probe = (signal = AbortSignal.timeout(5_000)) =>
      probePath({ peerAddress: "127.0.0.1", mtu: 1340, port }, signal);
    expect(await probe()).to.deep.equal({ state: "fits" });
    const responder = new PathProbeResponder(port);
    await responder.listen();
    expect(await probe()).to.deep.equal({ state: "fits" });
    responder.close();
  });

  it("sees a port on which nothing listens", async () => {
    const [port] = await freePorts(1);
    expect(await isPortRefused(`127.0.0.1:${port}`)).to.equal(true);
  });
});

describe("a gateway's own keys", () => {
  const pair = newKeyPair();

  it("belong together", () => {
    expect(wireguardPublicKey(pair.privateKey)).to.equal(pair.publicKey);
    const other = { ...pair, publicKey: newKeyPair().publicKey };
    expect(keySecretProblem({ data: pair }, "b")).to.equal(undefined);
    expect(keySecretProblem({ data: other }, "b"))
      .to.contain(pair.publicKey)
      .and.not.contain(pair.privateKey);
  });

  it("come from the Secret at once, and must be keys", async () => {
    expect(await privateKeyOf({ data: pair }, "/nowhere")).to.equal(pair.privateKey);
    const short = { metadata: { name: "k" }, data: { privateKey: "AAAA" } };
    const error = await privateKeyOf(short, "/nowhere").catch((reason: unknown) => reason);
    expect(String(error)).to.contain("Secret k: data.privateKey must be 32 bytes, has 3");
  });

  it("are told as WireGuard keeps them, however they are written", async () => {
    const bytes = Buffer.from(pair.privateKey, "base64");
    bytes[0] = (bytes[0] ?? 0) | 0x07;
    bytes[31] = ((bytes[31] ?? 0) & 0x3f) | 0x80;
    const [wished, written] = [Buffer.from(bytes), { ...pair, privateKey: bytes.toString("base64") }];
    wished[0] = (wished[0] ?? 0) & 0xf8;
    wished[31] = ((wished[31] ?? 0) & 0x7f) | 0x40;
    const publicKey = wireguardPublicKey(wished.toString("base64"));
    expect(await privateKeyOf({ data: { ...written, publicKey } }, "/nowhere")).to.equal(wished.toString("base64"));
  });

  it("of two pairs are not mixed: what runs keeps its own", async () => {
    const mixed = { metadata: { name: "k" }, data: { ...pair, publicKey: newKeyPair().publicKey } };
    const error = await privateKeyOf(mixed, "/nowhere").catch((reason: unknown) => reason);
    expect(String(error))
      .to.contain(`Secret k: data.publicKey does not belong to data.privateKey; the one that does is ${pair.publicKey}`)
      .and.not.contain(pair.privateKey);
  });
});
