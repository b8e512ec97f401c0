import { expect } from "chai";
import {
  GatewayClientResource,
  GatewayServerResource,
  IdentityResource,
  NamespaceOffloadingResource,
  PublicKeyResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import {
  KubeClient,
  NamespaceResource,
  ownerReference,
  type DeepPartial,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import type { Peer } from "../../../provider/preconditions/index.js";
import { identityManifest } from "../../../provider/resources/authentication/identity.js";
import { tenantManifest } from "../../../provider/resources/authentication/tenant.js";
import { offloadingManifest } from "../../../provider/resources/namespace-offloading/offload.js";
import { applyConfiguration } from "../../../provider/resources/network-link/configure.js";
import type { LinkEnd } from "../../../provider/resources/network-link/ends.js";
import {
  gatewayClientManifest,
  gatewayServerManifest,
  publicKeyManifest,
} from "../../../provider/resources/network-link/manifests.js";
import { linkOptions } from "../../../provider/resources/network-link/options.js";
import { networkLinkInputs } from "../../../provider/resources/network-link/schema.js";
import { isUsedByReverse } from "../../../provider/resources/network-link/users.js";
import { sliceManifest } from "../../../provider/resources/resource-slice/slice.js";
import {
  ensureTenantNamespace,
  MANAGER,
  releaseTenantNamespace,
} from "../../../provider/resources/tenant-namespace/index.js";
import { virtualNodeInputs } from "../../../provider/resources/virtual-node/schema.js";
import { virtualNodeManifest } from "../../../provider/resources/virtual-node/virtual-node.js";
import { waitFor, type Progress } from "../../../provider/waits/index.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { grant } from "./support/grant.js";

const progress = (): Progress => ({
  status: () => undefined,
  log: () => undefined,
  signal: new AbortController().signal,
  deadline: Date.now() + 10_000,
});

describe("the provider's objects on a real API server", function () {
  this.timeout(90_000);
  let server: ApiServer;
  let peer: Peer;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    const agent = { clusterId: "a", namespace: "liqo", isOwn: true, isAvailable: false };
    peer = { side: "consumer", client: server.client, clusterId: "a", agentNamespace: "liqo", agent };
  });
  after(async () => server?.stop());

  const apply = <T extends KubeObject>(type: ResourceType<T>, manifest: DeepPartial<T>): Promise<T> =>
    server.client.apply(type, manifest, { fieldManager: MANAGER });

  it("makes a tenant namespace once, however many ask at a time", async () => {
    const written: string[] = [];
    server.client.transport.onWritten = ({ method, path }) => written.push(`${method} ${path.replace(/\?.*/, "")}`);
    const results = await Promise.all([1, 2, 3].map(() => ensureTenantNamespace(progress(), peer, "b", "NetworkLink")));
    expect(results.map(({ name }) => name)).to.deep.equal(["liqo-tenant-b", "liqo-tenant-b", "liqo-tenant-b"]);
    expect(results.map(({ existed }) => existed)).to.deep.equal([false, false, false]);
    expect(written).to.deep.equal(["POST /api/v1/namespaces"]);
    expect((await ensureTenantNamespace(progress(), peer, "b", "NetworkLink")).existed).to.equal(true);
    const labels = (await server.client.get(NamespaceResource, { name: "liqo-tenant-b" }))?.metadata?.labels;
    expect(labels).to.include({ "liqo.io/remote-cluster-id": "b", "app.kubernetes.io/managed-by": MANAGER });
  });

  it("passes the schema with every manifest, applied twice", async () => {
    const end = { remoteId: "b", namespace: "liqo-tenant-b", agentNamespace: "liqo" };
    const options = linkOptions(networkLinkInputs.parse({ gatewayServer: { type: "NodePort", nodePort: 30742 } }));
    const endpoint = { addresses: ["10.0.0.1"], port: 30742, protocol: "UDP" };
    const gateway = await apply(GatewayServerResource, gatewayServerManifest(end, options));
    const ids = { consumerId: "a", providerId: "b", namespace: "liqo-tenant-b" };
    const credentials = { publicKey: "cA==", csr: "Yw==", signature: "cw==" };
    const grant = { tenantNamespace: "liqo-tenant-a", authParams: { apiServer: "https://x:6443", signedCRT: "Yw==" } };
    const node = virtualNodeInputs.parse({
      name: "n",
      providerClusterId: "b",
      resourceSliceName: "b",
      taints: [{ key: "x", effect: "NoSchedule" }],
      nodeSelector: { x: "y" },
    });
    const objects: [ResourceType, object][] = [
      [GatewayServerResource, gatewayServerManifest(end, options)],
      [GatewayClientResource, gatewayClientManifest(end, options, endpoint)],
      [
        PublicKeyResource,
        publicKeyManifest(end, Buffer.alloc(32).toString("base64"), ownerReference(GatewayServerResource, gateway)),
      ],
      [TenantResource, tenantManifest("c", "liqo-tenant-b", credentials, { tenantCondition: "Cordoned" })],
      [IdentityResource, identityManifest(end, grant)],
      [
        ResourceSliceResource,
        sliceManifest(ids, "b", { class: "default", resources: { cpu: "2" }, createVirtualNode: true }),
      ],
      [VirtualNodeResource, virtualNodeManifest(node, "liqo-tenant-b", "liqo")],
      [
        NamespaceOffloadingResource,
        offloadingManifest({
          namespace: "liqo-tenant-b",
          namespaceMappingStrategy: "DefaultName",
          podOffloadingStrategy: "Remote",
          clusterSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: "x", operator: "Exists" }] }] },
        }),
      ],
    ];
    for (const [type, manifest] of objects) {
      const first = await apply(type, manifest);
      const second = await apply(type, manifest);
      expect(second.metadata?.resourceVersion, type.kind).to.equal(first.metadata?.resourceVersion);
    }
  });

  it("keeps both directions' marks on a Configuration", async () => {
    const forward: LinkEnd = { ...peer, remoteId: "b", namespace: "liqo-tenant-b" };
    const reverse: LinkEnd = { ...forward, side: "provider" };
    const ranges = { pod: ["10.1.0.0/16"], external: ["10.70.0.0/16"] };
    await applyConfiguration(progress(), forward, ranges, undefined);
    await applyConfiguration(progress(), reverse, ranges, undefined);
    const both = await applyConfiguration(progress(), forward, ranges, undefined);
    expect(isUsedByReverse(forward, both.metadata.annotations)).to.equal(true);
    expect(isUsedByReverse(reverse, both.metadata.annotations)).to.equal(true);
  });

  it("waits by looking at the one object where nothing else is allowed", async () => {
    await grant(server, "someone", "liqo-tenant-b", [
      { apiGroups: ["networking.liqo.io"], resources: ["gatewayservers"], verbs: ["get"] },
    ]);
    const client = KubeClient.fromText(await server.kubeconfigFor("someone"));
    const found = await waitFor(progress(), {
      client,
      type: GatewayServerResource,
      namespace: "liqo-tenant-b",
      name: "b",
      what: "the gateway",
      judge: ([gateway]) => (gateway ? { done: gateway.metadata.name } : { waiting: "absent" }),
    });
    expect(found).to.equal("b");
    client.close();
  });

  it("gives a tenant namespace up only when it is its own and empty", async () => {
    await releaseTenantNamespace(progress(), peer, "b");
    const isDeleting = async (name: string): Promise<boolean> =>
      (await server.client.get(NamespaceResource, { name }))?.metadata?.deletionTimestamp !== undefined;
    expect(await isDeleting("liqo-tenant-b")).to.equal(false);
    const labels = { "liqo.io/tenant-namespace": "true", "liqo.io/remote-cluster-id": "foreign" };
    await server.client.create(NamespaceResource, { metadata: { name: "by-hand", labels } });
    await releaseTenantNamespace(progress(), peer, "foreign");
    expect(await isDeleting("by-hand")).to.equal(false);
    await ensureTenantNamespace(progress(), peer, "empty", "NetworkLink");
    await releaseTenantNamespace(progress(), peer, "empty");
    expect(await isDeleting("liqo-tenant-empty")).to.equal(true);
  });
});
