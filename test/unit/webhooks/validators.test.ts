import { expect } from "chai";
import type { Namespace, Node } from "kubernetes-types/core/v1";
import {
  NamespaceOffloadingResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
  type Configuration,
  type NamespaceOffloadingSpec,
  type ResourceSlice,
  type Tenant,
} from "../../../agent/api/index.js";
import type { AdmissionRequest } from "../../../agent/controller/webhooks/admission.js";
import type { WebhookContext } from "../../../agent/controller/webhooks/context.js";
import { cidrListPatch, cidrProblems } from "../../../agent/controller/webhooks/configuration.js";
import {
  checkOffloading,
  checkOffloadingUpdate,
  nameWarnings,
  namespaceOffloadingValidator,
} from "../../../agent/controller/webhooks/namespace-offloading.js";
import { checkPeeringUserWrite } from "../../../agent/controller/webhooks/peering-user-writes.js";
import { checkNewSlice, checkSliceUpdate } from "../../../agent/controller/webhooks/resource-slice.js";
import { checkTenant } from "../../../agent/controller/webhooks/tenant.js";
import { checkNewVirtualNode, defaultsPatch } from "../../../agent/controller/webhooks/virtual-node.js";

import type { KubeObject } from "../../../agent/runtime/index.js";

const REMOTE = "liqo.io/remote-cluster-id";

describe("Configuration webhook", () => {
  const configuration = (remote: object): Configuration =>
    ({ spec: { remote: { cidr: remote } } }) as unknown as Configuration;

  it("turns a single range into a list", () => {
    expect(cidrListPatch(configuration({ pod: "10.0.0.0/16", external: ["10.1.0.0/16"] }))).to.deep.equal([
      { op: "replace", path: "/spec/remote/cidr/pod", value: ["10.0.0.0/16"] },
    ]);
  });

  it("names the range that is none", () => {
    expect(cidrProblems(configuration({ pod: ["10.0.0.0/16"] }))).to.deep.equal([]);
    expect(cidrProblems(configuration({ pod: ["10.0.0.0/33"] }))[0]).to.contain("spec.remote.cidr.pod[0]");
    expect(cidrProblems(configuration({ pod: "10.0.0.1/16" }))[0]).to.contain('write "10.0.0.0/16"');
    expect(cidrProblems(configuration({ external: 5 }))[0]).to.contain("spec.remote.cidr.external");
  });
});

describe("NamespaceOffloading webhook", () => {
  const check = (spec: NamespaceOffloadingSpec, name = "offloading", namespace = "app") =>
    checkOffloading(NamespaceOffloadingResource.build({ metadata: { name, namespace }, spec }), namespace, "consumer");

  it("refuses other names, a missing remote name, one that is too long, and selectors that no API server takes", () => {
    expect(check({}).allowed).to.equal(true);
    expect(check({}, "other").message).to.contain('must be named "offloading"');
    expect(check({ namespaceMappingStrategy: "SelectedName" }).message).to.contain("remoteNamespaceName");
    expect(check({}, "offloading", "n".repeat(60)).message).to.contain("not a valid namespace name");
    const nodeSelectorTerms = [{ matchExpressions: [{ key: "a", operator: "Is" }] }];
    expect(check({ clusterSelector: { nodeSelectorTerms } }).message).to.contain("nodeSelectorTerms[0]");
  });

  it("lets one end that was accepted before there was a rule against it", async () => {
    const none = { hasSynced: true, list: () => [], get: () => undefined };
    const context = { config: { clusterId: "consumer" }, informers: { for: () => none } };
    const validate = namespaceOffloadingValidator(context as unknown as WebhookContext);
    const metadata = { name: "offloading", namespace: "app", finalizers: ["liqo.io/x"] };
    const spec: NamespaceOffloadingSpec = { namespaceMappingStrategy: "SelectedName" };
    const oldObject = NamespaceOffloadingResource.build({ metadata, spec });
    const update = (object: KubeObject) =>
      validate({ operation: "UPDATE", namespace: "app", object, oldObject } as unknown as AdmissionRequest);
    expect((await update(oldObject)).allowed).to.equal(false);
    const ending = { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [] };
    expect((await update({ ...oldObject, metadata: ending })).allowed).to.equal(true);
  });

  it("refuses words that its annotations do not take, by their path", () => {
    const annotated = (key: string, value: string) =>
      checkOffloading(
        NamespaceOffloadingResource.build({
          metadata: { name: "offloading", namespace: "app", annotations: { [key]: value } },
          spec: {},
        }),
        "app",
        "consumer",
      );
    const access = "liqo.io/api-server-support";
    expect(annotated(access, "disabled").allowed).to.equal(true);
    expect(annotated(access, "off").message).to.equal(
      'metadata.annotations[liqo.io/api-server-support]: "off" is none of remote, disabled',
    );
    const eviction = "offloading.liqo.io/eviction-after-unschedulable";
    expect(annotated(eviction, "60").allowed).to.equal(true);
    expect(annotated(eviction, "1m").message).to.contain(`metadata.annotations[${eviction}]: "1m" is neither`);
  });

  it("warns that another name leads nowhere from other namespaces", () => {
    expect(nameWarnings("app", "app")).to.deep.equal([]);
    expect(nameWarnings("app", "app-consumer")[0]).to.contain("as NAME.app-consumer, and not as NAME.app");
  });

  it("keeps names and warns of a stricter strategy", () => {
    expect(checkOffloadingUpdate({}, { namespaceMappingStrategy: "EnforceSameName" }).allowed).to.equal(false);
    expect(checkOffloadingUpdate({}, { namespaceMappingStrategy: "DefaultName" })).to.deep.equal({ allowed: true });
    expect(checkOffloadingUpdate({}, { podOffloadingStrategy: "Remote" }).warnings).to.have.length(1);
    expect(checkOffloadingUpdate({ podOffloadingStrategy: "Remote" }, {}).warnings).to.equal(undefined);
  });
});

describe("Tenant webhook", () => {
  const namespace = (labels: Record<string, string>): Namespace => ({ metadata: { name: "tn", labels } });
  const good = namespace({ [REMOTE]: "c", "liqo.io/tenant-namespace": "true" });
  const tenant = (name: string, ns = "tn", label = "c"): Tenant =>
    TenantResource.build({ metadata: { name, namespace: ns, labels: { [REMOTE]: label } }, spec: { clusterID: "c" } });

  it("wants the tenant namespace of its cluster", () => {
    expect(checkTenant(tenant("c"), true, good, []).allowed).to.equal(true);
    expect(checkTenant(tenant("c"), true, namespace({}), [])).to.include({ allowed: false, code: 400 });
    expect(checkTenant(tenant("c", "tn", "d"), true, good, [])).to.include({ allowed: false, code: 400 });
    const other = namespace({ [REMOTE]: "d", "liqo.io/tenant-namespace": "true" });
    expect(checkTenant(tenant("c"), true, other, [])).to.include({ allowed: false, code: 403 });
  });

  it("wants one Tenant per namespace and names that are unique", () => {
    expect(checkTenant(tenant("c"), true, good, [tenant("old")]).allowed).to.equal(false);
    expect(checkTenant(tenant("c"), false, good, [tenant("old")]).allowed).to.equal(true);
    expect(checkTenant(tenant("c"), false, good, [tenant("c", "elsewhere")]).allowed).to.equal(false);
    expect(checkTenant(tenant("c"), true, good, [tenant("c")]).allowed).to.equal(true);
  });
});

describe("ResourceSlice webhook", () => {
  const slice = (namespace: string, labels: Record<string, string>, annotations = {}): ResourceSlice =>
    ResourceSliceResource.build({ metadata: { name: "s", namespace, labels, annotations }, spec: {} });
  const source = { "liqo.io/replication": "true" };

  it("refuses a second source of the same name, never a copy", () => {
    expect(checkNewSlice(slice("a", source), [slice("b", source)]).allowed).to.equal(false);
    expect(checkNewSlice(slice("a", source), [slice("a", source)]).allowed).to.equal(true);
    expect(checkNewSlice(slice("a", { "liqo.io/replicated": "true" }), [slice("b", source)]).allowed).to.equal(true);
  });

  it("keeps the consumer from lifting a cordon", () => {
    const cordoned = slice("a", {}, { "liqo.io/cordon": "true" });
    expect(checkSliceUpdate(cordoned, slice("a", {}), ["liqo.io"]).allowed).to.equal(false);
    expect(checkSliceUpdate(cordoned, slice("a", {}), ["system:masters"]).allowed).to.equal(true);
    expect(checkSliceUpdate(slice("a", {}), slice("a", { [REMOTE]: "x" }), ["liqo.io"]).allowed).to.equal(false);
  });
});

describe("VirtualNode webhook", () => {
  const virtualNode = (namespace = "tn") =>
    VirtualNodeResource.build({ metadata: { name: "p", namespace }, spec: { clusterID: "p" } });
  const node = (labels: Record<string, string>): Node => ({ metadata: { name: "p", labels } });

  it("refuses a clash with another Node or VirtualNode, not with its own leftover", () => {
    expect(checkNewVirtualNode(virtualNode(), undefined, [virtualNode()]).allowed).to.equal(true);
    expect(checkNewVirtualNode(virtualNode(), node({}), []).message).to.equal("node p already exists");
    const leftover = node({ "liqo.io/type": "virtual-node", [REMOTE]: "p" });
    expect(checkNewVirtualNode(virtualNode(), leftover, []).allowed).to.equal(true);
    expect(checkNewVirtualNode(virtualNode(), undefined, [virtualNode("other")]).allowed).to.equal(false);
  });

  it("fills in what the template decides and the object does not", () => {
    expect(defaultsPatch(virtualNode(), { createNode: false })).to.deep.equal([
      { op: "add", path: "/spec/createNode", value: false },
      { op: "add", path: "/spec/disableNetworkCheck", value: false },
    ]);
  });
});

describe("webhook for peering users", () => {
  const namespace: Namespace = { metadata: { labels: { [REMOTE]: "a" } } };
  const check = (object: object, oldObject?: object) =>
    checkPeeringUserWrite(
      {
        uid: "",
        operation: oldObject ? "UPDATE" : "CREATE",
        userInfo: {},
        object: object,
        oldObject: oldObject,
      },
      namespace,
    );
  const nonce = (labels: object = {}, rest: object = {}) => ({
    kind: "Secret",
    metadata: { name: "liqo-nonce", labels: { [REMOTE]: "a", "liqo.io/nonce": "true", ...labels } },
    ...rest,
  });

  it("passes what peering needs", () => {
    expect(check(nonce({ team: "x" })).allowed).to.equal(true);
    const answered = nonce({}, { data: { nonce: "bm9uY2U=" } });
    expect(check(answered, answered).allowed).to.equal(true);
    expect(check({ kind: "PublicKey", metadata: { labels: { [REMOTE]: "a" } } }).allowed).to.equal(true);
  });

  it("refuses every other Secret and nonces of the user's own", () => {
    expect(check(nonce({ "liqo.io/identity-type": "ControlPlane" })).message).to.contain("liqo-nonce");
    expect(check({ ...nonce(), metadata: { name: "x", labels: nonce().metadata.labels } }).allowed).to.equal(false);
    expect(check(nonce({}, { data: { nonce: "bWluZQ==" } })).message).to.contain("data:");
  });

  it("refuses objects of other clusters, and finalizers", () => {
    expect(check({ kind: "Configuration", metadata: { labels: { [REMOTE]: "b" } } }).message).to.contain(REMOTE);
    const held = { kind: "Tenant", metadata: { labels: { [REMOTE]: "a" }, finalizers: ["f"] }, spec: {} };
    expect(check({ ...held, metadata: { labels: { [REMOTE]: "a" } } }, held).message).to.contain("finalizers");
  });

  it("leaves decisions to the administrator", () => {
    const tenant = (spec: object) => ({ kind: "Tenant", metadata: { labels: { [REMOTE]: "a" } }, spec });
    expect(check(tenant({}), tenant({ tenantCondition: "Drained" })).message).to.contain("Drained");
    expect(check(tenant({ tenantCondition: "Drained" }), tenant({})).allowed).to.equal(true);
    expect(check(tenant({ authzPolicy: "TolerateNoHandshake" })).message).to.contain("authzPolicy");
    const deletion = { uid: "", operation: "DELETE", userInfo: {} } as const;
    const old = (spec: object) => ({ ...deletion, oldObject: tenant(spec) as KubeObject });
    expect(checkPeeringUserWrite(old({ tenantCondition: "Cordoned" }), namespace).allowed).to.equal(false);
    expect(checkPeeringUserWrite(old({}), namespace).allowed).to.equal(true);
  });
});
