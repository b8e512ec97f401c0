import { expect } from "chai";
import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import type { PolicyRule } from "kubernetes-types/rbac/v1";
import { Names, VirtualNodeResource } from "../../../agent/api/index.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  ConfigMapResource,
  EventResource,
  RoleBindingResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { installCrds } from "../support/install-crds.js";
import {
  LOCAL_NAMESPACE,
  NODE,
  REMOTE_NAMESPACE,
  TENANT,
  startHarness,
  type Harness,
  appears,
  local,
  remote,
} from "./harness.js";

const SECONDS = 40_000;
/** What has failed is tried again each ten seconds, and told after five. */
const RETRIED_MS = 80_000;
const GROUP = "example.com";
const APIGROUP = "rbac.authorization.k8s.io";

interface Widget extends KubeObject {
  spec?: { size?: number; parts?: string[] };
  data?: Record<string, string>;
  status?: { phase?: string };
}

const WidgetResource: ResourceType<Widget> = {
  group: GROUP,
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

const WIDGETS: CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `widgets.${GROUP}` },
  spec: {
    group: GROUP,
    names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      } as CustomResourceDefinition["spec"]["versions"][number],
    ],
  },
};

/** The test plays both administrators, and both controllers that bind what these have made. */
describe("reflection of custom resources", function () {
  this.timeout(240_000);
  let harness: Harness;
  let consumer: KubeClient;
  let provider: KubeClient;

  const vanishes = (name: string): Promise<true> =>
    until(`Widget ${name} to vanish`, SECONDS, async () =>
      (await provider.get(WidgetResource, remote(name))) ? undefined : true,
    );
  const toldOnVirtualNode = (part: string): Promise<string> =>
    until(`the event with ${part}`, RETRIED_MS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: TENANT });
      const found = items.find(
        ({ reason, type, message, involvedObject: { kind, name } }) =>
          reason === "FailedReflection" &&
          type === "Warning" &&
          kind === VirtualNodeResource.kind &&
          name === NODE &&
          message?.includes(part),
      );
      return found?.message;
    });
  const rules = (...verbs: string[]): PolicyRule[] => [
    { apiGroups: [GROUP], resources: ["widgets", "gadgets"], verbs },
  ];

  before(async function () {
    this.timeout(START_LIMIT_MS);
    harness = await startHarness();
    consumer = harness.consumer.client;
    provider = harness.provider.client;
    await Promise.all([installCrds(consumer, [WIDGETS]), installCrds(provider, [WIDGETS])]);
    await harness.startVirtualNode(NODE, [
      "--reflect-resource=widgets.v1.example.com/Widget",
      "--reflect-resource=gadgets.v1.example.com/Gadget",
      "--widgets.example.com-reflection-selector=tier!=back",
    ]);
    await harness.map("Accepted");
  });
  after(() => harness?.stop());

  it("says on the VirtualNode where the right to them lacks and what to do, and goes on with all else", async () => {
    await consumer.create(WidgetResource, { metadata: local("early"), spec: { size: 1 } });
    await consumer.create(ConfigMapResource, { metadata: local("settings"), data: { a: "b" } });
    await appears(provider, ConfigMapResource, remote("settings"));
    expect(await toldOnVirtualNode("cluster consumer does not let virtual nodes read widgets.example.com")).to.contain(
      `ClusterRole ${Names.virtualKubeletLocalCustomRole} there the verbs get, list, watch on it`,
    );
    expect(await toldOnVirtualNode("cluster provider does not let virtual nodes read widgets.example.com")).to.contain(
      `ClusterRole ${Names.virtualKubeletRemoteCustomRole} there the verbs get, list, watch, create, update, patch, delete`,
    );
    expect(await provider.get(WidgetResource, remote("early"))).to.equal(undefined);
  });

  it("reflects what is there once both administrators let it", async () => {
    const localRole = { name: Names.virtualKubeletLocalCustomRole };
    await consumer.create(ClusterRoleResource, { metadata: localRole, rules: rules("get", "list", "watch") });
    await consumer.create(ClusterRoleBindingResource, {
      metadata: localRole,
      roleRef: { apiGroup: APIGROUP, kind: "ClusterRole", ...localRole },
      subjects: [{ kind: "ServiceAccount", name: `vk-${NODE}`, namespace: TENANT }],
    });
    const remoteRole = { name: Names.virtualKubeletRemoteCustomRole };
    const all = rules("get", "list", "watch", "create", "update", "patch", "delete");
    await provider.create(ClusterRoleResource, { metadata: remoteRole, rules: all });
    await provider.create(RoleBindingResource, {
      metadata: { ...remoteRole, namespace: REMOTE_NAMESPACE },
      roleRef: { apiGroup: APIGROUP, kind: "ClusterRole", ...remoteRole },
      subjects: [{ kind: "Group", name: "consumer", apiGroup: APIGROUP }],
    });
    const copy = await appears(provider, WidgetResource, remote("early"), () => true, RETRIED_MS);
    expect(copy.spec).to.deep.equal({ size: 1 });
  });

  it("says which cluster does not serve one", async () => {
    for (const cluster of ["consumer", "provider"]) {
      const message = `cluster ${cluster} does not serve gadgets.example.com in version v1`;
      expect(await toldOnVirtualNode(message)).to.contain("install its CustomResourceDefinition there");
    }
  });

  it("takes all but the status along, each way", async () => {
    const widget: Widget = {
      metadata: {
        ...local("web"),
        labels: { tier: "front" },
        annotations: { note: "n", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
        finalizers: ["example.com/f"],
      },
      spec: { size: 1, parts: ["a", "b"] },
      data: { color: "red" },
    };
    await consumer.create(WidgetResource, widget);
    const copy = await appears(provider, WidgetResource, remote("web"));
    expect(copy).to.deep.include({ spec: widget.spec, data: widget.data });
    expect(copy.metadata?.labels).to.deep.equal({
      tier: "front",
      "offloading.liqo.io/origin": "consumer",
      "offloading.liqo.io/destination": "provider",
    });
    expect(copy.metadata?.annotations).to.deep.equal({ note: "n" });
    expect(copy.metadata).not.to.have.property("finalizers");

    const status = { subresource: "status" } as const;
    await consumer.mergePatch(WidgetResource, local("web"), { status: { phase: "Local" } }, status);
    await provider.mergePatch(WidgetResource, remote("web"), { status: { phase: "Remote" } }, status);
    await consumer.mergePatch(WidgetResource, local("web"), { spec: { size: 2, parts: null }, data: null });
    const changed = await appears(provider, WidgetResource, remote("web"), ({ spec }) => spec?.size === 2);
    expect(changed.spec).to.deep.equal({ size: 2 });
    expect(changed).not.to.have.property("data");
    expect(changed.status).to.deep.equal({ phase: "Remote" });
    expect((await consumer.get(WidgetResource, local("web")))?.status).to.deep.equal({ phase: "Local" });
  });

  it("keeps copies as their originals are, by the rules of any kind", async () => {
    await provider.mergePatch(WidgetResource, remote("web"), { spec: { size: 9 } });
    await appears(provider, WidgetResource, remote("web"), ({ spec }) => spec?.size === 2);
    await provider.delete(WidgetResource, remote("web"));
    await appears(provider, WidgetResource, remote("web"));
    await consumer.mergePatch(WidgetResource, local("web"), {
      metadata: { annotations: { "liqo.io/skip-reflection": "true" } },
    });
    await vanishes("web");

    // By the selector.
    await consumer.mergePatch(WidgetResource, local("early"), { metadata: { labels: { tier: "back" } } });
    await vanishes("early");
    await consumer.mergePatch(WidgetResource, local("early"), { metadata: { labels: { tier: null } } });
    await appears(provider, WidgetResource, remote("early"));
    await consumer.delete(WidgetResource, local("early"));
    await vanishes("early");
  });

  it("leaves alone what the provider has of its own", async () => {
    await provider.create(WidgetResource, { metadata: remote("own"), spec: { size: 7 } });
    await consumer.create(WidgetResource, { metadata: local("own"), spec: { size: 1 } });
    await until("the refusal", SECONDS, async () => {
      const { items } = await consumer.list(EventResource, { namespace: LOCAL_NAMESPACE });
      return items.find(({ reason, involvedObject: on }) => reason === "FailedReflection" && on.name === "own");
    });
    expect((await provider.get(WidgetResource, remote("own")))?.spec).to.deep.equal({ size: 7 });
  });
});
