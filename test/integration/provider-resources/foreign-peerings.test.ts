import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import {
  ConfigurationResource,
  ConnectionResource,
  DataKeys,
  definedResources,
  GatewayClientResource,
  gatewayResourceName,
  GatewayServerResource,
  IdentityResource,
  Labels,
  NamespaceOffloadingResource,
  PublicKeyResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import { NamespaceResource, SecretResource, type KubeObject, type ResourceType } from "../../../agent/runtime/index.js";
import { writtenPeering, type Role } from "../../support/written-peering.js";
import {
  authenticate,
  makeTenantNamespaces,
  requestSlice,
  waitForObject,
  type Peer,
} from "../authentication/peering.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { Plugin, type Kept } from "./support/plugin.js";
import { startSimulatedPair, type Side, type SimulatedPair } from "./support/simulated-pair.js";
import { identitySecret } from "./support/slice-identity.js";

const MANAGER = { fieldManager: "liqoctl" };
const PAIR = "consumer/provider";
const CONTEXTS = "consumer,provider";

/** What each import is about: an object that is the resource's own, and where it is. */
const SUBJECTS = {
  NetworkLink: { side: "provider", type: GatewayServerResource },
  Authentication: { side: "provider", type: TenantResource },
  ResourceSlice: { side: "consumer", type: ResourceSliceResource },
  VirtualNode: { side: "consumer", type: VirtualNodeResource },
  NamespaceOffloading: { side: "consumer", type: NamespaceOffloadingResource },
} as const;

/** Real API servers with simulated agents: peerings that others have made are imported as they are, and changed from then on. */
describe("peerings made by others", function () {
  this.timeout(300_000);
  let servers: Record<Side, ApiServer>;
  let consumer: Peer;
  let provider: Peer;
  let simulated: SimulatedPair;
  let plugin: Plugin;

  beforeEach(async function () {
    this.timeout(START_LIMIT_MS);
    const podCIDRs = { consumer: "10.42.0.0/16", provider: "10.43.0.0/16" };
    simulated = await startSimulatedPair({ podCIDRs, asContexts: true });
    ({ servers } = simulated);
    consumer = { id: "consumer", client: servers.consumer.client };
    provider = { id: "provider", client: servers.provider.client };
    plugin = await Plugin.start();
  });
  afterEach(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  /** Imports it, sees no change, and changes it: what was there is taken over, under its own name. */
  async function takesOver(type: keyof typeof SUBJECTS, id: string): Promise<void> {
    const { side, type: kind } = SUBJECTS[type];
    const { client } = servers[side];
    const imported = (await plugin.import(type, id)) as Kept;
    expect(imported?.id, `${type} ${id}`).to.equal(id.split("@")[0]);
    expect(imported.state["drift"], type).to.deep.equal([]);
    expect(await plugin.diff(imported, imported.inputs), type).to.deep.equal({});
    expect((await plugin.refresh(imported))?.state["drift"], type).to.deep.equal([]);
    const before = await named(client, kind);
    const inputs = { ...imported.inputs, objectLabels: { env: "test" } };
    const changed = await plugin.update(imported, inputs);
    const after = await named(client, kind);
    expect([...after.keys()], type).to.deep.equal([...before.keys()]);
    for (const { metadata } of after.values()) {
      expect(metadata?.labels, type).to.include({ env: "test" });
      expect(
        metadata?.managedFields?.map(({ manager }) => manager),
        type,
      ).to.include("pulumi-liqo");
    }
    const refreshed = await plugin.refresh(changed);
    expect(refreshed?.state["drift"], type).to.deep.equal([]);
    expect(await plugin.diff(refreshed!, inputs), type).to.deep.equal({});
  }

  /** What the simulated slice's virtual node names; nobody logs in with it. The namespace stays as its makers have it. */
  function makeIdentity(): Promise<KubeObject> {
    const metadata = identitySecret("provider");
    return consumer.client.apply(SecretResource, { metadata, stringData: { kubeconfig: "{}" } }, MANAGER);
  }

  it("by Liqo's command line", async () => {
    await peerLikeLiqoctl(consumer, provider);
    await simulated.rest();
    await takesOver("NetworkLink", `${PAIR}@${CONTEXTS}`);
    await takesOver("Authentication", `${PAIR}@${CONTEXTS}`);
    await takesOver("ResourceSlice", `${PAIR}/provider@${CONTEXTS}`);
    await makeIdentity();
    await takesOver("VirtualNode", `${PAIR}/provider@consumer`);
    await takesOver("NamespaceOffloading", "consumer/shop@consumer");
  });

  it("by manifests, as the documentation of declarative peerings writes them", async () => {
    await consumer.client.apply(NamespaceResource, { metadata: { name: "demo" } }, MANAGER);
    for (const [{ client }, role] of [
      [consumer, "consumer"],
      [provider, "provider"],
    ] as const) {
      for (const manifest of manifestsOf(role)) await client.apply(resourceTypeOf(manifest), manifest, MANAGER);
    }
    await waitForObject(
      consumer.client,
      ConnectionResource,
      { name: "gw-publickey", namespace: "liqo-tenant-provider" },
      "connected",
      ({ status }) => status?.value === "Connected",
    );
    await waitForObject(
      consumer.client,
      ResourceSliceResource,
      { name: "mynode", namespace: "liqo-tenant-provider" },
      "granted",
      ({ status }) => status?.resources,
    );
    await simulated.rest();
    await takesOver("NetworkLink", `${PAIR}@${CONTEXTS}`);
    await takesOver("ResourceSlice", `${PAIR}/mynode@${CONTEXTS}`);
    await takesOver("NamespaceOffloading", "consumer/demo@consumer");
    // Without a handshake there is an identity all the same; the first change makes one by a handshake.
    await takesOver("Authentication", `${PAIR}@${CONTEXTS}`);
    expect((await consumer.client.list(IdentityResource)).items).to.have.length(1);
  });
});

async function named(client: ApiServer["client"], type: ResourceType): Promise<Map<string, KubeObject>> {
  const { items } = await client.list(type);
  const own = items.filter(({ metadata }) => metadata?.labels?.[Labels.replicated] !== "true");
  return new Map(own.map((object) => [`${object.metadata?.namespace}/${object.metadata?.name}`, object]));
}

/** What is written for a cluster, with ranges as the agent's webhook stores them. */
function manifestsOf(role: Role): KubeObject[] {
  const text = writtenPeering(role, (cluster) => ({
    ...cluster,
    podCIDR: `[${cluster.podCIDR}]`,
    externalCIDR: "[10.70.0.0/16]",
  }));
  const kinds = definedResources().map(({ kind }) => kind);
  return (
    parseAllDocuments(text)
      .map((document) => document.toJS() as KubeObject)
      .filter(({ kind = "" }) => ["Namespace", "Secret", ...kinds].includes(kind))
      // As kubectl does with what names none.
      .map((object) => ({ ...object, metadata: { namespace: "default", ...object.metadata } }))
  );
}

/** The objects of `liqoctl peer` and `offload namespace`, by their names and labels (control plane specification, §13). */
async function peerLikeLiqoctl(consumer: Peer, provider: Peer): Promise<void> {
  await makeTenantNamespaces(consumer, provider);
  await authenticate(consumer, provider);
  await requestSlice(consumer, provider, { cpu: "2" }, { withNode: true });
  const here = {
    name: "provider",
    namespace: "liqo-tenant-provider",
    labels: { [Labels.remoteClusterID]: "provider" },
  };
  const there = {
    name: "consumer",
    namespace: "liqo-tenant-consumer",
    labels: { [Labels.remoteClusterID]: "consumer" },
  };
  const cidr = (pod: string) => ({ remote: { cidr: { pod: [pod], external: ["10.70.0.0/16"] } } });
  await consumer.client.apply(ConfigurationResource, { metadata: here, spec: cidr("10.43.0.0/16") }, MANAGER);
  await provider.client.apply(ConfigurationResource, { metadata: there, spec: cidr("10.42.0.0/16") }, MANAGER);
  const template = (kind: string, name: string) => ({
    apiVersion: "networking.liqo.io/v1beta1",
    kind,
    name,
    namespace: "liqo",
  });
  const server = {
    mtu: 1340,
    endpoint: { port: 51840, serviceType: "LoadBalancer" as const },
    serverTemplateRef: template("WgGatewayServerTemplate", "wireguard-server"),
  };
  await provider.client.apply(GatewayServerResource, { metadata: there, spec: server }, MANAGER);
  const { status } = await waitForObject(
    provider.client,
    GatewayServerResource,
    { name: there.name, namespace: there.namespace },
    "endpoint",
    (gateway) => gateway.status?.endpoint?.addresses?.length,
  );
  const { addresses, port } = status?.endpoint ?? {};
  const client = {
    mtu: 1340,
    endpoint: { addresses, port, protocol: "UDP" as const },
    clientTemplateRef: template("WgGatewayClientTemplate", "wireguard-client"),
  };
  await consumer.client.apply(GatewayClientResource, { metadata: here, spec: client }, MANAGER);
  await Promise.all([exchangeKey(consumer, here, provider, there), exchangeKey(provider, there, consumer, here)]);
  await consumer.client.apply(NamespaceResource, { metadata: { name: "shop" } }, MANAGER);
  await consumer.client.apply(
    NamespaceOffloadingResource,
    {
      metadata: { name: "offloading", namespace: "shop" },
      spec: {
        clusterSelector: { nodeSelectorTerms: [] },
        namespaceMappingStrategy: "DefaultName",
        podOffloadingStrategy: "LocalAndRemote",
      },
    },
    MANAGER,
  );
  await waitForObject(
    consumer.client,
    NamespaceOffloadingResource,
    { name: "offloading", namespace: "shop" },
    "ready",
    ({ status }) => status?.offloadingPhase === "Ready",
  );
}

interface Named {
  name: string;
  namespace: string;
  labels: Record<string, string>;
}

async function exchangeKey(from: Peer, own: Named, to: Peer, other: Named): Promise<void> {
  const id = { name: gatewayResourceName(own.name), namespace: own.namespace };
  const keys = await waitForObject(from.client, SecretResource, id, "keys", ({ data }) => data?.[DataKeys.publicKey]);
  const metadata = { ...other, labels: { ...other.labels, [Labels.gatewayResource]: "true" } };
  const spec = { publicKey: keys.data?.[DataKeys.publicKey] };
  await to.client.apply(PublicKeyResource, { metadata, spec }, MANAGER);
  await waitForObject(
    to.client,
    ConnectionResource,
    { name: other.name, namespace: other.namespace },
    "connected",
    ({ status }) => status?.value === "Connected",
  );
}
