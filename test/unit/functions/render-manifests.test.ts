import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import type { Node } from "kubernetes-types/core/v1";
import { parseAllDocuments } from "yaml";
import { quantitiesEqual } from "../../../agent/api/index.js";
import { agentManifests } from "../../../agent/install/index.js";
import { KubeClient, type KubeObject } from "../../../agent/runtime/index.js";
import type { CallContext } from "../../../provider/framework/index.js";
import { FailureList } from "../../../provider/framework/failures.js";
import { secretPathsOf, validateProperties } from "../../../provider/framework/validate.js";
import { renderManifests } from "../../../provider/functions/render-manifests.js";
import type { RenderInputs, RenderOutputs } from "../../../provider/functions/rendering/schema.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { WRITTEN, writtenPeering, type Role } from "../../support/written-peering.js";

type Given = Record<string, unknown>;

/** No cluster may be asked. */
const context = { signal: new AbortController().signal } as CallContext;

/** Of a cluster with these nodes, and nothing else. */
async function withCluster<T>(nodes: Node[], work: (context: CallContext, server: string) => Promise<T>): Promise<T> {
  const server = http.createServer((request, response) => {
    const isNodes = request.url?.startsWith("/api/v1/nodes") ?? false;
    const items = isNodes ? nodes : [];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ metadata: {}, items }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = KubeClient.fromText(kubeconfigOf(url));
  try {
    return await work({ ...context, client: () => Promise.resolve(client) }, url);
  } finally {
    client.close();
    server.close();
  }
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    clusters: [{ name: "one", cluster: { server, "insecure-skip-tls-verify": true } }],
    contexts: [{ name: "one", context: { cluster: "one", user: "one" } }],
    users: [{ name: "one", user: {} }],
    "current-context": "one",
  });
}

function render(given: Given, inContext = context): Promise<RenderOutputs> {
  const failures = new FailureList();
  const inputs = validateProperties(renderManifests.inputs, given, failures) as unknown as RenderInputs;
  expect(failures.toString()).to.equal("");
  return renderManifests.call(inContext, inputs);
}

const DECLARATIVE = {
  consumer: {
    clusterId: WRITTEN.consumer.id,
    podCIDRs: [WRITTEN.consumer.podCIDR],
    keys: WRITTEN.consumer.keys,
    names: {
      configuration: "to-provider",
      keySecret: "gw-keys",
      publicKey: "gw-publickey",
      gateway: "client",
      identity: "cplane-secret",
    },
  },
  provider: {
    clusterId: WRITTEN.provider.id,
    podCIDRs: [WRITTEN.provider.podCIDR],
    externalCIDR: WRITTEN.provider.externalCIDR,
    keys: WRITTEN.provider.keys,
    names: {
      configuration: "to-consumer",
      keySecret: "gw-keys",
      publicKey: "gw-publickey",
      gateway: "server",
      tenant: "my-tenant",
    },
  },
  networkLink: {
    gatewayServer: { type: "NodePort", nodePort: 30742 },
    endpoint: { addresses: [WRITTEN.provider.address] },
  },
  authentication: { userName: WRITTEN.userName, kubeconfig: WRITTEN.kubeconfig },
  resourceSlices: [{ name: WRITTEN.virtualNode, resources: { cpu: 20, memory: "128Gi" } }],
  namespaceOffloadings: [{ namespace: WRITTEN.namespace }],
};

const all = (side: RenderOutputs["consumer"]): KubeObject[] =>
  [...(side?.manifests ?? []), ...(side?.secretManifests ?? [])] as KubeObject[];

function documents(text: string): KubeObject[] {
  return parseAllDocuments(text, { version: "1.1" }).map((document) => document.toJS() as KubeObject);
}

const byHand = (role: Role): KubeObject[] => documents(writtenPeering(role));

/** Fields by their path. Absent, null and empty mean the same to the API server, as do one range and a list of one. */
function fields(value: unknown, at = ""): Map<string, unknown> {
  if (value === null || value === undefined) return new Map();
  if (typeof value !== "object") return new Map([[at, value]]);
  const isRange = /\.cidr\.(pod|external)$/.test(at) && Array.isArray(value) && value.length === 1;
  if (isRange) return new Map([[at, (value as unknown[])[0]]]);
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...fields(inner, `${at}.${key}`)]));
}

/** What is rendered beyond what must be written: none of it changes what the rest means. */
const ADDED: Record<string, RegExp> = {
  Namespace: /^\.metadata\.labels\.pod-security\.kubernetes\.io\/(enforce|audit|warn)$/,
  Configuration: /^\.metadata\.namespace$/,
  ResourceSlice: /^\.spec\.consumerClusterID$/,
};

function expectSame(rendered: KubeObject[], written: KubeObject[]): void {
  expect(rendered.map(({ kind }) => kind)).to.have.members(written.map(({ kind }) => kind));
  for (const manifest of written) {
    const { kind = "", metadata } = manifest;
    const same = rendered.find((one) => one.kind === kind && one.metadata?.name === metadata?.name);
    const have = fields(same);
    for (const [field, value] of fields(manifest)) {
      const isAmount = field.startsWith(".spec.resources.");
      const equal = isAmount ? quantitiesEqual(String(have.get(field)), String(value)) : have.get(field) === value;
      expect(equal, `${kind} ${field}: ${String(have.get(field))}, by hand ${String(value)}`).to.equal(true);
    }
    const beyond = [...have.keys()].filter((field) => !fields(manifest).has(field) && !ADDED[kind]?.test(field));
    expect(beyond, kind).to.deep.equal([]);
  }
}

describe("renderManifests", () => {
  it("renders what documents have people write by hand, field by field", async () => {
    const { consumer, provider, notes } = await render(DECLARATIVE);
    expect(notes).to.deep.equal([]);
    expectSame(all(provider), byHand("provider"));
    expectSame(all(consumer), byHand("consumer"));
  });

  it("gives the same objects as YAML, Secrets apart and secret", async () => {
    const outputs = await render(DECLARATIVE);
    for (const side of [outputs.consumer, outputs.provider]) {
      expect(documents(side?.yaml ?? "")).to.deep.equal(side?.manifests);
      expect(documents(side?.secretYaml ?? "")).to.deep.equal(side?.secretManifests);
      expect(side?.yaml).to.not.match(/privateKey|kubeconfig:/);
    }
    expect(secretPathsOf(renderManifests.outputs, outputs)).to.deep.equal([
      ["consumer", "secretManifests"],
      ["consumer", "secretYaml"],
      ["provider", "secretManifests"],
      ["provider", "secretYaml"],
    ]);
  });

  it("names objects as the resources do where no names are given, and lets the agents make the keys", async () => {
    const strip = (side: typeof DECLARATIVE.consumer | typeof DECLARATIVE.provider) => ({
      clusterId: side.clusterId,
      podCIDRs: side.podCIDRs,
      keys: { publicKey: side.keys.publicKey },
    });
    const { consumer, provider } = await render({
      ...DECLARATIVE,
      consumer: strip(DECLARATIVE.consumer),
      provider: strip(DECLARATIVE.provider),
      resourceSlices: [{}],
    });
    const names = (side: RenderOutputs["consumer"]) =>
      all(side).map(({ kind, metadata }) => `${kind} ${metadata?.name}`);
    expect(names(consumer)).to.have.members([
      "Namespace liqo-tenant-provider",
      "Configuration provider",
      "PublicKey provider",
      "GatewayClient provider",
      "Secret kubeconfig-controlplane-provider",
      "ResourceSlice provider",
      "NamespaceOffloading offloading",
    ]);
    expect(names(provider)).to.include.members(["GatewayServer consumer", "Tenant consumer"]);
    const server = all(provider).find(({ kind }) => kind === "GatewayServer") as { spec?: object } | undefined;
    expect(server?.spec).to.not.have.property("secretRef");
  });

  it("gives objects the labels and annotations that their resource has for them", async () => {
    const chosen = { objectLabels: { team: "platform" }, objectAnnotations: { note: "x" } };
    const { consumer, provider } = await render({
      ...DECLARATIVE,
      networkLink: { ...DECLARATIVE.networkLink, ...chosen },
      authentication: { ...DECLARATIVE.authentication, ...chosen },
      resourceSlices: [chosen],
      virtualNodes: [{ name: "n", resourceSliceName: "provider", ...chosen }],
      namespaceOffloadings: [{ namespace: "demo", createNamespace: true, ...chosen }],
    });
    const objects = [...all(consumer), ...all(provider)].filter(
      ({ metadata }) => !metadata?.name?.startsWith("liqo-tenant-"),
    );
    expect(objects).to.have.length(15);
    for (const { kind, metadata } of objects) {
      expect(metadata?.labels, kind).to.include({ team: "platform" });
      expect(metadata?.annotations, kind).to.include({ note: "x" });
    }
    const slice = objects.find(({ kind }) => kind === "ResourceSlice");
    expect(slice?.metadata?.annotations).to.include({ "liqo.io/create-virtual-node": "true" });
  });

  it("gives a NamespaceOffloading the annotations that its inputs stand for", async () => {
    const settings = {
      evictionAfterDisconnect: 30,
      evictionAfterUnschedulable: "never",
      deleteRemoteVolumes: true,
      apiServerSupport: "remote",
    };
    const { consumer } = await render({
      consumer: { clusterId: "a" },
      namespaceOffloadings: [{ namespace: "demo", ...settings, objectAnnotations: { note: "x" } }],
    });
    const [offloading] = all(consumer);
    expect(offloading?.metadata?.annotations).to.deep.equal({
      "offloading.liqo.io/eviction-after-disconnect": "30",
      "offloading.liqo.io/eviction-after-unschedulable": "never",
      "offloading.liqo.io/delete-remote-volumes": "true",
      "liqo.io/api-server-support": "remote",
      note: "x",
    });
  });

  it("says what is not known yet, and where to find it", async () => {
    const { consumer, provider, notes } = await render({
      consumer: { clusterId: "a", podCIDRs: ["10.1.0.0/16"] },
      provider: { clusterId: "b", podCIDRs: ["10.2.0.0/16"] },
      networkLink: { gatewayServerLocation: "Consumer" },
      authentication: { inBand: true },
      resourceSlices: [{ cordoned: true }],
    });
    expect(all(consumer).map(({ kind }) => kind)).to.have.members([
      "Namespace",
      "Configuration",
      "GatewayServer",
      "ResourceSlice",
    ]);
    expect(all(provider).map(({ kind }) => kind)).to.have.members(["Namespace", "Configuration", "Secret"]);
    expect(notes.join("\n"))
      .to.match(/provider: the GatewayClient is left out.*networkLink\.endpoint/)
      .and.match(/consumer: the PublicKey is left out.*provider\.keys/)
      .and.match(/provider: the PublicKey is left out.*consumer\.keys/)
      .and.match(/proxyURL/)
      .and.match(/provider: the Tenant is left out.*handshake/)
      .and.match(/nonce signed is left out.*liqo-tenant-a\/liqo-nonce/)
      .and.match(/Identity is left out.*authParams/)
      .and.match(/kubectl annotate resourceslice -n liqo-tenant-a b liqo.io\/cordon=true/);
  });

  it("renders each step of a handshake once it is known", async () => {
    const handshake = {
      nonce: "bg==",
      publicKey: "cA==",
      csr: "Yw==",
      signature: "cw==",
      authParams: { signedCRT: "eA==", apiServer: "https://10.0.0.1:6443" },
    };
    const { consumer, provider, notes } = await render({
      consumer: { clusterId: "a" },
      provider: { clusterId: "b" },
      authentication: { handshake, tenantCondition: "Cordoned" },
    });
    expect(notes).to.deep.equal([]);
    const find = (side: RenderOutputs["consumer"], kind: string) =>
      all(side).find((one) => one.kind === kind) as { spec?: unknown; data?: unknown } | undefined;
    expect(find(provider, "Tenant")?.spec).to.deep.equal({
      clusterID: "a",
      publicKey: "cA==",
      csr: "Yw==",
      signature: "cw==",
      tenantCondition: "Cordoned",
    });
    expect(find(consumer, "Secret")?.data).to.deep.equal({ nonce: "bg==" });
    expect(find(consumer, "Identity")?.spec).to.deep.equal({
      clusterID: "b",
      type: "ControlPlane",
      namespace: "liqo-tenant-a",
      authParams: handshake.authParams,
    });
  });

  it("renders an installation as the Agent applies it", async () => {
    const agent = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16", imagePullSecrets: ["pull"] };
    const { consumer } = await render({ consumer: { clusterId: "a", agent } });
    const inputs = agentInputs.parse({ clusterId: "a", ...agent });
    const applied = agentManifests(
      installInputs(inputs, { podCIDRs: agent.podCIDRs, serviceCIDR: agent.serviceCIDR, apiServerAddress: "" }),
    );
    expect(consumer?.manifests).to.deep.equal(JSON.parse(JSON.stringify(applied)));
    expect(documents(consumer?.yaml ?? "")).to.deep.equal(consumer?.manifests);
  });

  it("renders an installation without a network where nobody tells the ranges", async () => {
    const { consumer } = await render({ consumer: { clusterId: "a", agent: { networkingEnabled: false } } });
    const kinds = all(consumer).map(({ kind }) => kind);
    expect(kinds).to.contain("Deployment").and.not.contain("DaemonSet");
  });

  it("renders for a cluster without control-plane nodes where its API server is, as the Agent would", async () => {
    const node = (labels: Record<string, string>): Node => ({
      metadata: { name: "n", labels },
      status: { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] },
    });
    const ranges = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };
    const rendered = (labels: Record<string, string>): Promise<string[]> =>
      withCluster([node(labels)], async (inContext, server) => {
        const given = { consumer: { clusterId: "a", agent: ranges, cluster: { kubeconfig: kubeconfigOf(server) } } };
        const text = JSON.stringify((await render(given, inContext)).consumer?.manifests);
        return (text.match(/--api-server-address=[^"]*/g) ?? []).map((one) => one.replace(server, "the server"));
      });
    expect(await rendered({})).to.deep.equal(["--api-server-address=the server"]);
    expect(await rendered({ "node-role.kubernetes.io/control-plane": "" })).to.deep.equal([]);
  });

  for (const [what, given, message] of [
    ["nothing to render for", {}, /^consumer, provider: give at least one/],
    [
      "one cluster of a link",
      { consumer: { clusterId: "a" }, networkLink: {} },
      /^provider: is needed for networkLink/,
    ],
    ["no ID", { consumer: {} }, /^consumer\.clusterId: is needed, as no cluster is given/],
    ["one ID twice", { consumer: { clusterId: "a" }, provider: { clusterId: "a" } }, /both are "a"/],
    [
      "no ranges",
      { consumer: { clusterId: "a" }, provider: { clusterId: "b" }, networkLink: {} },
      /^provider\.podCIDRs: is needed for the consumer's Configuration/,
    ],
    ["an agent without ranges", { consumer: { clusterId: "a", agent: {} } }, /^consumer\.agent\.podCIDRs: is needed/],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const error = await render(given).then(
        () => undefined,
        (reason: unknown) => reason as Error,
      );
      expect(error?.message).to.match(message);
    });
  }

  it("reports wrong values by their path, and no key in the message", () => {
    const failures = new FailureList();
    const wrong = {
      consumer: { clusterId: "A!", keys: { publicKey: "short", privateKey: "my-private-key" } },
      networkLink: { mtu: 10, gatewayServer: { type: "Ingress" } },
      authentication: { handshake: { nonce: "%" } },
    };
    validateProperties(renderManifests.inputs, wrong, failures);
    expect(failures.toString())
      .to.match(/consumer\.clusterId: "A!" is not a cluster ID/)
      .and.match(/consumer\.keys\.publicKey: must be the 32 bytes/)
      .and.match(/consumer\.keys\.privateKey: must be the 32 bytes/)
      .and.match(/networkLink\.mtu: must be at least 1280, not 10/)
      .and.match(/networkLink\.gatewayServer\.type: must be one of LoadBalancer/)
      .and.match(/authentication\.handshake\.nonce: must be base64/)
      .and.not.match(/my-private-key/);
  });
});
