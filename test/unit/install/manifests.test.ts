import { expect } from "chai";
import type { DaemonSet, Deployment } from "kubernetes-types/apps/v1";
import type { Namespace } from "kubernetes-types/core/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from "kubernetes-types/rbac/v1";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import { agentManifests, resourceTypeOf, type InstallInputs } from "../../../agent/install/index.js";
import { parseProxyArguments } from "../../../agent/proxy/arguments.js";
import { crds } from "../../../agent/api/crd.js";
import { Names } from "../../../agent/api/index.js";

const INPUTS: InstallInputs = {
  clusterId: "one",
  namespace: "agents",
  version: "1.2.3",
  image: "registry.example/agent:1.2.3",
  imagePullPolicy: "IfNotPresent",
  imagePullSecrets: ["pull"],
  replicas: 2,
  podCIDRs: ["10.1.0.0/16"],
  serviceCIDR: "10.2.0.0/16",
  reservedSubnets: ["10.3.0.0/16"],
  ipamPools: ["10.0.0.0/8"],
  apiServerAddress: "api.example:6443",
  apiServerCA: "",
  trustedCA: true,
  clusterLabels: { "topology.kubernetes.io/region": "here" },
  networkingEnabled: true,
  resourceEnforcement: true,
  defaultLimitsEnforcement: "Soft",
  defaultNodeResources: { cpu: "4", "ephemeral-storage": "20Gi" },
  storageEnabled: true,
  realStorageClass: "",
  ingressClasses: ["nginx", "traefik"],
  loadBalancerClasses: [],
  pingIntervalSeconds: 15,
  pingTimeoutSeconds: 5,
  labels: { team: "platform" },
  annotations: { note: "x" },
};

const manifests = agentManifests(INPUTS);

function find<T>(kind: string, name: string): T {
  const found = manifests.find((object) => object.kind === kind && object.metadata?.name === name);
  if (!found) throw new Error(`no ${kind} ${name}`);
  return found as T;
}

describe("the manifests of an installation", () => {
  it("are of known kinds, named once, with namespace and labels, in an order that can be applied", () => {
    const names = manifests.map(
      (object) => `${object.kind} ${object.metadata?.namespace ?? ""} ${object.metadata?.name}`,
    );
    expect(new Set(names).size).to.equal(names.length);
    for (const object of manifests) {
      expect(object.metadata?.namespace !== undefined, object.kind).to.equal(resourceTypeOf(object).namespaced);
      expect(object.metadata?.labels).to.include({ team: "platform", "app.kubernetes.io/part-of": "liqo" });
      expect(object.metadata?.labels).to.have.property("app.kubernetes.io/managed-by", "pulumi-liqo");
      expect(object.metadata?.annotations).to.include({ note: "x" });
    }
    const kinds = manifests.map(({ kind }) => kind);
    expect(kinds[0]).to.equal("Namespace");
    expect(kinds.lastIndexOf("CustomResourceDefinition")).to.be.lessThan(kinds.indexOf("Network"));
    expect(kinds.filter((kind) => kind === "CustomResourceDefinition")).to.have.length(crds().length);
    expect(kinds.at(-1)).to.equal("ValidatingWebhookConfiguration");
  });

  it("tell the controller what it reads back", () => {
    const [container] = find<Deployment>("Deployment", "liqo-controller-manager").spec?.template.spec?.containers ?? [];
    const [role, ...args] = container?.args ?? [];
    expect(role).to.equal("controller");
    expect(args.some((arg) => arg.startsWith("--cluster-labels="))).to.equal(true);
    expect(parseControllerArguments(args, {})).to.deep.include({
      clusterId: "one",
      namespace: "agents",
      clusterLabels: INPUTS.clusterLabels,
      image: INPUTS.image,
      imagePullSecrets: ["pull"],
      apiServerAddress: "api.example:6443",
      trustedCA: true,
      defaultLimitsEnforcement: "Soft",
      defaultSliceResources: INPUTS.defaultNodeResources,
      ingressClasses: ["nginx", "traefik"],
      ipamPools: ["10.0.0.0/8"],
    });
  });

  it("are found by the labels that Liqo's tools look for", () => {
    const labels = find<Deployment>("Deployment", "liqo-controller-manager").metadata?.labels;
    expect(labels).to.include({
      "app.kubernetes.io/name": "controller-manager",
      "app.kubernetes.io/component": "controller-manager",
      "app.kubernetes.io/version": "1.2.3",
    });
    expect(find<ClusterRole>("ClusterRole", Names.remoteControlPlaneRole).metadata?.labels).to.include({
      "app.kubernetes.io/name": "remote-controlplane",
    });
    expect(find<ClusterRole>("ClusterRole", Names.virtualKubeletRemoteClusterwideRole).metadata?.labels).to.include({
      "app.kubernetes.io/name": "virtual-kubelet-remote-clusterwide",
    });
  });

  it("select pods by what an upgrade does not change", () => {
    const controller = find<Deployment>("Deployment", "liqo-controller-manager");
    const upgraded = agentManifests({ ...INPUTS, version: "1.3.0", labels: {} });
    const later = upgraded.find(({ kind }) => kind === "Deployment") as Deployment;
    expect(later.spec?.selector).to.deep.equal(controller.spec?.selector);
    expect(controller.spec?.template.metadata?.labels).to.include(controller.spec?.selector.matchLabels ?? {});
  });

  it("are privileged only where nodes' networks are changed", () => {
    const controller = find<Deployment>("Deployment", "liqo-controller-manager").spec?.template.spec;
    expect(controller?.hostNetwork).to.equal(undefined);
    expect(controller?.containers[0]?.securityContext?.privileged).to.equal(undefined);
    const fabric = find<DaemonSet>("DaemonSet", "liqo-fabric").spec?.template.spec;
    expect(fabric?.hostNetwork).to.equal(true);
  });

  it("give the API server's proxy no rights, no token, and the configured address", () => {
    const pod = find<Deployment>("Deployment", "liqo-proxy").spec?.template.spec;
    expect(pod?.automountServiceAccountToken).to.equal(false);
    expect(pod?.serviceAccountName).to.equal(undefined);
    expect(pod?.containers[0]?.securityContext).to.include({ runAsNonRoot: true, readOnlyRootFilesystem: true });
    const [role, ...args] = pod?.containers[0]?.args ?? [];
    expect(role).to.equal("proxy");
    expect(parseProxyArguments(args, {})).to.deep.include({
      port: 8118,
      publicAddress: { host: "api.example", port: 6443 },
    });
    for (const off of [{ apiServerProxy: false }, { networkingEnabled: false }]) {
      const names = agentManifests({ ...INPUTS, ...off }).map(({ metadata }) => metadata?.name);
      expect(names).to.not.include("liqo-proxy");
    }
  });

  it("leave the network's parts out where networking is off", () => {
    const kinds = agentManifests({ ...INPUTS, networkingEnabled: false }).map(({ kind }) => kind);
    expect(kinds).not.to.include("DaemonSet");
    expect(kinds).not.to.include("Network");
    expect(kinds).to.include("Deployment");
  });

  it("bind roles that exist and grant no wildcards", () => {
    const roles = manifests.filter(({ kind }) => kind === "ClusterRole") as ClusterRole[];
    const names = roles.map((role) => role.metadata?.name);
    for (const binding of manifests.filter(({ kind }) => kind === "ClusterRoleBinding") as ClusterRoleBinding[]) {
      expect(names).to.include(binding.roleRef.name);
    }
    const wild = (rule: PolicyRule) =>
      [...rule.verbs, ...(rule.resources ?? []), ...(rule.apiGroups ?? [])].some((word) => word === "*");
    for (const role of roles) {
      const rules = role.rules ?? [];
      expect(rules.filter(wild), role.metadata?.name).to.deep.equal([]);
    }
  });

  it("have the storage class and its namespace where storage is enabled, and may make claims in that namespace alone", () => {
    expect(find<StorageClass>("StorageClass", "liqo")).to.include({
      provisioner: "liqo.io/storage",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    expect(find<Namespace>("Namespace", "liqo-storage").metadata?.labels).to.include({
      "liqo.io/storage-provisioner": "true",
    });
    const makes = ({ resources, verbs }: PolicyRule): boolean =>
      resources?.includes("persistentvolumeclaims") === true && verbs.includes("create");
    expect(find<ClusterRole>("ClusterRole", "liqo-controller-manager").rules?.some(makes)).to.equal(false);
    expect(
      manifests.filter(({ kind, metadata }) => kind === "Role" && metadata?.namespace === "liqo-storage"),
    ).to.have.length(1);
    const without = agentManifests({ ...INPUTS, storageEnabled: false });
    expect(without.filter(({ kind }) => kind === "StorageClass")).to.deep.equal([]);
    expect(without.filter(({ metadata }) => metadata?.namespace === "liqo-storage")).to.deep.equal([]);
  });
});
