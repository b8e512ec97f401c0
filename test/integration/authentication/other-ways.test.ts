import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import {
  Annotations,
  ConnectionResource,
  DataKeys,
  ForeignClusterResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  Names,
  ResourceSliceResource,
  TenantResource,
  announcedEndpoint,
  controlPlaneIdentityName,
  kubeconfigSecretName,
  tenantNamespaceName,
  type ForeignCluster,
} from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  RoleBindingResource,
  SecretResource,
  ServiceAccountResource,
  findCondition,
  objectPath,
  sameJson,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { Plugin } from "../provider-resources/support/plugin.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { startControlPlane, type ControlPlane } from "./control-plane.js";
import {
  authenticate,
  isAccepted,
  makeTenantNamespaces,
  requestSlice,
  sliceID,
  unpeer,
  waitForObject,
  waitUntilGone,
} from "./peering.js";

const MANAGER = { fieldManager: "test" };
const ACCOUNT = "friend";
/** By which the cluster's ID is found. */
const CLUSTER_ID = { [Labels.appName]: "clusterid-configmap" };
const CREDENTIALS = "client.authentication.k8s.io/v1";

describe("peerings of other kinds", function () {
  this.timeout(120_000);
  let a: ControlPlane;
  let b: ControlPlane;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    [a, b] = await Promise.all([startControlPlane("a", { pingIntervalSeconds: 60 }), startControlPlane("b")]);
    await makeTenantNamespaces(a, b);
  });

  after(async () => {
    await Promise.all([a?.stop(), b?.stop()]);
  });

  it("peers in both directions, and ends one without touching the other", async () => {
    await Promise.all([authenticate(a, b), authenticate(b, a)]);
    await Promise.all([requestSlice(a, b, { cpu: "1" }), requestSlice(b, a, { cpu: "2" })]);
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      await waitForRole(one, other, "ConsumerAndProvider");
    }
    await unpeer(a, b);
    const other = await b.client.get(ResourceSliceResource, sliceID(a));
    expect(other && isAccepted(other)).to.equal(true);
    expect((await requestSlice(b, a, { cpu: "3" })).status?.resources?.["cpu"]).to.equal("3");
    await waitForRole(a, b, "Consumer");
    await unpeer(b, a);
    await waitUntilGone(a.client, ForeignClusterResource, { name: b.id });
  });

  it("tells the client gateway where the provider's server is reached now", async () => {
    await authenticate(a, b);
    const onConsumer = { name: "gw-b", namespace: tenantNamespaceName(b.id) };
    const onProvider = { name: "a", namespace: tenantNamespaceName(a.id) };
    const server = GatewayServerResource.build({
      metadata: { ...onProvider, labels: { [Labels.remoteClusterID]: a.id } },
      spec: { endpoint: { port: 51_840, serviceType: "NodePort" } },
    });
    await b.client.apply(GatewayServerResource, server, MANAGER);
    const move = (addresses: string[]) =>
      b.client.mergePatch(
        GatewayServerResource,
        onProvider,
        { status: { endpoint: { addresses, port: 30_742, protocol: "UDP" } } },
        { subresource: "status" },
      );
    await move(["192.0.2.1"]);
    const connection = ConnectionResource.build({
      metadata: { ...onConsumer, labels: { [Labels.remoteClusterID]: b.id } },
      spec: { type: "Client", gatewayRef: { name: b.id, namespace: onConsumer.namespace } },
    });
    await a.client.apply(ConnectionResource, connection, MANAGER);
    const given = { addresses: ["192.0.2.1"], port: 30_742 };
    const client = GatewayClientResource.build({
      metadata: { ...onConsumer, name: b.id, labels: { [Labels.remoteClusterID]: b.id } },
      spec: { endpoint: given },
    });
    await a.client.apply(GatewayClientResource, client, MANAGER);
    const told = (addresses: string[]) =>
      waitForObject(a.client, ConnectionResource, onConsumer, `the announcement of ${addresses.join()}`, (object) =>
        sameJson(announcedEndpoint(object.metadata.annotations, given), { addresses, port: 30_742 }),
      );
    await told(["192.0.2.1"]);
    await move(["192.0.2.7", "192.0.2.8"]);
    await told(["192.0.2.7", "192.0.2.8"]);
    // A server without an address has not said that it is elsewhere.
    await move([]);
    await move(["192.0.2.9"]);
    await told(["192.0.2.9"]);
    await a.client.delete(ConnectionResource, onConsumer);
    await a.client.delete(GatewayClientResource, { ...onConsumer, name: b.id });
    await b.client.delete(GatewayServerResource, onProvider);
    await unpeer(a, b);
  });

  /** The credentials that a provider's owner may hand out where certificates are not signed for clients, as on managed clusters. */
  const BY_HAND: Record<string, () => Promise<object>> = {
    "a certificate": async () => userOf(parse(await b.server.kubeconfigFor(accountName()))),
    "a token": async () => ({ token: await accountToken() }),
    "a program that gives credentials": async () => {
      const credential = { apiVersion: CREDENTIALS, kind: "ExecCredential", status: { token: await accountToken() } };
      const args = ["-c", `echo '${JSON.stringify(credential)}'`];
      return { exec: { apiVersion: CREDENTIALS, command: "/bin/sh", args, interactiveMode: "Never" } };
    },
  };

  for (const [kind, credential] of Object.entries(BY_HAND)) {
    it(`peers by a kubeconfig Secret made by hand, with ${kind}, without a handshake`, async () => {
      const config = parse(await b.server.kubeconfigFor("nobody")) as { users: { user: object }[] };
      config.users = config.users.map((entry) => ({ ...entry, user: {} }));
      for (const entry of config.users) entry.user = await credential();
      await peerByHand(stringify(config));
    });
  }

  it("peers by an Authentication and a kubeconfig of its program's, which may be renewed, and access withdrawn and given back", async () => {
    for (const { id, client } of [a, b]) {
      const metadata = { name: Names.clusterIDConfigMap, namespace: Names.namespace, labels: CLUSTER_ID };
      await client.apply(ConfigMapResource, { metadata, data: { [DataKeys.clusterID]: id } }, MANAGER);
    }
    const plugin = await Plugin.start();
    try {
      const pair = { consumer: { kubeconfig: a.server.kubeconfig }, provider: { kubeconfig: b.server.kubeconfig } };
      const config = parse(await b.server.kubeconfigFor("nobody")) as { users: { user: object }[] };
      const withToken = async (): Promise<object> => {
        const user = { token: await accountToken() };
        return { ...config, users: config.users.map((entry) => ({ ...entry, user })) };
      };
      const given = { ...pair, authzPolicy: "TolerateNoHandshake", userName: accountName() };
      let identity = await plugin.create("Authentication", { ...given, kubeconfig: await withToken() });
      const request = { ...pair, name: "by-program", createVirtualNode: false };
      let slice = await plugin.create("ResourceSlice", { ...request, resources: { cpu: "2" } });
      expect(slice.state["acceptedResources"]).to.include({ cpu: "2" });
      const renewed = { ...given, kubeconfig: await withToken() };
      identity = await plugin.update(identity, renewed);
      slice = await plugin.update(slice, { ...request, resources: { cpu: "3" } });
      expect(slice.state["acceptedResources"]).to.include({ cpu: "3" });
      const binding = { name: Names.remoteControlPlaneBinding, namespace: tenantNamespaceName(a.id) };
      identity = await plugin.update(identity, { ...renewed, tenantCondition: "Drained" });
      await waitUntilGone(b.client, RoleBindingResource, binding);
      identity = await plugin.update(identity, { ...renewed, tenantCondition: "Active" });
      expect(await b.client.get(RoleBindingResource, binding)).to.not.equal(undefined);
      slice = await plugin.update(slice, { ...request, resources: { cpu: "4" } });
      expect(slice.state["acceptedResources"]).to.include({ cpu: "4" });
      await plugin.delete(slice);
      await plugin.delete(identity);
      for (const type of [TenantResource, ResourceSliceResource, RoleBindingResource] as ResourceType[])
        expect((await b.client.list(type, { namespace: binding.namespace })).items, type.kind).to.deep.equal([]);
    } finally {
      await plugin.stop();
    }
  });

  async function peerByHand(kubeconfig: string): Promise<void> {
    const onProvider = tenantNamespaceName(a.id);
    const onConsumer = tenantNamespaceName(b.id);
    const tenant = TenantResource.build({
      metadata: { name: "my-tenant", namespace: onProvider, labels: { [Labels.remoteClusterID]: a.id } },
      spec: { clusterID: a.id, authzPolicy: "TolerateNoHandshake", tenantCondition: "Active" },
    });
    await b.client.apply(TenantResource, tenant, MANAGER);
    const binding = { name: Names.remoteControlPlaneBinding, namespace: onProvider };
    await b.client.create(RoleBindingResource, {
      metadata: binding,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: Names.remoteControlPlaneRole },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: accountName() }],
    });
    const secret = { name: "by-hand", namespace: onConsumer };
    await a.client.create(SecretResource, {
      metadata: {
        ...secret,
        labels: { [Labels.identityType]: "ControlPlane", [Labels.remoteClusterID]: b.id },
        annotations: { [Annotations.remoteTenantNamespace]: onProvider },
      },
      data: { [DataKeys.kubeconfig]: Buffer.from(kubeconfig).toString("base64") },
    });
    await requestSlice(a, b, { cpu: 20 });
    const foreign = await waitForRole(a, b, "Provider");
    expect(foreign.status?.modules.authentication).to.deep.equal({ enabled: true, conditions: [] });
    const accepted = await waitForObject(
      b.client,
      TenantResource,
      { name: "my-tenant", namespace: onProvider },
      "namespace",
      ({ status }) => status?.tenantNamespace === onProvider,
    );
    expect(accepted.status?.authParams).to.equal(undefined);

    await a.client.delete(SecretResource, secret);
    await waitForObject(a.client, SecretResource, secret, "deletion", ({ metadata }) => metadata?.deletionTimestamp);
    await a.client.delete(ResourceSliceResource, sliceID(b));
    await waitUntilGone(a.client, SecretResource, secret);
    await b.client.delete(TenantResource, { name: "my-tenant", namespace: onProvider });
    await waitUntilGone(b.client, TenantResource, { name: "my-tenant", namespace: onProvider });
    // Made by hand, removed by hand.
    expect(await b.client.delete(RoleBindingResource, binding)).to.equal(true);
  }

  function accountName(): string {
    return `system:serviceaccount:${tenantNamespaceName(a.id)}:${ACCOUNT}`;
  }

  async function accountToken(): Promise<string> {
    const id = { name: ACCOUNT, namespace: tenantNamespaceName(a.id) };
    await b.client.apply(ServiceAccountResource, { metadata: id }, MANAGER);
    const path = objectPath(ServiceAccountResource, id, "token");
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } };
    const { status } = await b.client.request<{ status: { token: string } }>("POST", path, { body });
    return status.token;
  }

  it("peers through an HTTP CONNECT proxy, as in-band peering does", async () => {
    let tunnels = 0;
    const proxy = http.createServer().on("connect", (_request, socket, head) => {
      tunnels += 1;
      // Whatever was asked for: the provider's API server.
      const upstream = net.connect(Number(new URL(b.server.url).port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.write(head);
        socket.pipe(upstream).pipe(socket);
      });
      for (const end of [socket, upstream])
        end.on("error", () => [socket, upstream].forEach((other) => other.destroy()));
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      await authenticate(a, b, url);
      await requestSlice(a, b, { cpu: "1" });
      await waitForApiServer("Established");
      const foreign = await a.client.get(ForeignClusterResource, { name: b.id });
      expect(foreign?.status?.foreignProxyUrl).to.equal(url);
      expect(tunnels).to.be.greaterThan(0);
      await unpeer(a, b);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it("tells within seconds that a provider's API server is gone, and can be left once it is declared gone for good", async () => {
    await authenticate(a, b);
    await requestSlice(a, b, { cpu: "1" });
    await waitForApiServer("Established");
    await b.server.stop();
    const stopped = Date.now();
    await waitForApiServer("Error");
    expect(Date.now() - stopped).to.be.below(5_000);

    const identity = controlPlaneIdentityName(b.id);
    const secret = { name: kubeconfigSecretName(identity), namespace: tenantNamespaceName(b.id) };
    await a.client.delete(ResourceSliceResource, sliceID(b));
    await a.client.delete(SecretResource, secret);
    await waitForObject(
      a.client,
      SecretResource,
      secret,
      "its finalizer",
      ({ metadata }) => metadata?.finalizers?.length,
    );
    const annotations = { [Annotations.permanentlyUnreachable]: "true" };
    await a.client.mergePatch(ForeignClusterResource, { name: b.id }, { metadata: { annotations } });
    await waitUntilGone(a.client, ResourceSliceResource, sliceID(b));
  });

  async function waitForApiServer(status: string): Promise<void> {
    await waitForObject(
      a.client,
      ForeignClusterResource,
      { name: b.id },
      status,
      (object) => findCondition(object.status?.conditions, "APIServerStatus")?.status === status,
    );
  }

  function waitForRole(on: ControlPlane, of: ControlPlane, role: string): Promise<ForeignCluster> {
    return waitForObject(
      on.client,
      ForeignClusterResource,
      { name: of.id },
      role,
      ({ status }) => status?.role === role,
    );
  }
});

function userOf(kubeconfig: unknown): object {
  return (kubeconfig as { users: { user: object }[] }).users[0]?.user ?? {};
}
