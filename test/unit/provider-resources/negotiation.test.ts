import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { expect } from "chai";
import { stringify } from "yaml";
import {
  NamespaceOffloadingResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
  type NamespaceOffloadingStatus,
  type ResourceSliceStatus,
} from "../../../agent/api/index.js";
import { controlPlaneSubject, makeCertificateRequest, makeKeyPair } from "../../../agent/crypto/index.js";
import type { Party } from "../../../provider/resources/authentication/party.js";
import { identityManifest } from "../../../provider/resources/authentication/identity.js";
import {
  applyTenant,
  isOfOtherKey,
  judgeTenant,
  tenantManifest,
} from "../../../provider/resources/authentication/tenant.js";
import { judgeOffloading, offloadingManifest } from "../../../provider/resources/namespace-offloading/offload.js";
import { isExpiring } from "../../../provider/resources/peering-user/credential.js";
import { bindingManifests, userKubeconfig } from "../../../provider/resources/peering-user/manifests.js";
import { sliceId, splitSliceId } from "../../../provider/resources/resource-slice/id.js";
import {
  judgeCondition,
  judgeGrant,
  judgeNode,
  judgeVirtualNode,
  sliceManifest,
} from "../../../provider/resources/resource-slice/slice.js";
import { describeDrain } from "../../../provider/resources/resource-slice/withdraw.js";
import { virtualNodeInputs } from "../../../provider/resources/virtual-node/schema.js";
import type { Progress } from "../../../provider/waits/index.js";
import { virtualNodeManifest } from "../../../provider/resources/virtual-node/virtual-node.js";

/** Valid for the first three days of 2026. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIHJMH2gAwIBAgIBATAFBgMrZXAwDzENMAsGA1UEAwwEdXNlcjAeFw0yNjAxMDEw
MDAwMDBaFw0yNjAxMDQwMDAwMDBaMA8xDTALBgNVBAMMBHVzZXIwKjAFBgMrZXAD
IQDqSmxj4pxSCr71UHsTLsX5lUd2rr6+e5JCHuppFEbSLDAFBgMrZXADQQBLT08S
2c73B+UWeot6Yok2LlyeAFNkfFI944j262Tg703gftRegnsDer5Uinkz2wgEcfxK
VZC+QG0cmtSr/1oC
-----END CERTIFICATE-----
`;

describe("Authentication", () => {
  const credentials = { publicKey: "cA==", csr: "Yw==", signature: "cw==" };

  it("leaves the Tenant's condition to whoever set it", () => {
    const { metadata, spec } = tenantManifest("a", "liqo-tenant-a", credentials, {});
    expect(metadata).to.deep.include({ name: "a", labels: { "liqo.io/remote-cluster-id": "a" } });
    expect(spec).to.deep.equal({ clusterID: "a", ...credentials });
    expect(tenantManifest("a", "n", credentials, { tenantCondition: "Cordoned" }).spec).to.include({
      tenantCondition: "Cordoned",
    });
  });

  it("keeps the certificate request that the Tenant has, if it is this key's for this consumer", async () => {
    const pairOf = (namedCurve: string) => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      const request = (clusterId: string) =>
        base64(
          makeCertificateRequest(
            controlPlaneSubject(clusterId),
            pem(privateKey.export({ type: "pkcs8", format: "pem" })),
          ),
        );
      return { publicKey: base64(pem(publicKey.export({ type: "spki", format: "pem" }))), request };
    };
    for (const curve of ["P-256", "P-384"]) {
      const own = pairOf(curve);
      const other = pairOf(curve);
      const first = own.request("a");
      const fresh = { publicKey: own.publicKey, csr: own.request("a"), signature: "cw==" };
      // Its signature is another request's.
      const broken = toPem(Buffer.concat([der(first).subarray(0, -4), der(other.request("a")).subarray(-4)]));
      for (const [present, wanted] of [
        [first, first],
        [other.request("a"), fresh.csr],
        [own.request("b"), fresh.csr],
        [base64(broken), fresh.csr],
        [undefined, fresh.csr],
      ]) {
        expect(await applied(fresh, present), curve).to.equal(wanted);
      }
      expect(first).to.not.equal(fresh.csr);
    }

    async function applied(fresh: typeof credentials, csr: string | undefined): Promise<string | undefined> {
      const present = TenantResource.build({ metadata: { name: "a" }, spec: { clusterID: "a", csr } });
      const client = {
        list: () => Promise.resolve({ items: [present] }),
        apply: (_type: unknown, object: unknown) => Promise.resolve(object),
      };
      const provider = { client, namespace: "liqo-tenant-a", remoteId: "a" } as unknown as Party;
      const progress = { signal: new AbortController().signal } as Progress;
      return (await applyTenant(progress, provider, fresh, {})).tenant.spec.csr;
    }
  });

  it("takes a Tenant's answer when it fits the request", () => {
    const tenant = (spec: object, status?: object) =>
      TenantResource.build({ metadata: { name: "a" }, spec: { clusterID: "a", ...spec }, status });
    const status = { tenantNamespace: "t", authParams: { apiServer: "https://x", proxyURL: "http://p" } };
    expect(judgeTenant(tenant({ proxyURL: "http://p" }, status))).to.have.nested.property("done.tenantNamespace", "t");
    expect(judgeTenant(tenant({ proxyURL: "http://q" }, status))).to.have.property("waiting");
    expect(judgeTenant(tenant({}))).to.have.property("waiting");
    expect(judgeTenant(tenant({ tenantCondition: "Drained" }, status))).to.have.property("failed");
  });

  it("waits for a certificate of the consumer's present key, and knows a Tenant of a former one", async () => {
    const encoded = (text: string): string => Buffer.from(text).toString("base64");
    const certified = encoded(
      new X509Certificate(CERTIFICATE).publicKey.export({ type: "spki", format: "pem" }).toString(),
    );
    const other = encoded((await makeKeyPair()).publicKey);
    const tenantOf = (publicKey: string) =>
      TenantResource.build({
        metadata: { name: "a" },
        spec: { clusterID: "a", publicKey },
        status: { tenantNamespace: "t", authParams: { apiServer: "https://x", signedCRT: encoded(CERTIFICATE) } },
      });
    expect(judgeTenant(tenantOf(certified))).to.have.property("done");
    expect(judgeTenant(tenantOf(other)))
      .to.have.property("waiting")
      .that.matches(/present key/);
    expect(isOfOtherKey(tenantOf(certified), other)).to.equal(true);
    expect(isOfOtherKey(tenantOf(certified), certified)).to.equal(false);
    expect(isOfOtherKey(tenantOf(certified), undefined), "unless it may not be read").to.equal(false);
  });

  it("forms the Identity that the provider's answer makes", () => {
    const grant = {
      tenantNamespace: "liqo-tenant-a",
      authParams: { apiServer: "https://x", signedCRT: "Yw==", proxyURL: "" },
    };
    expect(identityManifest({ namespace: "liqo-tenant-b", remoteId: "b" }, grant)).to.deep.equal({
      metadata: { name: "controlplane-b", namespace: "liqo-tenant-b", labels: { "liqo.io/remote-cluster-id": "b" } },
      spec: {
        clusterID: "b",
        type: "ControlPlane",
        authParams: { apiServer: "https://x", signedCRT: "Yw==" },
        namespace: "liqo-tenant-a",
      },
    });
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function der(request: string): Buffer {
  const text = Buffer.from(request, "base64").toString();
  return Buffer.from(text.replace(/-----[^-]+-----/g, ""), "base64");
}

function toPem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE REQUEST-----", ...lines, "-----END CERTIFICATE REQUEST-----", ""].join("\n");
}

function pem(exported: string | Buffer): string {
  return exported.toString();
}

describe("ResourceSlice", () => {
  const ids = { consumerId: "a", providerId: "b", namespace: "liqo-tenant-b" };
  const accepted = (type: "Authentication" | "Resources") => ({ type, status: "Accepted" as const });
  const slice = (status: ResourceSliceStatus, spec: object = {}) =>
    ResourceSliceResource.build({
      metadata: { name: "b" },
      spec: { class: "default", csr: "Yw==", resources: { cpu: "2000m" }, ...spec },
      status,
    });

  it("is a source for the replicator", () => {
    const { metadata } = sliceManifest(ids, "b", {
      class: "default",
      resources: { cpu: "2" },
      createVirtualNode: true,
    });
    expect(metadata.labels).to.deep.equal({
      "liqo.io/replication": "true",
      "liqo.io/remoteID": "b",
      "liqo.io/remote-cluster-id": "b",
    });
    expect(metadata.annotations).to.deep.equal({ "liqo.io/create-virtual-node": "true" });
    expect(
      sliceManifest(ids, "b", { class: "", resources: {}, createVirtualNode: false }).metadata,
    ).to.not.have.property("annotations");
  });

  it("is granted once the answer fits the present request", () => {
    const conditions = [accepted("Authentication"), accepted("Resources")];
    expect(judgeGrant(slice({ conditions, resources: { cpu: "2", memory: "8192Mi" } }))).to.deep.equal({
      done: { cpu: "2", memory: "8Gi" },
    });
    expect(judgeGrant(slice({ conditions, resources: { cpu: "4" } }))).to.have.property("waiting");
    expect(judgeGrant(slice({ conditions, resources: { cpu: "1" } }, { class: "mine" }))).to.have.property("done");
    expect(judgeGrant(slice({}))).to.have.property("waiting");
  });

  it("fails with the provider's reason when denied", () => {
    const conditions = [{ type: "Authentication" as const, status: "Denied" as const, message: "no such tenant" }];
    expect(judgeCondition(slice({ conditions }), "Authentication")).to.deep.equal({ failed: "denied: no such tenant" });
  });

  it("is complete when virtual node and node offer what was granted", () => {
    const granted = { cpu: "2", memory: "8Gi" };
    const virtualNode = (hard: Record<string, string>) =>
      VirtualNodeResource.build({ metadata: { name: "b" }, spec: { resourceQuota: { hard } } });
    expect(judgeVirtualNode(virtualNode({ cpu: "2000m", memory: "8Gi" }), granted)).to.have.property("done");
    expect(judgeVirtualNode(virtualNode({ cpu: "1", memory: "8Gi" }), granted)).to.have.property("waiting");
    const node = (ready: string, cpu: string) => ({
      status: { allocatable: { cpu, memory: "8Gi" }, conditions: [{ type: "Ready", status: ready }] },
    });
    expect(judgeNode(node("True", "2"), granted)).to.have.property("done");
    expect(judgeNode(node("False", "2"), granted)).to.have.property("waiting");
    expect(judgeNode(node("True", "1"), granted))
      .to.have.property("waiting")
      .that.contains("cpu");
    expect(judgeNode(undefined, granted)).to.have.property("waiting");
  });

  it("tells how far a drain is", () => {
    const conditions = [{ type: "Node" as const, status: "Draining" as const, message: "2 pods left" }];
    const draining = VirtualNodeResource.build({ metadata: { name: "b" }, spec: {}, status: { conditions } });
    expect(describeDrain(draining)).to.equal("Node Draining (2 pods left)");
  });

  it("has an ID of three parts", () => {
    expect(splitSliceId(sliceId("a/b", "c"))).to.deep.equal({ pair: "a/b", name: "c" });
    expect(() => splitSliceId("a/b")).to.throw(/is not an ID/);
  });
});

describe("VirtualNode", () => {
  it("uses the slice's identity, and the first class of each kind by default", () => {
    const inputs = virtualNodeInputs.parse({
      name: "n",
      providerClusterId: "b",
      resourceSliceName: "s",
      storageClasses: ["x", "y"],
    });
    const { spec } = virtualNodeManifest(inputs, "liqo-tenant-b", "liqo");
    expect(spec.kubeconfigSecretRef).to.deep.equal({ name: "kubeconfig-resourceslice-s" });
    expect(spec.resourceQuota?.hard).to.deep.equal({ cpu: "2", memory: "4Gi", pods: "110" });
    expect(spec.storageClasses).to.deep.equal([
      { storageClassName: "x", default: true },
      { storageClassName: "y", default: false },
    ]);
    expect(spec).to.not.have.property("offloadingPatch");
  });
});

describe("NamespaceOffloading", () => {
  const offloading = (status: NamespaceOffloadingStatus) =>
    NamespaceOffloadingResource.build({ metadata: { name: "offloading", namespace: "demo" }, spec: {}, status });

  it("selects all clusters unless told otherwise", () => {
    const manifest = offloadingManifest({
      namespace: "demo",
      namespaceMappingStrategy: "DefaultName",
      podOffloadingStrategy: "LocalAndRemote",
    });
    expect(manifest.spec).to.deep.equal({
      namespaceMappingStrategy: "DefaultName",
      podOffloadingStrategy: "LocalAndRemote",
      clusterSelector: { nodeSelectorTerms: [] },
    });
  });

  it("is ready when this generation is, and names what stands in the way", () => {
    const ready = { b: [{ type: "Ready" as const, status: "True" as const }] };
    const status = { observedGeneration: 2, remoteNamespaceName: "demo-a" };
    expect(
      judgeOffloading(offloading({ ...status, offloadingPhase: "Ready", remoteNamespacesConditions: ready }), 2),
    ).to.deep.equal({
      done: { remoteNamespace: "demo-a", providers: ["b"], offloadingPhase: "Ready" },
    });
    expect(judgeOffloading(offloading({ ...status, offloadingPhase: "Ready" }), 3)).to.have.property("waiting");
    const failed = { b: [{ type: "Ready" as const, status: "False" as const, reason: "CreationLoopBackOff" }] };
    expect(
      judgeOffloading(offloading({ ...status, offloadingPhase: "AllFailed", remoteNamespacesConditions: failed }), 2),
    )
      .to.have.property("waiting")
      .that.contains("a namespace of that name already");
  });
});

describe("PeeringUser", () => {
  it("binds the user in two namespaces only", () => {
    const [reader, writer] = bindingManifests("a", "liqo-peer-user-a-00", {
      installation: "liqo",
      tenant: "liqo-tenant-a",
    });
    expect(reader.metadata).to.include({ name: "liqo-peer-user-a-liqo-ns-reader", namespace: "liqo" });
    expect(writer.metadata).to.include({ name: "liqo-peer-user-a-tenant-ns-writer", namespace: "liqo-tenant-a" });
    expect(writer.roleRef.name).to.equal("liqo-peering-user-tenant-ns");
  });

  it("is replaced when two thirds of its time have passed", () => {
    const kubeconfig = stringify(
      userKubeconfig({
        providerClusterId: "b",
        consumerClusterId: "a",
        server: "https://x:6443",
        certificate: Buffer.from(CERTIFICATE).toString("base64"),
        privateKey: "key",
        namespace: "liqo-tenant-a",
      }),
    );
    const [from, to] = [Date.parse("2026-01-01T00:00:00Z"), Date.parse("2026-01-04T00:00:00Z")];
    expect(isExpiring({ kubeconfig }, from + (to - from) / 2)).to.equal(false);
    expect(isExpiring({ kubeconfig }, from + (2 * (to - from)) / 3)).to.equal(true);
    expect(isExpiring({ kubeconfig }, to + 1)).to.equal(true);
    expect(isExpiring({})).to.equal(false);
  });

  it("gets a kubeconfig of its own", () => {
    const kubeconfig = userKubeconfig({
      providerClusterId: "b",
      consumerClusterId: "a",
      server: "https://x:6443",
      certificate: "Yw==",
      privateKey: "key",
      namespace: "liqo-tenant-a",
    });
    expect(kubeconfig).to.deep.include({
      contexts: [{ name: "b", context: { cluster: "b", user: "a-user", namespace: "liqo-tenant-a" } }],
      clusters: [{ name: "b", cluster: { server: "https://x:6443" } }],
    });
  });
});
