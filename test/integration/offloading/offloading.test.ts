import { expect } from "chai";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod, PodSpec } from "kubernetes-types/core/v1";
import {
  ForeignClusterResource,
  IdentityResource,
  NamespaceMapResource,
  Names,
  NamespaceOffloadingResource,
  NetworkResource,
  ResourceSliceResource,
  VirtualNodeResource,
  VkOptionsTemplateResource,
  type NamespaceMap,
  type NamespaceOffloadingSpec,
  type ResourceSlice,
} from "../../../agent/api/index.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  DeploymentResource,
  EventResource,
  findCondition,
  NamespaceResource,
  NodeResource,
  PersistentVolumeResource,
  PodResource,
  RoleBindingResource,
  ServiceAccountResource,
  type KubeClient,
  sameJson,
} from "../../../agent/runtime/index.js";
import { virtualKubeletTemplate } from "../../../agent/install/virtual-kubelet-template.js";
import { DRAIN_DEADLINE_MS } from "../../../agent/controller/offloading/virtual-node/drain-condition.js";
import { median } from "../../bench/result.js";
import { PodDisruptionBudgetResource } from "../../support/disruption-budget.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { remoteVolume } from "../support/remote-volume.js";
import { ensureNamespace, eventually, gone, startController, tenantLabels, type RunningController } from "./harness.js";

/** One API server plays both clusters: the consumer's objects are in one tenant namespace, the provider's copies in the other. */
const TO_PROVIDER = "liqo-tenant-provider";
const FROM_CONSUMER = "liqo-tenant-consumer";
const VIRTUAL_NODE = { name: "provider", namespace: TO_PROVIDER };
const OFFLOADING = { name: "offloading", namespace: "app" };
const GRACE_SECONDS = 2;

describe("offloading controllers against a real API server", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let controller: RunningController;
  let client: KubeClient;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ controllers: ["namespace-controller"] });
    client = server.client;
    await ensureNamespace(client, TO_PROVIDER, tenantLabels("provider"));
    await ensureNamespace(client, FROM_CONSUMER, tenantLabels("consumer"));
    for (const name of ["app", "liqo"]) await ensureNamespace(client, name);
    // Before the controller, which could else learn of it after the first virtual node, by another watch.
    await client.create(
      NetworkResource,
      NetworkResource.build({
        metadata: { name: "pod-cidr", namespace: "liqo", labels: { "ipam.liqo.io/network-type": "pod-cidr" } },
        spec: { cidr: "10.200.0.0/16" },
      }),
    );
    controller = await startController(server, "consumer");
  });

  after(async () => {
    await controller?.stop();
    await server?.stop();
  });

  async function createSlice(): Promise<void> {
    const slice = await client.create(
      ResourceSliceResource,
      ResourceSliceResource.build({
        metadata: {
          ...VIRTUAL_NODE,
          labels: {
            "liqo.io/remote-cluster-id": "provider",
            "liqo.io/remoteID": "provider",
            "liqo.io/replication": "true",
          },
          annotations: { "liqo.io/create-virtual-node": "true" },
        },
        spec: { class: "default" },
      }),
    );
    await client.create(
      IdentityResource,
      IdentityResource.build({
        metadata: {
          name: "resourceslice-provider",
          namespace: TO_PROVIDER,
          labels: { "liqo.io/resourceslice-name": "provider" },
        },
        spec: { clusterID: "provider", type: "ResourceSlice" },
      }),
    );
    const status = { status: { kubeconfigSecretRef: { name: "kubeconfig-resourceslice-provider" } } };
    const id = { name: "resourceslice-provider", namespace: TO_PROVIDER };
    await client.mergePatch(IdentityResource, id, status, { subresource: "status" });
    await grant(slice, { cpu: "4", memory: "8Gi", gpu: "1" });
  }

  async function grant(
    slice: ResourceSlice,
    resources: Record<string, string | null>,
    nodeLabels: Record<string, string | null> = { zone: "z1" },
  ): Promise<void> {
    const conditions = ["Authentication", "Resources"].map((type) => ({ type, status: "Accepted" }));
    const status = { conditions, resources, nodeLabels };
    await client.mergePatch(ResourceSliceResource, idOf(slice), { status }, { subresource: "status" });
  }

  it("makes a virtual node and its process from an accepted slice", async () => {
    await createSlice();
    const deployment = await eventually("the Deployment", () =>
      client.get(DeploymentResource, { name: "vk-provider", namespace: TO_PROVIDER }),
    );
    expect(deployment.spec?.template.spec?.containers[0]?.args).to.include.members([
      "virtual-node",
      "--nodename=provider",
      "--home-cluster-id=consumer",
      "--foreign-kubeconfig-secret-name=kubeconfig-resourceslice-provider",
      "--create-node=true",
      "--node-check-network=true",
      "--local-podcidr=10.200.0.0/16",
    ]);
    const virtualNode = await client.get(VirtualNodeResource, VIRTUAL_NODE);
    expect(virtualNode?.spec.resourceQuota?.hard).to.deep.equal({ cpu: "4", memory: "8Gi", gpu: "1" });
    expect(virtualNode?.spec.labels).to.deep.equal({ zone: "z1", "liqo.io/remote-cluster-id": "provider" });
    // Asked for at the same time as the Deployment.
    const account = { ...VIRTUAL_NODE, name: "vk-provider" };
    await eventually("the account", () => client.get(ServiceAccountResource, account));
    const binding = await eventually("the binding", () =>
      client.get(ClusterRoleBindingResource, { name: "liqo-node-provider" }),
    );
    expect(binding.subjects?.[0]).to.include({ kind: "ServiceAccount", ...account });
    await eventually("conditions", async () => {
      const conditions = (await client.get(VirtualNodeResource, VIRTUAL_NODE))?.status?.conditions;
      return findCondition(conditions, "Node")?.status === "Creating";
    });
  });

  it("follows the granted amounts at once, without touching the process", async () => {
    const slice = await client.get(ResourceSliceResource, VIRTUAL_NODE);
    const before = await client.get(DeploymentResource, { name: "vk-provider", namespace: TO_PROVIDER });
    const delays: number[] = [];
    for (const cpu of ["6", "7", "8"]) {
      const started = Date.now();
      await grant(slice as ResourceSlice, { cpu, gpu: null });
      await eventually("the new amounts", async () => {
        const hard = (await client.get(VirtualNodeResource, VIRTUAL_NODE))?.spec.resourceQuota?.hard;
        return hard?.["cpu"] === cpu && hard["gpu"] === undefined;
      });
      delays.push(Date.now() - started);
    }
    expect(median(delays)).to.be.below(1_000);
    const after = await client.get(DeploymentResource, { name: "vk-provider", namespace: TO_PROVIDER });
    expect(after?.metadata?.generation).to.equal(before?.metadata?.generation);
  });

  it("follows the labels that the provider offers, and drops those that it no longer does", async () => {
    const slice = (await client.get(ResourceSliceResource, VIRTUAL_NODE)) as ResourceSlice;
    const labelled = (labels: Record<string, string>) =>
      eventually("the offered labels", async () => {
        const present = (await client.get(VirtualNodeResource, VIRTUAL_NODE))?.spec.labels;
        return sameJson(present, { ...labels, "liqo.io/remote-cluster-id": "provider" });
      });
    await grant(slice, {}, { "kubernetes.io/arch": "arm64" });
    await labelled({ "kubernetes.io/arch": "arm64", zone: "z1" });
    await grant(slice, {}, { "kubernetes.io/arch": null });
    await labelled({ zone: "z1" });
  });

  it("offloads a namespace: label, mapping, remote namespace with the consumer's rights, status", async () => {
    const { metadata, spec } = podOn("ordinary", "older", { tolerations: [] });
    await client.create(PodResource, { metadata: { ...metadata, labels: {} }, spec });
    await client.create(
      NamespaceOffloadingResource,
      NamespaceOffloadingResource.build({
        metadata: OFFLOADING,
        spec: { clusterSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "Exists" }] }] } },
      }),
    );
    expect(await told("NamespaceOffloading", OFFLOADING, "PodsPredateOffloading")).to.match(/^1 pods are older/);
    await client.delete(PodResource, { name: "older", namespace: "app" }, { gracePeriodSeconds: 0 });
    const source = await eventually("the mapping", async () => {
      const map = await client.get(NamespaceMapResource, VIRTUAL_NODE);
      return map?.spec.desiredMapping?.["app"] === "app-consumer" ? map : undefined;
    });
    expect(source.metadata.labels).to.include({ "liqo.io/replication": "true", "liqo.io/remoteID": "provider" });
    expect((await offloadingStatus())?.offloadingPhase).to.be.oneOf(["InProgress", undefined]);

    const copy = await replicate(source);
    const remote = await eventually("the remote namespace", () =>
      client.get(NamespaceResource, { name: "app-consumer" }),
    );
    expect(remote.metadata?.annotations).to.include({
      "liqo.io/managed-by-namespace-map": `${FROM_CONSUMER}/provider`,
      "liqo.io/original-name": "app",
    });
    const binding = await eventually("the role binding", () =>
      client.get(RoleBindingResource, { name: FROM_CONSUMER, namespace: "app-consumer" }),
    );
    expect(binding.subjects?.[0]).to.include({ kind: "Group", name: "consumer" });
    await bringStatusBack(copy, (map) => map.status?.currentMapping?.["app"]?.phase === "Accepted");
    await eventually("phase Ready", async () => (await offloadingStatus())?.offloadingPhase === "Ready");
    expect(await told("NamespaceOffloading", OFFLOADING, "RemoteNamespaceReady")).to.contain(
      "cluster provider, namespace app-consumer",
    );
    expect(await told("NamespaceOffloading", OFFLOADING, "Offloaded")).to.contain("offloaded to provider");
    const offloading = await client.get(NamespaceOffloadingResource, OFFLOADING);
    expect(offloading?.status?.observedGeneration).to.equal(offloading?.metadata.generation);
    expect((await client.get(NamespaceResource, { name: "app" }))?.metadata?.labels).to.include({
      "liqo.io/scheduling-enabled": "true",
    });
  });

  it("binds the roles that the administrator makes for custom resources, here for virtual nodes that reflect some", async () => {
    const there = { name: `${FROM_CONSUMER}-custom-resources`, namespace: "app-consumer" };
    const here = { name: "liqo-custom-resources-provider" };
    const template = { name: "virtual-kubelet-default", namespace: "liqo" };
    const widgets = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets" };
    const deploymentOf = async (): Promise<Deployment> =>
      (await client.get(DeploymentResource, { name: "vk-provider", namespace: TO_PROVIDER }))!;
    const argumentsOf = async (): Promise<string[]> =>
      (await deploymentOf()).spec?.template.spec?.containers[0]?.args ?? [];
    expect(await client.get(RoleBindingResource, there)).to.equal(undefined);
    const { spec } = virtualKubeletTemplate(controller.context.config);
    const options = VkOptionsTemplateResource.build({
      metadata: template,
      spec: { ...spec, customResources: [widgets] },
    });
    await client.create(VkOptionsTemplateResource, options);
    await eventually("the argument", async () =>
      (await argumentsOf()).includes("--reflect-resource=widgets.v1.example.com/Widget"),
    );
    expect(await client.get(ClusterRoleBindingResource, here)).to.equal(undefined);

    // Rights that the controller does not have itself.
    const rules = [{ apiGroups: ["example.com"], resources: ["widgets"], verbs: ["*"] }];
    const [localRole, remoteRole] = [Names.virtualKubeletLocalCustomRole, Names.virtualKubeletRemoteCustomRole];
    for (const name of [localRole, remoteRole]) await client.create(ClusterRoleResource, { metadata: { name }, rules });
    const bound = await eventually("the consumer's binding", () => client.get(ClusterRoleBindingResource, here));
    expect(bound.roleRef.name).to.equal(localRole);
    expect(bound.subjects).to.deep.equal([{ kind: "ServiceAccount", name: "vk-provider", namespace: TO_PROVIDER }]);
    const given = await eventually("the provider's binding", () => client.get(RoleBindingResource, there));
    expect(given.roleRef.name).to.equal(remoteRole);
    expect(given.subjects?.[0]).to.include({ kind: "Group", name: "consumer" });

    // A virtual node that reflects none any more has no rights to them.
    await client.delete(VkOptionsTemplateResource, template);
    await gone(client, ClusterRoleBindingResource, here);

    // And nobody asks the API server to take away what is not there, pass by pass.
    const before = await deletions("clusterrolebindings");
    for (const pass of ["first", "second"]) {
      const patch = { spec: { template: { metadata: { labels: { pass } } } } };
      await client.mergePatch(VirtualNodeResource, VIRTUAL_NODE, patch);
      await eventually(`the ${pass} pass`, async () => (await deploymentOf()).metadata?.labels?.["pass"] === pass);
    }
    expect(await deletions("clusterrolebindings")).to.equal(before);
    await client.mergePatch(VirtualNodeResource, VIRTUAL_NODE, { spec: { template: null } });
  });

  it("runs a virtual node's process as the options say that it names, and anew when they change", async () => {
    const id = { name: "custom", namespace: TO_PROVIDER };
    const options = { name: "mine", namespace: "app" };
    const tolerations = [{ key: "edge", operator: "Exists" }];
    const template = VkOptionsTemplateResource.build({
      metadata: options,
      spec: {
        createNode: false,
        disableNetworkCheck: true,
        containerImage: "agent:mine",
        metricsEnabled: true,
        metricsAddress: ":9999",
        pullPolicy: "Never",
        resources: { requests: { cpu: "11m" } },
        // Which virtual node it is they do not say.
        extraArgs: ["--ping-interval=7s", "--nodename=other", "--create-node", "true"],
        extraLabels: { team: "a" },
        extraAnnotations: { note: "b" },
        nodeExtraLabels: { rack: "7" },
        nodeExtraAnnotations: { owner: "me" },
        replicas: 2,
        imagePullSecrets: [{ name: "registry" }],
        tolerations,
      },
    });
    await client.create(VkOptionsTemplateResource, template);
    const spec = { clusterID: "provider", kubeconfigSecretRef: { name: "k" }, vkOptionsTemplateRef: options };
    await client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata: id, spec }));
    const deploymentWhere = (what: string, isWanted: (deployment: Deployment) => boolean): Promise<Deployment> =>
      eventually(what, async () => {
        const deployment = await client.get(DeploymentResource, { ...id, name: "vk-custom" });
        return deployment && isWanted(deployment) && deployment;
      });
    const argumentsOf = ({ spec: { template } = {} as never }: Deployment): string[] =>
      template.spec?.containers[0]?.args ?? [];

    const made = await deploymentWhere("the Deployment", () => true);
    const pod = made.spec?.template;
    const [container] = pod?.spec?.containers ?? [];
    expect(made.spec?.replicas).to.equal(2);
    expect(pod?.metadata?.labels).to.include({ team: "a" });
    expect(pod?.metadata?.annotations).to.include({ note: "b" });
    expect(pod?.spec?.tolerations).to.deep.equal(tolerations);
    expect(pod?.spec?.imagePullSecrets).to.deep.include({ name: "registry" });
    expect(container).to.deep.include({ image: "agent:mine", imagePullPolicy: "Never" });
    expect(container?.resources).to.deep.equal({ requests: { cpu: "11m" } });
    expect(argumentsOf(made))
      .to.include.members(["--nodename=custom", "--create-node=false", "--node-check-network=false"])
      .and.include.members(["--ping-interval=7s", "--node-extra-labels=rack=7", "--node-extra-annotations=owner=me"])
      .and.include("--metrics-address=:9999")
      .and.not.include.members(["--nodename=other", "--create-node"]);
    await nodeIs("None", id);

    const change = {
      spec: { nodeExtraLabels: { rack: null, row: "3" }, resources: { requests: { cpu: "12m" } }, replicas: 1 },
    };
    await client.mergePatch(VkOptionsTemplateResource, options, change);
    const changed = await deploymentWhere("the change", (one) =>
      argumentsOf(one).includes("--node-extra-labels=row=3"),
    );
    expect(argumentsOf(changed)).to.not.include("--node-extra-labels=rack=7");
    expect(changed.spec?.template.spec?.containers[0]?.resources).to.deep.equal({ requests: { cpu: "12m" } });
    expect(changed.spec?.replicas).to.equal(1);
    expect(changed.metadata?.generation).to.be.greaterThan(made.metadata?.generation ?? 0);

    // A process that runs goes on while nobody knows how it should.
    await client.delete(VkOptionsTemplateResource, options);
    const refused = await eventually("the refusal", async () => {
      const { conditions } = (await client.get(VirtualNodeResource, id))?.status ?? {};
      const condition = findCondition(conditions, "VirtualKubelet");
      return condition?.reason === "Refused" && condition;
    });
    expect(refused.message).to.contain("there is no VkOptionsTemplate app/mine");
    const left = await deploymentWhere("the process", () => true);
    expect(left.metadata?.generation).to.equal(changed.metadata?.generation);
    await client.mergePatch(VirtualNodeResource, id, { spec: { vkOptionsTemplateRef: null } });
    await deploymentWhere("the installation's own options", (one) => !argumentsOf(one).includes("--ping-interval=7s"));
    await client.delete(VirtualNodeResource, id);
    await gone(client, VirtualNodeResource, id);
  });

  it("never adopts a namespace that exists, and makes its own when that is gone", async () => {
    await ensureNamespace(client, "theirs");
    const id = { name: "provider", namespace: FROM_CONSUMER };
    await client.mergePatch(NamespaceMapResource, id, { spec: { desiredMapping: { local: "theirs" } } });
    const phaseIs = (phase: string) => async () =>
      (await client.get(NamespaceMapResource, id))?.status?.currentMapping?.["local"]?.phase === phase;
    await eventually("a conflict", phaseIs("CreationLoopBackOff"));
    await client.delete(NamespaceResource, { name: "theirs" });
    await eventually("the namespace of our own", phaseIs("Accepted"));
    await client.mergePatch(NamespaceMapResource, id, { spec: { desiredMapping: { local: null } } });
    await gone(client, NamespaceResource, { name: "theirs" });
    await eventually(
      "the entry's end",
      async () => !(await client.get(NamespaceMapResource, id))?.status?.currentMapping?.["local"],
    );
  });

  it("makes a managed namespace again that was deleted by hand", async () => {
    const before = await client.get(NamespaceResource, { name: "app-consumer" });
    await client.delete(NamespaceResource, { name: "app-consumer" });
    await eventually("another namespace", async () => {
      const now = await client.get(NamespaceResource, { name: "app-consumer" });
      return now !== undefined && now.metadata?.uid !== before?.metadata?.uid;
    });
  });

  it("keeps the namespace in a cluster that is left out while data of its claims is there, until that is given up", async () => {
    const volume = remoteVolume({ name: "data", namespace: "app" }, "provider");
    const terms = (await client.get(NamespaceOffloadingResource, OFFLOADING))?.spec.clusterSelector?.nodeSelectorTerms;
    const change = (values: string[] | undefined, agreement: string | null) => {
      const nowhere = [{ matchExpressions: [{ key: "zone", operator: "In", values }] }];
      const patch = {
        metadata: { annotations: { "offloading.liqo.io/delete-remote-volumes": agreement } },
        spec: { clusterSelector: { nodeSelectorTerms: values ? nowhere : terms } },
      };
      return client.mergePatch(NamespaceOffloadingResource, OFFLOADING, patch);
    };
    const mapped = async () => (await client.get(NamespaceMapResource, VIRTUAL_NODE))?.spec.desiredMapping?.["app"];
    await client.create(PersistentVolumeResource, volume);
    await eventually("the volume known", () =>
      Promise.resolve(controller.context.informers.for(PersistentVolumeResource).get(volume.metadata?.name ?? "")),
    );

    await change(["elsewhere"], null);
    const required = await eventually("the reason", async () => {
      const conditions = (await offloadingStatus())?.remoteNamespacesConditions?.["provider"];
      const condition = findCondition(conditions, "OffloadingRequired");
      return condition?.reason === "VolumesWouldBeLost" ? condition : undefined;
    });
    expect(required.message).to.contain("claim data is in cluster provider");
    expect(await mapped()).to.equal("app-consumer");
    const { items } = await eventually("an event", async () => {
      const events = await client.list(EventResource, { namespace: "app" });
      return events.items.some(({ reason }) => reason === "VolumesWouldBeLost") ? events : undefined;
    });
    expect(items.find(({ reason }) => reason === "VolumesWouldBeLost")?.involvedObject.kind).to.equal(
      "NamespaceOffloading",
    );

    await change(["elsewhere"], "true");
    await eventually("the mapping's end", async () => (await mapped()) === undefined);
    await client.delete(PersistentVolumeResource, { name: volume.metadata?.name ?? "" });
    await change(undefined, null);
    await eventually("the mapping", async () => (await mapped()) === "app-consumer");
  });

  it("ends offloading only when the remote namespace is gone", async () => {
    await client.delete(NamespaceOffloadingResource, OFFLOADING);
    await eventually("the mapping's end", async () => {
      const map = await client.get(NamespaceMapResource, VIRTUAL_NODE);
      return map && map.spec.desiredMapping?.["app"] === undefined;
    });
    await eventually("phase Terminating", async () => (await offloadingStatus())?.offloadingPhase === "Terminating");
    const id = { name: "provider", namespace: FROM_CONSUMER };
    await client.mergePatch(NamespaceMapResource, id, { spec: { desiredMapping: { app: null } } });
    await gone(client, NamespaceResource, { name: "app-consumer" });
    const copy = await client.get(NamespaceMapResource, id);
    await bringStatusBack(copy as NamespaceMap, (map) => !map.status?.currentMapping?.["app"]);
    await gone(client, NamespaceOffloadingResource, OFFLOADING);
    for (const reason of ["RemoteNamespaceEnding", "OffloadingEnded"]) {
      expect(await told("NamespaceOffloading", OFFLOADING, reason)).to.contain("cluster provider");
    }
    const namespace = await client.get(NamespaceResource, { name: "app" });
    expect(namespace?.metadata?.labels).not.to.have.property("liqo.io/scheduling-enabled");
  });

  it("labels the pods of a Node that is not ready, and takes the label away", async () => {
    await client.create(NodeResource, {
      metadata: {
        name: "provider",
        labels: { "liqo.io/type": "virtual-node", "liqo.io/remote-cluster-id": "provider" },
      },
    });
    await setNodeReady("False");
    await client.create(PodResource, podOn("provider", "offloaded"));
    const isMarked = async () => {
      const pod = await client.get(PodResource, { name: "offloaded", namespace: "app" });
      return pod?.metadata?.labels?.["liqo.io/remote-unavailable"] === "true";
    };
    await eventually("the label", isMarked);
    await setNodeReady("True");
    await eventually("the label's end", async () => !(await isMarked()));
    await eventually("the Node condition", async () => {
      const conditions = (await client.get(VirtualNodeResource, VIRTUAL_NODE))?.status?.conditions;
      return findCondition(conditions, "Node")?.reason === "NodeReady";
    });
    await told("VirtualNode", VIRTUAL_NODE, "NodeReady");
  });

  it("moves pods that the provider has no room for where their namespace asks for it, and has others of its Nodes preferred", async () => {
    for (const [namespace, delay] of [
      ["patient", "never"],
      ["impatient", "60"],
    ] as const) {
      await ensureNamespace(client, namespace);
      const annotations = { "offloading.liqo.io/eviction-after-unschedulable": delay };
      const metadata = { name: "offloading", namespace, annotations };
      await client.create(NamespaceOffloadingResource, NamespaceOffloadingResource.build({ metadata, spec: {} }));
    }
    const unplaced = async (
      namespace: string,
      name: string,
      owned: boolean,
    ): Promise<{ name: string; namespace: string }> => {
      const { metadata, spec } = podOn("provider", name);
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r", controller: true };
      const ownerReferences = owned ? [owner] : [];
      await client.create(PodResource, { metadata: { ...metadata, namespace, ownerReferences }, spec });
      const id = { name, namespace };
      // The provider's clock is years behind: the pod's own age counts, and its minute has just begun.
      const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 nodes" };
      const conditions = [{ ...condition, lastTransitionTime: "2020-01-01T00:00:00Z" }];
      await client.mergePatch(PodResource, id, { status: { phase: "Pending", conditions } }, { subresource: "status" });
      return id;
    };
    const [bare, kept, owned] = await Promise.all([
      unplaced("impatient", "bare", false),
      unplaced("patient", "kept", true),
      unplaced("impatient", "owned", true),
    ]);
    const taints = async () => (await client.get(NodeResource, { name: "provider" }))?.spec?.taints ?? [];
    const before = await taints();
    const isOurs = ({ key }: { key: string }): boolean => key === "offloading.liqo.io/no-room";
    expect(before.filter(isOurs)).to.deep.equal([]);
    const sooner = { metadata: { annotations: { "offloading.liqo.io/eviction-after-unschedulable": "0" } } };
    await client.mergePatch(NamespaceOffloadingResource, { name: "offloading", namespace: "impatient" }, sooner);
    await eventually("the eviction", async () => (await client.get(PodResource, owned))?.metadata?.deletionTimestamp);
    expect(await told("Pod", owned, "UnschedulableAtProvider")).to.contain("0/2 nodes");
    const [taint] = (await taints()).filter(isOurs);
    expect(taint?.effect).to.equal("PreferNoSchedule");
    expect(await taints()).to.deep.include.members(before);
    for (const id of [bare, kept]) {
      expect((await client.get(PodResource, id))?.metadata?.deletionTimestamp, id.name).to.equal(undefined);
    }
    // As if it were long ago.
    const expired = [...before, { ...taint, timeAdded: "2020-01-01T00:00:00Z" }];
    await client.delete(PodResource, owned, { gracePeriodSeconds: 0 });
    await client.mergePatch(NodeResource, { name: "provider" }, { spec: { taints: expired } });
    await eventually("the taint's end", async () => !(await taints()).some(isOurs));
    expect(await taints()).to.deep.equal(before);
    for (const id of [bare, kept]) await client.delete(PodResource, id, { gracePeriodSeconds: 0 });
    for (const namespace of ["patient", "impatient"])
      await client.delete(NamespaceOffloadingResource, { name: "offloading", namespace });
  });

  it("gives a cluster up, and ends, only when the pods that others follow have left, or their time is over", async () => {
    const namespace = "leaving";
    await ensureNamespace(client, namespace);
    const id = { name: "offloading", namespace };
    await client.create(NamespaceOffloadingResource, NamespaceOffloadingResource.build({ metadata: id, spec: {} }));
    const mapped = async () => (await client.get(NamespaceMapResource, VIRTUAL_NODE))?.spec.desiredMapping?.[namespace];
    await eventually("the mapping", mapped);
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r", controller: true };
    const create = async (name: string, ownerReferences: (typeof owner)[]) => {
      const { metadata, spec } = podOn("provider", name);
      return client.create(PodResource, { metadata: { ...metadata, namespace, ownerReferences }, spec });
    };
    const owned = await create("owned", [owner]);
    const bare = await create("bare", []);
    const endBudget = await guardWithBudget(owned);
    const required = async () => {
      const { remoteNamespacesConditions } = (await client.get(NamespaceOffloadingResource, id))?.status ?? {};
      return findCondition(remoteNamespacesConditions?.["provider"], "OffloadingRequired");
    };
    const select = (operator: string) => {
      const nodeSelectorTerms = [{ matchExpressions: [{ key: "liqo.io/type", operator }] }];
      return client.mergePatch(NamespaceOffloadingResource, id, { spec: { clusterSelector: { nodeSelectorTerms } } });
    };
    await select("DoesNotExist");
    const waiting = await eventually("a word on the pods", async () => {
      const condition = await required();
      return condition?.reason === "PodsLeaving" && condition;
    });
    expect(waiting.message).to.match(/^1 pods are leaving the cluster: owned; held by a PodDisruptionBudget: owned; /);
    expect(await mapped()).to.be.a("string");
    await client.delete(NamespaceOffloadingResource, id);
    await endBudget();
    await eventually(
      "the eviction",
      async () => (await client.get(PodResource, idOf(owned)))?.metadata?.deletionTimestamp,
    );
    expect(await mapped()).to.be.a("string");
    // As the virtual node does once the remote pod has gone.
    await client.delete(PodResource, idOf(owned), { gracePeriodSeconds: 0 });
    await gone(client, NamespaceOffloadingResource, id);
    expect(await mapped()).to.equal(undefined);
    expect((await client.get(PodResource, idOf(bare)))?.metadata?.deletionTimestamp).to.equal(undefined);
    await client.delete(PodResource, idOf(bare), { gracePeriodSeconds: 0 });
  });

  it("keeps a namespace where it may still be wanted, when its selector changes while the Node is away", async () => {
    const [namespace, name] = ["steady", "away"];
    const [id, virtualNode] = [
      { name: "offloading", namespace },
      { name, namespace: TO_PROVIDER },
    ];
    const select = (key: string, value: string): NamespaceOffloadingSpec => ({
      clusterSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: [value] }] }] },
    });
    /** What has become of the wish that is there now. */
    const required = (isWanted: boolean): Promise<unknown> =>
      eventually(`the cluster ${isWanted ? "" : "not "}selected`, async () => {
        const { metadata, status } = (await client.get(NamespaceOffloadingResource, id)) ?? {};
        const condition = findCondition(status?.remoteNamespacesConditions?.[name], "OffloadingRequired");
        const isJudged = status?.observedGeneration === metadata?.generation;
        return isJudged && (condition?.status === "True") === isWanted;
      });
    const change = (spec: NamespaceOffloadingSpec) => client.mergePatch(NamespaceOffloadingResource, id, { spec });
    await ensureNamespace(client, namespace);
    const options = { name: "tiers", namespace };
    const tier = (value: string) => ({ nodeExtraLabels: { tier: value } });
    const image = { containerImage: "agent:mine", metricsEnabled: false };
    await client.create(
      VkOptionsTemplateResource,
      VkOptionsTemplateResource.build({
        metadata: options,
        spec: { ...image, createNode: true, disableNetworkCheck: false, ...tier("gold") },
      }),
    );
    const spec = {
      ...{ clusterID: name, kubeconfigSecretRef: { name: "k" }, createNode: true, labels: { zone: "z1" } },
      vkOptionsTemplateRef: options,
    };
    await client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata: virtualNode, spec }));
    const labels = { "liqo.io/type": "virtual-node", "liqo.io/remote-cluster-id": name, zone: "z1", rack: "7" };
    await client.create(NodeResource, { metadata: { name, labels } });
    await nodeIs("Running", virtualNode);
    const wish = select("zone", "z1");
    await client.create(NamespaceOffloadingResource, NamespaceOffloadingResource.build({ metadata: id, spec: wish }));
    await required(true);
    await client.delete(NodeResource, { name });
    await nodeIs("Creating", virtualNode);

    // Its user has labelled it so: nobody can tell now.
    await change(select("rack", "7"));
    await required(true);
    const mapped = async () =>
      (await client.get(NamespaceMapResource, virtualNode))?.spec.desiredMapping?.[namespace] ?? "";
    expect(await mapped()).to.equal("steady-consumer");
    await change(select("zone", "z2"));
    await required(false);
    await eventually("the mapping's end", async () => (await mapped()) === "");
    // The virtual node's options say what its Node will have.
    await change(select("tier", "gold"));
    await required(true);
    await change(select("tier", "silver"));
    await required(false);
    await client.mergePatch(VkOptionsTemplateResource, options, { spec: tier("silver") });
    await required(true);
    await client.delete(NamespaceOffloadingResource, id);
    await gone(client, NamespaceOffloadingResource, id);
    await client.delete(VirtualNodeResource, virtualNode);
    await gone(client, VirtualNodeResource, virtualNode);
  });

  it("takes the Node away from a virtual node that is to have none, and keeps what others of the cluster share", async () => {
    const id = { name: "second", namespace: TO_PROVIDER };
    const spec = { clusterID: "provider", kubeconfigSecretRef: { name: "k" }, createNode: true };
    await client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata: id, spec }));
    await client.create(NodeResource, {
      metadata: { name: "second", labels: { "liqo.io/type": "virtual-node", "liqo.io/remote-cluster-id": "provider" } },
    });
    await nodeIs("Running", id);
    await client.mergePatch(VirtualNodeResource, id, { spec: { createNode: false } });
    await gone(client, NodeResource, { name: "second" });
    await nodeIs("None", id);
    await client.delete(VirtualNodeResource, id);
    await gone(client, VirtualNodeResource, id);
    expect((await client.get(NamespaceMapResource, VIRTUAL_NODE))?.metadata.deletionTimestamp).to.equal(undefined);
  });

  it("leaves pods that a Job holds to Kubernetes where the cluster is lost, and takes the Node away", async () => {
    const id = { name: "abandoned", namespace: TO_PROVIDER };
    // Nothing is known of this cluster.
    const spec = { clusterID: "lost", kubeconfigSecretRef: { name: "k" }, createNode: true };
    await client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata: id, spec }));
    const labels = { "liqo.io/type": "virtual-node", "liqo.io/remote-cluster-id": "lost" };
    await client.create(NodeResource, { metadata: { name: "abandoned", labels } });
    await nodeIs("Running", id);
    const pod = podOn("abandoned", "job");
    const finalizers = ["batch.kubernetes.io/job-tracking"];
    await client.create(PodResource, { ...pod, metadata: { ...pod.metadata, finalizers } });
    await client.mergePatch(PodResource, idOf(pod), { status: { phase: "Running" } }, { subresource: "status" });
    await client.delete(VirtualNodeResource, id);
    await gone(client, VirtualNodeResource, id);
    expect(await client.get(NodeResource, { name: "abandoned" })).to.equal(undefined);
    expect((await client.get(PodResource, idOf(pod)))?.metadata?.deletionGracePeriodSeconds).to.equal(0);
    await client.mergePatch(PodResource, idOf(pod), { metadata: { finalizers: null } });
    await gone(client, PodResource, idOf(pod));
  });

  it("respects disruption budgets until a drain's deadline, and then deletes what they hold", async () => {
    await client.create(
      ForeignClusterResource,
      ForeignClusterResource.build({ metadata: { name: "provider" }, spec: { clusterID: "provider" } }),
    );
    // Without it a drain would not wait for the other cluster.
    await eventually("the ForeignCluster in the cache", () =>
      Promise.resolve(controller.context.informers.for(ForeignClusterResource).get("provider")),
    );
    const id = { name: "late", namespace: TO_PROVIDER };
    const spec = { clusterID: "provider", kubeconfigSecretRef: { name: "k" }, createNode: true };
    await client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata: id, spec }));
    await client.create(NodeResource, {
      metadata: { name: "late", labels: { "liqo.io/type": "virtual-node", "liqo.io/remote-cluster-id": "provider" } },
    });
    // There is nothing to drain for a controller that does not know the Node yet.
    await nodeIs("Running", id);
    const pod = await client.create(
      PodResource,
      podOn("late", "held", { terminationGracePeriodSeconds: GRACE_SECONDS }),
    );
    const endBudget = await guardWithBudget(pod);
    await client.delete(VirtualNodeResource, id);
    await blockedEviction(id, "app/held");
    const begun = new Date(Date.now() - DRAIN_DEADLINE_MS).toISOString();
    const deleted = await eventually("the deletion", async () => {
      // A pass of the controller that has begun before may write the former time once more.
      await beganToDrain(id, begun);
      const held = await client.get(PodResource, idOf(pod));
      return held?.metadata?.deletionTimestamp ? held : undefined;
    });
    expect(deleted.metadata?.deletionGracePeriodSeconds).to.equal(GRACE_SECONDS);
    await eventually("the event", async () => {
      const { items } = await client.list(EventResource, { namespace: TO_PROVIDER });
      return items.some(({ reason, message }) => reason === "DrainDeadline" && message?.includes("app/held"));
    });
    // Nobody ends this pod, so that it is taken away after its grace period.
    await gone(client, PodResource, idOf(pod));
    await gone(client, VirtualNodeResource, id);
    await endBudget();
  });

  it("has pods leave also where the Node has been deleted by hand, before the process that ends them at the provider ends", async () => {
    const id = { name: "bereft", namespace: TO_PROVIDER };
    const spec = { clusterID: "provider", kubeconfigSecretRef: { name: "k" }, createNode: true };
    await client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata: id, spec }));
    const labels = { "liqo.io/type": "virtual-node", "liqo.io/remote-cluster-id": "provider" };
    await client.create(NodeResource, { metadata: { name: "bereft", labels } });
    await nodeIs("Running", id);
    const pod = await client.create(PodResource, podOn("bereft", "stranded"));
    await client.delete(NodeResource, { name: "bereft" });
    await nodeIs("Creating", id);
    await client.delete(VirtualNodeResource, id);
    await eventually("the eviction", async () => {
      const { metadata } = (await client.get(PodResource, idOf(pod))) ?? {};
      return metadata?.deletionTimestamp;
    });
    const deployment = { name: "vk-bereft", namespace: TO_PROVIDER };
    expect((await client.get(DeploymentResource, deployment))?.metadata?.deletionTimestamp).to.equal(undefined);
    await client.delete(PodResource, idOf(pod), { gracePeriodSeconds: 0 });
    await gone(client, VirtualNodeResource, id);
  });

  it("takes the NamespaceMap along with the last virtual nodes of a cluster, though they end at once", async () => {
    const twins = ["twin-1", "twin-2", "twin-3", "twin-4"].map((name) => ({ name, namespace: TO_PROVIDER }));
    const map = { name: "twin", namespace: TO_PROVIDER };
    const spec = { clusterID: "twin", kubeconfigSecretRef: { name: "k" }, createNode: false };
    for (const id of twins) await client.create(VirtualNodeResource, VirtualNodeResource.build({ metadata: id, spec }));
    await eventually("the NamespaceMap", () => client.get(NamespaceMapResource, map));
    for (const id of twins) await nodeIs("None", id);
    await Promise.all(twins.map((id) => client.delete(VirtualNodeResource, id)));
    for (const id of twins) await gone(client, VirtualNodeResource, id);
    await gone(client, NamespaceMapResource, map);
  });

  it("drains a deleted virtual node, then removes process, Node and map, in this order", async () => {
    const offloaded = { metadata: { name: "offloaded", namespace: "app" } };
    const endBudget = await guardWithBudget(offloaded);
    await client.delete(ResourceSliceResource, VIRTUAL_NODE);
    await client.delete(VirtualNodeResource, VIRTUAL_NODE);
    await blockedEviction(VIRTUAL_NODE, "app/offloaded");
    await endBudget();
    const evicted = await eventually("the eviction", async () => {
      const pod = await client.get(PodResource, { name: "offloaded", namespace: "app" });
      return pod?.metadata?.deletionTimestamp ? pod : undefined;
    });
    expect((await client.get(NodeResource, { name: "provider" }))?.spec?.unschedulable).to.equal(true);
    expect(await client.get(DeploymentResource, { name: "vk-provider", namespace: TO_PROVIDER })).not.to.equal(
      undefined,
    );
    await eventually("the condition", async () => {
      const conditions = (await client.get(VirtualNodeResource, VIRTUAL_NODE))?.status?.conditions;
      const condition = findCondition(conditions, "Node");
      return condition?.status === "Draining" && condition.message?.includes("app/offloaded");
    });
    // What the virtual node's process does when the remote pod has ended.
    await client.delete(PodResource, idOf(evicted), { gracePeriodSeconds: 0 });
    await gone(client, VirtualNodeResource, VIRTUAL_NODE);
    expect(await told("VirtualNode", VIRTUAL_NODE, "EvictionBlocked")).to.contain("app/offloaded");
    expect(await told("VirtualNode", VIRTUAL_NODE, "Drained")).to.contain("all pods have left");
    for (const [type, id] of [
      [NodeResource, { name: "provider" }],
      [DeploymentResource, { name: "vk-provider", namespace: TO_PROVIDER }],
      [ServiceAccountResource, { ...VIRTUAL_NODE, name: "vk-provider" }],
      [ClusterRoleBindingResource, { name: "liqo-node-provider" }],
      [NamespaceMapResource, VIRTUAL_NODE],
    ] as const) {
      expect(await client.get<object>(type, id), type.kind).to.equal(undefined);
    }
  });

  /** The event's message. */
  function told(
    kind: string,
    { name, namespace }: { name: string; namespace: string },
    reason: string,
  ): Promise<string> {
    return eventually(`event ${reason} on the ${kind}`, async () => {
      const { items } = await client.list(EventResource, { namespace });
      const event = items.find(
        ({ involvedObject, ...one }) =>
          involvedObject.kind === kind && involvedObject.name === name && one.reason === reason,
      );
      return event?.message;
    });
  }

  /** How often the API server has been asked to delete one of these, also in vain. */
  async function deletions(resource: string): Promise<number> {
    const lines = (await client.text("/metrics")).split("\n");
    return lines
      .filter((line) => line.startsWith("apiserver_request_total{") && line.includes(`resource="${resource}"`))
      .filter((line) => line.includes('verb="DELETE"'))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  }

  /** Gives a pod a budget that, without its controller, has never anything to spare. Returns what ends the budget. */
  async function guardWithBudget(pod: Pod): Promise<() => Promise<unknown>> {
    // Budgets guard running pods only.
    await client.mergePatch(PodResource, idOf(pod), { status: { phase: "Running" } }, { subresource: "status" });
    const budget = { name: "budget", namespace: pod.metadata?.namespace ?? "" };
    await client.create(PodDisruptionBudgetResource, {
      metadata: budget,
      spec: { maxUnavailable: 0, selector: { matchLabels: { "liqo.io/shadowPod": "true" } } },
    });
    return () => client.delete(PodDisruptionBudgetResource, budget);
  }

  async function nodeIs(status: string, virtualNode: { name: string; namespace: string }): Promise<void> {
    await eventually(`the Node ${status} in the conditions of ${virtualNode.name}`, async () => {
      const { conditions } = (await client.get(VirtualNodeResource, virtualNode))?.status ?? {};
      return findCondition(conditions, "Node")?.status === status;
    });
  }

  /** Sets back since when the conditions of a virtual node are as they are. */
  async function beganToDrain(virtualNode: { name: string; namespace: string }, at: string): Promise<void> {
    const { conditions = [] } = (await client.get(VirtualNodeResource, virtualNode))?.status ?? {};
    if (conditions.every(({ lastTransitionTime }) => lastTransitionTime === at)) return;
    const status = { conditions: conditions.map((one) => ({ ...one, lastTransitionTime: at })) };
    await client.mergePatch(VirtualNodeResource, virtualNode, { status }, { subresource: "status" });
  }

  async function blockedEviction(virtualNode: { name: string; namespace: string }, pod: string): Promise<void> {
    await eventually("a blocked eviction", async () => {
      const { conditions } = (await client.get(VirtualNodeResource, virtualNode))?.status ?? {};
      const condition = findCondition(conditions, "Node");
      return condition?.reason === "EvictionBlocked" && condition.message?.includes(`PodDisruptionBudget: ${pod}`);
    });
  }

  async function offloadingStatus() {
    return (await client.get(NamespaceOffloadingResource, OFFLOADING))?.status;
  }

  /** What the replicator does: the source's spec goes to the provider. */
  function replicate(source: NamespaceMap): Promise<NamespaceMap> {
    return client.create(
      NamespaceMapResource,
      NamespaceMapResource.build({
        metadata: {
          name: "provider",
          namespace: FROM_CONSUMER,
          labels: {
            "liqo.io/replication": "false",
            "liqo.io/replicated": "true",
            "liqo.io/originID": "consumer",
            "liqo.io/remoteID": "provider",
            "liqo.io/remote-cluster-id": "consumer",
          },
        },
        spec: source.spec,
      }),
    );
  }

  /** And the copy's status comes back. */
  async function bringStatusBack(copy: NamespaceMap, isDone: (map: NamespaceMap) => boolean): Promise<void> {
    const { status } = await eventually("the provider's answer", async () => {
      const map = await client.get(NamespaceMapResource, idOf(copy));
      return map && isDone(map) ? map : undefined;
    });
    const source = await client.get(NamespaceMapResource, VIRTUAL_NODE);
    await client.replaceStatus(NamespaceMapResource, { ...(source as NamespaceMap), status });
  }

  async function setNodeReady(status: string): Promise<void> {
    const conditions = [{ type: "Ready", status }];
    await client.mergePatch(NodeResource, { name: "provider" }, { status: { conditions } }, { subresource: "status" });
  }
});

function podOn(nodeName: string, name: string, spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name, namespace: "app", labels: { "liqo.io/shadowPod": "true" } },
    spec: { nodeName, containers: [{ name: "c", image: "i" }], tolerations: [{ operator: "Exists" }], ...spec },
  };
}

function idOf({ metadata }: { metadata?: { name?: string; namespace?: string } }): {
  name: string;
  namespace?: string;
} {
  return { name: metadata?.name ?? "", namespace: metadata?.namespace };
}
