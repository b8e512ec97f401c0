import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import {
  Annotations,
  ConfigurationResource,
  DataKeys,
  ForeignClusterResource,
  IPResource,
  IdentityResource,
  Labels,
  NamespaceMapResource,
  Names,
  NamespaceOffloadingResource,
  NetworkResource,
  QuotaResource,
  RenewResource,
  ResourceSliceResource,
  ShadowPodResource,
  TenantResource,
  VirtualNodeResource,
  controlPlaneIdentityName,
  kubeconfigSecretName,
  resourceSliceIdentityName,
  tenantNamespaceName,
  type NamespaceMap,
  type ResourceSlice,
  type Tenant,
} from "../../../agent/api/index.js";
import { controlPlaneSubject, makeCertificateRequest, makeKeyPair } from "../../../agent/crypto/index.js";
import { PEERING_USER_TENANT_NS_RULES } from "../../../agent/install/rbac/authentication.js";
import { policyRules } from "../../../agent/install/rbac/rule.js";
import { VIRTUAL_KUBELET_REMOTE_RULES } from "../../../agent/install/rbac/virtual-node.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  ConfigMapResource,
  EventResource,
  KubeClient,
  KubeError,
  NamespaceResource,
  NodeResource,
  PodResource,
  RoleBindingResource,
  SecretResource,
} from "../../../agent/runtime/index.js";
import { bindingManifests } from "../../../provider/resources/peering-user/manifests.js";
import { until } from "../../clusters/support/wait.js";
import { waitFor } from "../../support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { startControlPlane, type ControlPlane } from "./control-plane.js";
import {
  authenticate,
  copyID,
  exchangeNonce,
  makeTenantNamespaces,
  requestSlice,
  unpeer,
  waitForObject,
  waitUntilGone,
} from "./peering.js";

const RBAC = "rbac.authorization.k8s.io";
const ADMIN = { fieldManager: "administrator" };
const PEERING_USER = "liqo-peer-user-a-00";
/** Of a certificate that is to expire while it is used, in seconds. */
const LIFETIME_SECONDS = 6;
const EXPIRY_DEADLINE_MS = 60_000;

/** What a consumer can do with the identities that its provider has signed, beyond what it is meant to do: nothing. */
describe("a consumer that tries to break out", function () {
  this.timeout(240_000);
  let a: ControlPlane;
  let b: ControlPlane;
  /** Holders of the certificates that b's API server has signed for a. */
  let controlPlane: KubeClient;
  let slice: KubeClient;
  let tenant: string;
  /** What stood for a at b while they were peered. */
  let accepted: Tenant | undefined;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    [a, b] = await Promise.all([
      startControlPlane("a", { pingIntervalSeconds: 60 }, { webhooks: true }),
      startControlPlane("b", {}, { webhooks: true }),
    ]);
    tenant = tenantNamespaceName(a.id);
    await makeTenantNamespaces(a, b);
    await authenticate(a, b);
    await requestSlice(a, b, { cpu: "1" });
    controlPlane = await holder(controlPlaneIdentityName(b.id));
    slice = await holder(resourceSliceIdentityName(b.id));
  });

  after(async () => {
    controlPlane?.close();
    slice?.close();
    await Promise.all([a?.stop(), b?.stop()]);
  });

  /** A client with an identity as the consumer's Secret has it. */
  async function holder(identity: string): Promise<KubeClient> {
    return KubeClient.fromText(await kubeconfigOf(identity));
  }

  async function kubeconfigOf(identity: string): Promise<string> {
    const id = { name: kubeconfigSecretName(identity), namespace: tenantNamespaceName(b.id) };
    const secret = await waitForObject(a.client, SecretResource, id, "kubeconfig", ({ data }) => data?.["kubeconfig"]);
    return Buffer.from(secret.data?.[DataKeys.kubeconfig] ?? "", "base64").toString();
  }

  /** The holder of a peering user's credential, bound by the test of that. */
  async function peeringUserOf(): Promise<KubeClient> {
    return KubeClient.fromText(await b.server.kubeconfigFor(PEERING_USER, [Names.controlPlaneGroup]));
  }

  /** @param by what the refusal says, where the role alone would allow it */
  async function expectForbidden(attempts: Record<string, () => Promise<unknown>>, by = ""): Promise<void> {
    for (const [what, attempt] of Object.entries(attempts)) {
      const error = await attempt().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error, what).to.be.instanceOf(KubeError);
      expect((error as KubeError).code, `${what}: ${(error as KubeError).message}`).to.equal(403);
      expect((error as KubeError).message, what).to.contain(by);
    }
  }

  /** What neither identity may do. */
  function everywhere(client: KubeClient): Record<string, () => Promise<unknown>> {
    const inTenant = { namespace: tenant };
    const pod = { metadata: { name: "p", ...inTenant }, spec: { containers: [{ name: "c", image: "i" }] } };
    const impersonating = (user: string): Promise<unknown> => {
      const headers = { "impersonate-user": user, "impersonate-group": "system:masters" };
      return client.transport
        .send({ method: "GET", path: "/api/v1/secrets", timeoutMs: 10_000, headers })
        .then((response) => {
          response.resume();
          throw new KubeError("impersonation", response.statusCode ?? 0, "", "b");
        });
    };
    return {
      "reading Secrets of its tenant namespace": () => client.list(SecretResource, inTenant),
      "reading the provider's own keys": () =>
        client.get(SecretResource, { name: Names.authenticationKeysSecret, namespace: Names.namespace }),
      "reading all Secrets": () => client.list(SecretResource),
      "writing a ConfigMap elsewhere": () =>
        client.create(ConfigMapResource, { metadata: { name: "c", namespace: "default" } }),
      "seeing the nodes": () => client.list(NodeResource),
      "making a node": () => client.create(NodeResource, { metadata: { name: "n" } }),
      "seeing other namespaces": () => client.list(NamespaceResource),
      "making a namespace": () => client.create(NamespaceResource, { metadata: { name: "mine" } }),
      "making a pod in its tenant namespace": () => client.create(PodResource, pod),
      "making a pod in the agent's namespace": () =>
        client.create(PodResource, { ...pod, metadata: { name: "p", namespace: Names.namespace } }),
      "binding itself to a role": () =>
        client.create(RoleBindingResource, {
          metadata: { name: "mine", ...inTenant },
          roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
          subjects: [{ apiGroup: RBAC, kind: "User", name: a.id }],
        }),
      "binding itself cluster-wide": () =>
        client.create(ClusterRoleBindingResource, {
          metadata: { name: "mine" },
          roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
          subjects: [{ apiGroup: RBAC, kind: "User", name: a.id }],
        }),
      "raising its Quota": () =>
        client.create(
          QuotaResource,
          QuotaResource.build({ metadata: { name: "q", ...inTenant }, spec: { user: a.id, resources: { cpu: 99 } } }),
        ),
      "lifting its Tenant's cordon": () =>
        client.mergePatch(TenantResource, { name: a.id, ...inTenant }, { spec: { tenantCondition: "Active" } }),
      "forging another cluster's Tenant": () =>
        client.create(
          TenantResource,
          TenantResource.build({
            metadata: { name: "c", ...inTenant, labels: { [Labels.remoteClusterID]: "c" } },
            spec: { clusterID: "c", authzPolicy: "TolerateNoHandshake" },
          }),
        ),
      "forging another cluster's nonce": () =>
        client.create(SecretResource, {
          metadata: {
            name: Names.nonceSecret,
            namespace: Names.namespace,
            labels: { [Labels.nonce]: "true", [Labels.remoteClusterID]: "c" },
          },
          data: { [DataKeys.nonce]: "AAAA" },
        }),
      "making an Identity": () =>
        client.create(
          IdentityResource,
          IdentityResource.build({ metadata: { name: "i", ...inTenant }, spec: { clusterID: a.id } }),
        ),
      "making a VirtualNode": () =>
        client.create(
          VirtualNodeResource,
          VirtualNodeResource.build({ metadata: { name: "v", ...inTenant }, spec: { clusterID: a.id } }),
        ),
      "offloading a namespace": () =>
        client.create(
          NamespaceOffloadingResource,
          NamespaceOffloadingResource.build({
            metadata: { name: "offloading", namespace: "default" },
            spec: { clusterSelector: { nodeSelectorTerms: [] } },
          }),
        ),
      "taking a range": () =>
        client.create(
          NetworkResource,
          NetworkResource.build({ metadata: { name: "n", ...inTenant }, spec: { cidr: "10.0.0.0/8" } }),
        ),
      "seeing certificate requests": () =>
        client.request("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests"),
      "being somebody else": () => impersonating("kubernetes-admin"),
      "being the controller": () => impersonating(`system:serviceaccount:${Names.namespace}:liqo-controller-manager`),
    };
  }

  it("gets nothing outside its role with its control-plane identity", async () => {
    await expectForbidden(everywhere(controlPlane));
    await expectForbidden({
      "slices of other namespaces": () => controlPlane.list(ResourceSliceResource, { namespace: "default" }),
      "slices of all": () => controlPlane.list(ResourceSliceResource),
      "ShadowPods in its tenant namespace": () => controlPlane.list(ShadowPodResource, { namespace: tenant }),
    });
  });

  it("gets nothing outside its role with a slice's identity", async () => {
    await expectForbidden(everywhere(slice));
    await expectForbidden({
      "slices of its tenant namespace": () => slice.list(ResourceSliceResource, { namespace: tenant }),
      "NamespaceMaps of its tenant namespace": () => slice.list(NamespaceMapResource, { namespace: tenant }),
      "ShadowPods where nothing was offloaded": () => slice.list(ShadowPodResource, { namespace: "default" }),
    });
  });

  it("cannot grant itself resources by writing a status", async () => {
    const id = copyID(a, b);
    const patch = { status: { resources: { cpu: "99" } } };
    const status = { subresource: "status" } as const;
    await expectForbidden({
      "the slice's": () => controlPlane.mergePatch(ResourceSliceResource, id, patch, status),
      "a NamespaceMap's": () =>
        controlPlane.mergePatch(NamespaceMapResource, { name: "b", namespace: tenant }, { status: {} }, status),
      "a Renew's": () =>
        controlPlane.mergePatch(RenewResource, { name: "x", namespace: tenant }, { status: {} }, status),
    });
    // Past the status subresource it changes nothing.
    await controlPlane.mergePatch(ResourceSliceResource, id, patch);
    const copy = await b.client.get(ResourceSliceResource, id);
    expect(copy?.status?.resources?.["cpu"]).to.equal("1");
  });

  const copyLabels = (overrides: Record<string, string | undefined> = {}): Record<string, string> => {
    const labels = {
      [Labels.replication]: "false",
      [Labels.replicated]: "true",
      [Labels.originID]: "a",
      [Labels.remoteID]: "b",
      [Labels.remoteClusterID]: "a",
      ...overrides,
    };
    return Object.fromEntries(
      Object.entries(labels).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    );
  };

  function map(name: string, labels: Record<string, string>, finalizers?: string[]): NamespaceMap {
    return NamespaceMapResource.build({
      metadata: { name, namespace: tenant, labels, finalizers },
      spec: { desiredMapping: { "kube-system": "kube-system-b" } },
    });
  }

  /** Labels by which this cluster knows its own objects towards a. */
  const sourceLabels = { [Labels.replication]: "true", [Labels.remoteID]: "a", [Labels.remoteClusterID]: "a" };

  function forgeries(client: KubeClient): Record<string, () => Promise<unknown>> {
    const create = (name: string, labels: Record<string, string>, finalizers?: string[]) => () =>
      client.create(NamespaceMapResource, map(name, labels, finalizers));
    const ownSlice = ResourceSliceResource.build({
      metadata: {
        name: "forged",
        namespace: tenant,
        labels: sourceLabels,
        annotations: { [Annotations.createVirtualNode]: "true" },
      },
      spec: { class: "default" },
    });
    const renew = RenewResource.build({
      metadata: { name: controlPlaneIdentityName(a.id), namespace: tenant, labels: sourceLabels },
      spec: { consumerClusterID: b.id, identityType: "ControlPlane" },
    });
    return {
      "a map as the provider's own": create("a", sourceLabels),
      "a map that is neither": create("a", { [Labels.remoteID]: "a" }),
      "a map without labels": create("x", {}),
      "a copy that is a source, too": create("x", copyLabels({ [Labels.replication]: "true" })),
      "a copy that goes to the consumer": create("x", copyLabels({ [Labels.remoteID]: "a" })),
      "a copy in another's name": create("x", copyLabels({ [Labels.originID]: "c" })),
      "a copy for another cluster": create("x", copyLabels({ [Labels.remoteClusterID]: "c" })),
      "a copy in the place of the provider's own map": create("a", copyLabels()),
      "a copy that cannot be removed": create("x", copyLabels(), ["example.com/forever"]),
      "a slice as the provider's own": () => client.create(ResourceSliceResource, ownSlice),
      "a Renew as the provider's own": () => client.create(RenewResource, renew),
    };
  }

  it("cannot make objects that would be taken for the provider's own", async () => {
    await expectForbidden(forgeries(controlPlane), "admission webhook");
  });

  it("cannot change the provider's own objects, nor turn its copies into such", async () => {
    const own = map("a", sourceLabels);
    own.spec = {};
    await b.client.create(NamespaceMapResource, own);
    const finalizers = ["namespacemap-controller.liqo.io/finalizer"];
    // A copy that the consumer's replicator makes and keeps.
    const source = { name: b.id, namespace: tenantNamespaceName(b.id) };
    const labels = { [Labels.replication]: "true", [Labels.remoteID]: b.id, [Labels.remoteClusterID]: b.id };
    const spec = { desiredMapping: { shop: "shop-a" } };
    await a.client.create(NamespaceMapResource, NamespaceMapResource.build({ metadata: { ...source, labels }, spec }));
    await waitForObject(b.client, NamespaceMapResource, { name: b.id, namespace: tenant }, "copy", () => true);
    const held = await b.client.mergePatch(
      NamespaceMapResource,
      { name: "b", namespace: tenant },
      { metadata: { finalizers } },
    );
    const patch =
      (name: string, change: object): (() => Promise<unknown>) =>
      () =>
        controlPlane.mergePatch(NamespaceMapResource, { name, namespace: tenant }, change);
    const labelled = (labels: Record<string, string | null>) => patch("b", { metadata: { labels } });
    await expectForbidden({
      "another mapping in the provider's map": patch("a", { spec: { desiredMapping: { "kube-system": "stolen" } } }),
      "the provider's map as a copy": patch("a", { metadata: { labels: copyLabels() } }),
      "a copy as a source": labelled({ [Labels.replication]: "true" }),
      "a copy no more": labelled({ [Labels.replicated]: null }),
      "a copy of another": labelled({ [Labels.originID]: "c" }),
      "a copy to another": labelled({ [Labels.remoteID]: null }),
      "the provider's finalizer": patch("b", { metadata: { finalizers: [] } }),
      "a finalizer of its own": patch("b", { metadata: { finalizers: [...finalizers, "example.com/forever"] } }),
      "everything by replacing it": () =>
        controlPlane.replace(NamespaceMapResource, {
          ...map("b", sourceLabels),
          metadata: { ...held.metadata, labels: sourceLabels },
        }),
    });
    // What a replicator does is still allowed: another spec, and the end.
    await a.client.mergePatch(NamespaceMapResource, source, { spec: { desiredMapping: { shop: "shop-2" } } });
    await waitForObject(
      b.client,
      NamespaceMapResource,
      { name: b.id, namespace: tenant },
      "spec",
      (copy) => copy.spec.desiredMapping?.["shop"] === "shop-2",
    );
    await b.client.mergePatch(
      NamespaceMapResource,
      { name: "b", namespace: tenant },
      { metadata: { finalizers: null } },
    );
    await a.client.delete(NamespaceMapResource, source);
    await waitUntilGone(b.client, NamespaceMapResource, { name: b.id, namespace: tenant });
    await b.client.delete(NamespaceMapResource, { name: "a", namespace: tenant });
  });

  it("cannot lift a cordon", async () => {
    const id = copyID(a, b);
    const cordon = (value: string | null) => ({ metadata: { annotations: { [Annotations.cordon]: value } } });
    await b.client.mergePatch(ResourceSliceResource, id, cordon("true"));
    await expectForbidden({ cordon: () => controlPlane.mergePatch(ResourceSliceResource, id, cordon(null)) });
    const lifted: ResourceSlice = await b.client.mergePatch(ResourceSliceResource, id, cordon(null));
    expect(lifted.metadata.annotations?.[Annotations.cordon]).to.equal(undefined);
  });

  it("makes nothing anew while its access is being withdrawn, and loses its slices with its rights", async () => {
    const drained = { name: a.id, namespace: tenant };
    const binding = { name: Names.remoteControlPlaneBinding, namespace: tenant };
    const held = { name: "b", namespace: tenant };
    const condition = (tenantCondition: string) =>
      b.client.mergePatch(TenantResource, drained, { spec: { tenantCondition } });
    const source = { name: b.id, namespace: tenantNamespaceName(b.id) };
    const labels = { [Labels.replication]: "true", [Labels.remoteID]: b.id, [Labels.remoteClusterID]: b.id };
    const spec = { desiredMapping: {} };
    await a.client.create(NamespaceMapResource, NamespaceMapResource.build({ metadata: { ...source, labels }, spec }));
    await waitForObject(b.client, NamespaceMapResource, held, "a copy", () => true);
    await b.client.mergePatch(NamespaceMapResource, held, { metadata: { finalizers: ["example.com/held"] } });
    await condition("Drained");
    await waitForObject(b.client, NamespaceMapResource, held, "its end", ({ metadata }) => metadata.deletionTimestamp);
    // The rights are there for as long as the map is: what refuses is not the role.
    expect(await b.client.get(RoleBindingResource, binding)).to.not.equal(undefined);
    const again = { map: () => controlPlane.create(NamespaceMapResource, map("another", copyLabels())) };
    await expectForbidden(again, "is Drained");
    await a.client.delete(NamespaceMapResource, source);
    await b.client.mergePatch(NamespaceMapResource, held, { metadata: { finalizers: null } });
    await waitUntilGone(b.client, RoleBindingResource, binding);
    await waitUntilGone(b.client, ResourceSliceResource, copyID(a, b));
    await condition("Active");
    await waitForObject(b.client, RoleBindingResource, binding, "its return", () => true);
    await waitForObject(
      b.client,
      ResourceSliceResource,
      copyID(a, b),
      "its return",
      ({ status }) => status?.authParams,
    );
    // The API server goes by the binding from the moment that its own watch has told it of it.
    await until("the rights", 40_000, () => controlPlane.list(ResourceSliceResource, { namespace: tenant }));
  });

  it("is held to the same where it was let in by hand, without a handshake", async () => {
    const binding = { name: "by-hand", namespace: tenant };
    await b.client.create(RoleBindingResource, {
      metadata: binding,
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: Names.remoteControlPlaneRole },
      subjects: [{ apiGroup: RBAC, kind: "Group", name: "friends" }],
    });
    const friend = KubeClient.fromText(await b.server.kubeconfigFor("somebody", ["friends"]));
    // The API server goes by a binding from the moment that its own watch has told it of it.
    await until("the friend's rights", 40_000, () => friend.list(ResourceSliceResource, { namespace: tenant }));
    await expectForbidden(forgeries(friend), "admission webhook");
    await friend.create(NamespaceMapResource, map("b", copyLabels()));
    await friend.delete(NamespaceMapResource, { name: "b", namespace: tenant });
    friend.close();
    await b.client.delete(RoleBindingResource, binding);
  });

  it("asks for pods in its offloaded namespaces only, within its quota, and never makes one", async () => {
    await b.client.apply(
      ClusterRoleResource,
      { metadata: { name: Names.virtualKubeletRemoteRole }, rules: policyRules(VIRTUAL_KUBELET_REMOTE_RULES) },
      ADMIN,
    );
    const namespace = "shop-a";
    const labels = { [Labels.remoteClusterID]: a.id };
    await b.client.apply(NamespaceResource, { metadata: { name: namespace, labels } }, ADMIN);
    await b.client.create(RoleBindingResource, {
      metadata: { name: tenant, namespace },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: Names.virtualKubeletRemoteRole },
      subjects: [{ apiGroup: RBAC, kind: "Group", name: a.id }],
    });
    const shadow = (cpu: string, origin: string, into = namespace) =>
      slice.create(
        ShadowPodResource,
        ShadowPodResource.build({
          metadata: { name: "s", namespace: into, labels: { [Labels.offloadingOrigin]: origin } },
          spec: { pod: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] } },
        }),
      );
    await expectForbidden({
      ...everywhere(slice),
      "a pod": () =>
        slice.create(PodResource, {
          metadata: { name: "p", namespace },
          spec: { containers: [{ name: "c", image: "i" }] },
        }),
      "a ShadowPod elsewhere": () => shadow("1m", a.id, "default"),
      "a ShadowPod beyond its quota": () => shadow("2", a.id),
      "a ShadowPod of another consumer": () => shadow("1m", "c"),
      "another role": () =>
        slice.create(RoleBindingResource, {
          metadata: { name: "mine", namespace },
          roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
        }),
    });
    const made = await shadow("1m", a.id);
    expect(made.metadata.labels?.[Labels.creatorUser]).to.match(/^b-[0-9a-f]{12}$/);
    await slice.delete(ShadowPodResource, { name: "s", namespace });
  });

  it("makes nothing in its offloaded namespaces that the provider would take for an identity or a nonce", async () => {
    const servers = { forged: net.createServer(), friend: net.createServer() };
    const asked = { forged: 0, friend: 0 };
    for (const name of ["forged", "friend"] as const) {
      servers[name].on("connection", (socket) => {
        asked[name] += 1;
        socket.destroy();
      });
      await once(servers[name].listen(0, "127.0.0.1"), "listening");
    }
    const identityOf = (clusterID: keyof typeof servers, namespace: string) => {
      const { port } = servers[clusterID].address() as AddressInfo;
      const cluster = { server: `https://127.0.0.1:${port}` };
      const kubeconfig = {
        clusters: [{ name: "c", cluster }],
        users: [{ name: "u", user: { token: "t" } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      };
      return {
        metadata: {
          name: "identity",
          namespace,
          labels: { [Labels.identityType]: "ControlPlane", [Labels.remoteClusterID]: clusterID },
          annotations: { [Annotations.remoteTenantNamespace]: "default" },
        },
        data: { [DataKeys.kubeconfig]: Buffer.from(JSON.stringify(kubeconfig)).toString("base64") },
      };
    };
    await slice.create(SecretResource, identityOf("forged", "shop-a"));
    const ownTenant = { [Labels.nonce]: "true", [Labels.remoteClusterID]: a.id };
    await slice.create(SecretResource, {
      metadata: { name: "nonce", namespace: "shop-a", labels: ownTenant },
      data: { [DataKeys.nonce]: "AAAA" },
    });

    // One that the administrator has put where it belongs, after it, is seen.
    const namespace = tenantNamespaceName("friend");
    const labels = { [Labels.remoteClusterID]: "friend", [Labels.tenantNamespace]: "true" };
    await b.client.create(NamespaceResource, { metadata: { name: namespace, labels } });
    const friend = identityOf("friend", namespace);
    await b.client.create(SecretResource, friend);
    await waitForObject(b.client, ForeignClusterResource, { name: "friend" }, "its ForeignCluster", () => true);
    await waitForObject(
      b.client,
      SecretResource,
      { name: "identity", namespace },
      "its finalizer",
      ({ metadata }) => metadata?.finalizers,
    );
    await until("a question to the friend", 40_000, () => Promise.resolve(asked.friend > 0 || undefined));
    expect(asked.forged).to.equal(0);
    expect(await b.client.get(ForeignClusterResource, { name: "forged" })).to.equal(undefined);
    const forged = await b.client.get(SecretResource, { name: "identity", namespace: "shop-a" });
    expect(forged?.metadata?.finalizers).to.equal(undefined);
    // The Tenant is judged anew by the nonce that it was made with.
    const id = { name: a.id, namespace: tenant };
    await b.client.mergePatch(TenantResource, id, { status: { authParams: null } }, { subresource: "status" });
    await waitForObject(b.client, TenantResource, id, "its answer again", ({ status }) => status?.authParams);

    // Its namespace is nobody's any more: the Secret can go, though nobody answers there.
    await b.client.mergePatch(
      NamespaceResource,
      { name: namespace },
      { metadata: { labels: { [Labels.tenantNamespace]: null } } },
    );
    await b.client.delete(SecretResource, { name: "identity", namespace });
    await waitUntilGone(b.client, SecretResource, { name: "identity", namespace });
    await waitUntilGone(b.client, ForeignClusterResource, { name: "friend" });
    for (const server of Object.values(servers)) server.close();
    for (const name of ["identity", "nonce"]) await b.client.delete(SecretResource, { name, namespace: "shop-a" });
  });

  it("gets no more than peering needs as a peering user", async () => {
    await b.client.apply(
      ClusterRoleResource,
      { metadata: { name: Names.peeringUserTenantRole }, rules: policyRules(PEERING_USER_TENANT_NS_RULES) },
      ADMIN,
    );
    for (const binding of bindingManifests(a.id, PEERING_USER, { installation: Names.namespace, tenant })) {
      await b.client.create(RoleBindingResource, binding);
    }
    const peeringUser = await peeringUserOf();
    const others = everywhere(peeringUser);
    // That is judged at admission, below.
    delete others["lifting its Tenant's cordon"];
    const identity = { name: kubeconfigSecretName(controlPlaneIdentityName(b.id)), namespace: tenant };
    const secret =
      (name: string, labels: Record<string, string>, rest: object = {}) =>
      () =>
        peeringUser.create(SecretResource, {
          metadata: { name, namespace: tenant, labels: { [Labels.remoteClusterID]: a.id, ...labels } },
          ...rest,
        });
    await expectForbidden({
      ...others,
      "reading a kubeconfig of the provider's own": () => peeringUser.get(SecretResource, identity),
      "reading the certificates that were issued": () =>
        peeringUser.get(SecretResource, { name: Names.remoteCertificateSecret, namespace: tenant }),
      "asking for resources itself": () => peeringUser.list(ResourceSliceResource, { namespace: tenant }),
      "lending an address of the provider's network": () =>
        peeringUser.create(
          IPResource,
          IPResource.build({ metadata: { name: "m", namespace: tenant }, spec: { ip: "169.254.169.254" } }),
        ),
    });
    const nonce = { name: Names.nonceSecret, namespace: tenant };
    const tenantId = { name: a.id, namespace: tenant };
    const onTenant = (patch: object) => () => peeringUser.mergePatch(TenantResource, tenantId, patch);
    const configuration = (remote: string) =>
      ConfigurationResource.build({
        metadata: { name: "ranges", namespace: tenant, labels: { [Labels.remoteClusterID]: remote } },
        spec: { remote: { cidr: { pod: ["10.30.0.0/16"], external: ["10.40.0.0/16"] } } },
      });
    await expectForbidden(
      {
        "a kubeconfig that the provider's controller would use": secret(
          "k",
          { [Labels.identityType]: "ControlPlane" },
          { data: { [DataKeys.kubeconfig]: "e30=" } },
        ),
        "a nonce that the provider would sign": secret("n", { [Labels.signedNonce]: "true" }),
        "keys for a gateway": secret("gw-a", { [Labels.gatewayResource]: "true" }),
        "any Secret": secret("s", {}),
        "another nonce": () => peeringUser.mergePatch(SecretResource, nonce, { data: { [DataKeys.nonce]: "AAAA" } }),
        "the nonce as an identity": () =>
          peeringUser.mergePatch(SecretResource, nonce, {
            metadata: { labels: { [Labels.identityType]: "ControlPlane" } },
          }),
        "ranges of another cluster": () => peeringUser.create(ConfigurationResource, configuration("c")),
        "no handshake": onTenant({ spec: { authzPolicy: "TolerateNoHandshake" } }),
        "a Tenant without its finalizer": onTenant({ metadata: { finalizers: [] } }),
      },
      "admission webhook",
    );
    await b.client.mergePatch(TenantResource, tenantId, { spec: { tenantCondition: "Cordoned" } });
    await expectForbidden(
      {
        "the cordon lifted": onTenant({ spec: { tenantCondition: "Active" } }),
        "the cordon deleted": () => peeringUser.delete(TenantResource, tenantId),
      },
      "administrator",
    );
    await b.client.mergePatch(TenantResource, tenantId, { spec: { tenantCondition: "Active" } });
    // What it is for.
    expect((await peeringUser.get(SecretResource, nonce))?.data?.[DataKeys.nonce]).to.be.a("string");
    await onTenant({ spec: { tenantCondition: "Active" } })();
    await peeringUser.create(ConfigurationResource, configuration(a.id));
    await peeringUser.delete(ConfigurationResource, { name: "ranges", namespace: tenant });
    peeringUser.close();
  });

  it("is nobody once its certificate has expired", async () => {
    const keys = await a.client.get(SecretResource, {
      name: Names.authenticationKeysSecret,
      namespace: Names.namespace,
    });
    const privateKey = Buffer.from(keys?.data?.[DataKeys.privateKey] ?? "", "base64").toString();
    const kubeconfig = parse(await kubeconfigOf(controlPlaneIdentityName(b.id))) as {
      users: { user: Record<string, string> }[];
    };
    const request = makeCertificateRequest(controlPlaneSubject(a.id), privateKey);
    const certificate = await b.server.authority.sign(request, LIFETIME_SECONDS);
    for (const { user } of kubeconfig.users)
      user["client-certificate-data"] = Buffer.from(certificate).toString("base64");
    const client = KubeClient.fromText(stringify(kubeconfig));
    await client.list(ResourceSliceResource, { namespace: tenant });
    const refusal = await until("the certificate's end", EXPIRY_DEADLINE_MS, () =>
      client.list(ResourceSliceResource, { namespace: tenant }).then(
        () => undefined,
        (error: unknown) => error as KubeError,
      ),
    );
    client.close();
    expect(refusal).to.be.instanceOf(KubeError);
    expect(refusal.code, refusal.message).to.equal(401);
  });

  it("leaves room for the reverse direction, whose objects lie in the same namespaces", async () => {
    await authenticate(b, a);
    await requestSlice(b, a, { cpu: "2" });
    // The provider's own map towards a, made by hand as its controller would, beside a's copy.
    const ids = { own: { name: "a", namespace: tenant }, copy: { name: "a", namespace: tenantNamespaceName(b.id) } };
    const spec = { desiredMapping: { shop: "shop-b" } };
    await b.client.create(
      NamespaceMapResource,
      NamespaceMapResource.build({ metadata: { ...ids.own, labels: sourceLabels }, spec }),
    );
    await waitForObject(
      a.client,
      NamespaceMapResource,
      ids.copy,
      "copy",
      ({ metadata }) => metadata.labels?.[Labels.originID] === b.id,
    );
    await b.client.delete(NamespaceMapResource, ids.own);
    await waitUntilGone(a.client, NamespaceMapResource, ids.copy);
    await unpeer(b, a);
    accepted = await b.client.get(TenantResource, { name: a.id, namespace: tenant });
    await unpeer(a, b);
  });

  it("can do nothing with its identities after unpeering, though their certificates are valid", async () => {
    await expectForbidden({
      ...everywhere(controlPlane),
      "seeing slices": () => controlPlane.list(ResourceSliceResource, { namespace: tenant }),
      "asking for another": () =>
        controlPlane.create(
          ResourceSliceResource,
          ResourceSliceResource.build({
            metadata: { name: "b", namespace: tenant, labels: copyLabels() },
            spec: { class: "default", consumerClusterID: a.id },
          }),
        ),
      "mapping namespaces": () => controlPlane.create(NamespaceMapResource, map("b", copyLabels())),
      renewing: () => controlPlane.list(RenewResource, { namespace: tenant }),
    });
    await expectForbidden({
      ...everywhere(slice),
      "seeing figures": () => slice.request("GET", "/apis/metrics.liqo.io/v1beta1/scrape/metrics"),
    });
  });

  it("is not let in by what it has signed before, nor another by what it has signed", async () => {
    const peeringUser = await peeringUserOf();
    const other = await makeKeyPair();
    const csr = makeCertificateRequest(controlPlaneSubject(a.id), other.privateKey);
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    await b.client.delete(SecretResource, { name: Names.nonceSecret, namespace: tenant });
    const { publicKey = "", csr: ownRequest, signature: replayed } = accepted?.spec ?? {};
    expect(replayed).to.be.a("string");
    await exchangeNonce(a, b);
    const signed = await waitForObject(
      a.client,
      SecretResource,
      { name: Names.signedNonceSecret, namespace: tenantNamespaceName(b.id) },
      "the signature of the new nonce",
      ({ data }) => data?.[DataKeys.signedNonce] !== replayed,
    );
    const signature = signed.data?.[DataKeys.signedNonce];
    for (const [what, spec] of [
      ["replayed", { publicKey, csr: ownRequest, signature: replayed }],
      ["another's key", { publicKey: base64(other.publicKey), csr: base64(csr), signature }],
    ] as const) {
      const id = { name: a.id, namespace: tenant };
      const metadata = { ...id, labels: { [Labels.remoteClusterID]: a.id } };
      const forged = await peeringUser.create(
        TenantResource,
        TenantResource.build({ metadata, spec: { clusterID: a.id, ...spec } }),
      );
      const options = { namespace: tenant, timeoutMs: 40_000, what: `the refusal of a Tenant: ${what}` };
      await waitFor(b.client, EventResource, options, (events) =>
        events.some(
          ({ reason, involvedObject }) =>
            reason === "SignatureVerificationFailed" && involvedObject.uid === forged.metadata.uid,
        ),
      );
      expect((await b.client.get(TenantResource, id))?.status, what).to.equal(undefined);
      await expectForbidden({ [what]: () => controlPlane.list(ResourceSliceResource, { namespace: tenant }) });
      await peeringUser.delete(TenantResource, id);
      await waitUntilGone(b.client, TenantResource, id);
    }
    peeringUser.close();
  });
});
