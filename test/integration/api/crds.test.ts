import { expect } from "chai";
import { crds } from "../../../agent/api/crd.js";
import {
  ConfigurationResource,
  ConnectionResource,
  FirewallConfigurationResource,
  ForeignClusterResource,
  GatewayServerResource,
  IPResource,
  NamespaceOffloadingResource,
  NetworkResource,
  QuotaResource,
  ResourceSliceResource,
  RouteConfigurationResource,
  ShadowPodResource,
  TenantResource,
  VirtualNodeResource,
  VkOptionsTemplateResource,
  WgGatewayServerTemplateResource,
} from "../../../agent/api/index.js";
import { ConfigurationDefinition } from "../../../agent/api/networking-configuration.js";
import { CustomResourceDefinitionResource, type KubeObject, type ResourceType } from "../../../agent/runtime/index.js";
import { ensureTool } from "../../clusters/components/ensure.js";
import { run } from "../../clusters/support/exec.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

const namespace = "default";
const fieldManager = "test";

describe("custom resources on a real API server", function () {
  this.timeout(120_000);
  let server: ApiServer;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
  });
  after(() => server?.stop());

  async function rejection(work: Promise<unknown>): Promise<string> {
    try {
      await work;
    } catch (error) {
      return (error as Error).message;
    }
    return "(accepted)";
  }

  it("are accepted without a structural complaint, and applying them again changes nothing", async () => {
    const { items } = await server.client.list(CustomResourceDefinitionResource);
    const complaints = items.flatMap(({ metadata, status }) =>
      (status?.conditions ?? [])
        .filter(({ type, status }) => status === (type === "NonStructuralSchema" ? "True" : "False"))
        .map(({ type, message }) => `${metadata?.name}: ${type}: ${message}`),
    );
    expect(complaints).to.deep.equal([]);
    for (const crd of crds()) {
      const before = items.find(({ metadata }) => metadata?.name === crd.metadata?.name);
      const after = await server.client.apply(CustomResourceDefinitionResource, crd, { fieldManager });
      expect(after.metadata?.generation, crd.metadata?.name).to.equal(before?.metadata?.generation);
    }
  });

  it("take a Configuration's ranges as text and as a list, by create and by server-side apply", async () => {
    for (const [name, pod] of [
      ["text", "10.80.0.0/16"],
      ["list", ["10.80.0.0/16", "10.81.0.0/16"]],
    ] as const) {
      const manifest = ConfigurationResource.build({
        metadata: { name, namespace },
        spec: { remote: { cidr: { pod: pod as unknown as string[], external: ["10.70.0.0/16"] } } },
      });
      await server.client.create(ConfigurationResource, manifest);
      await server.client.apply(ConfigurationResource, manifest, { fieldManager });
      const stored = await server.client.get(ConfigurationResource, { name, namespace });
      expect(stored?.spec.remote?.cidr?.pod).to.deep.equal(pod);
      expect(ConfigurationDefinition.parse(stored).spec.remote?.cidr?.pod).to.deep.equal([pod].flat());
    }
  });

  it("let options select by labels what is reflected, where that is possible, and nothing that is no selector", async () => {
    const make = (name: string, kind: string, selector: object): Promise<unknown> =>
      server.client.create(
        VkOptionsTemplateResource,
        VkOptionsTemplateResource.build({
          metadata: { name, namespace },
          spec: {
            createNode: true,
            disableNetworkCheck: false,
            containerImage: "",
            metricsEnabled: false,
            reflectorsConfig: { [kind]: { workers: 1, selector } },
          },
        }),
      );
    await make("selecting", "ingress", {
      matchLabels: { "example.com/app": "shop", plain: "" },
      matchExpressions: [
        { key: "acme.cert-manager.io/http01-solver", operator: "DoesNotExist" },
        { key: "tier", operator: "In", values: ["front"] },
      ],
    });
    const stored = await server.client.get(VkOptionsTemplateResource, { name: "selecting", namespace });
    expect(stored?.spec.reflectorsConfig?.["ingress"]?.selector?.matchExpressions).to.have.length(2);
    const refused = (kind: string, selector: object): Promise<string> => rejection(make("refused", kind, selector));
    const where = "spec.reflectorsConfig.ingress.selector";
    expect(await refused("ingress", { matchExpressions: [{ key: "a", operator: "Gt" }] })).to.contain(
      `${where}.matchExpressions[0].operator: Unsupported value`,
    );
    expect(await refused("ingress", { matchExpressions: [{ key: "a", operator: "In" }] })).to.contain(
      "values are needed by In and NotIn",
    );
    expect(await refused("ingress", { matchExpressions: [{ key: "a,b", operator: "Exists" }] })).to.contain(
      `${where}.matchExpressions[0].key`,
    );
    expect(await refused("ingress", { matchLabels: { a: "b,c" } })).to.contain(`${where}.matchLabels.a`);
    expect(await refused("event", { matchLabels: { a: "b" } })).to.contain("a selector is for service, ingress");
  });

  it("let options name custom resources of anybody but Kubernetes and Liqo", async () => {
    const widgets = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets" };
    const make = (name: string, customResources: (typeof widgets)[]): Promise<unknown> =>
      server.client.create(
        VkOptionsTemplateResource,
        VkOptionsTemplateResource.build({
          metadata: { name, namespace },
          spec: {
            createNode: true,
            disableNetworkCheck: false,
            containerImage: "",
            metricsEnabled: false,
            customResources,
          },
        }),
      );
    await make("custom", [widgets, { ...widgets, group: "cluster.x-k8s.io" }]);
    const message = "must be a custom resource's group";
    for (const group of ["apps", "rbac.authorization.k8s.io", "offloading.liqo.io", "k8s.io", "liqo.io"])
      expect(await rejection(make("refused", [{ ...widgets, group }])), group).to.contain(message);
    expect(await rejection(make("refused", [widgets, widgets]))).to.contain("Duplicate value");
  });

  it("fill in defaults", async () => {
    const tenant = await server.client.create(TenantResource, {
      ...TenantResource.build({ metadata: { name: "defaults", namespace }, spec: {} }),
      spec: undefined as never,
    });
    expect(tenant.spec).to.deep.equal({ authzPolicy: "KeysExchange", tenantCondition: "Active" });
    const gateway = await server.client.create(
      GatewayServerResource,
      GatewayServerResource.build({ metadata: { name: "defaults", namespace }, spec: { endpoint: { port: 51840 } } }),
    );
    expect(gateway.spec.endpoint?.serviceType).to.equal("ClusterIP");
    const offloading = await server.client.create(
      NamespaceOffloadingResource,
      NamespaceOffloadingResource.build({
        metadata: { name: "offloading", namespace },
        spec: { clusterSelector: { nodeSelectorTerms: [] } },
      }),
    );
    expect(offloading.spec).to.deep.equal({
      namespaceMappingStrategy: "DefaultName",
      podOffloadingStrategy: "LocalAndRemote",
      clusterSelector: { nodeSelectorTerms: [] },
    });
  });

  it("keep immutable fields, with the API's messages", async () => {
    const patch = { spec: { clusterID: "other", cidr: "10.1.0.0/16", preAllocated: 2, ip: "10.0.0.2" } };
    const cases: { type: ResourceType; object: KubeObject; messages: string[] }[] = [
      {
        type: ForeignClusterResource,
        object: ForeignClusterResource.build({ metadata: { name: "fixed" }, spec: { clusterID: "fixed" } }),
        messages: ["ClusterID field is immutable"],
      },
      {
        type: TenantResource,
        object: TenantResource.build({ metadata: { name: "fixed", namespace }, spec: { clusterID: "fixed" } }),
        messages: ["ClusterID is immutable"],
      },
      {
        type: NetworkResource,
        object: NetworkResource.build({
          metadata: { name: "fixed", namespace },
          spec: { cidr: "10.0.0.0/16", preAllocated: 1 },
        }),
        messages: ["CIDR field is immutable", "PreAllocated field is immutable"],
      },
      {
        type: IPResource,
        object: IPResource.build({ metadata: { name: "fixed", namespace }, spec: { ip: "10.0.0.1" } }),
        messages: ["IP field is immutable"],
      },
    ];
    for (const { type, object, messages } of cases) {
      await server.client.create(type, object);
      const id = { name: "fixed", ...(type.namespaced ? { namespace } : {}) };
      const message = await rejection(server.client.mergePatch(type, id, patch));
      for (const expected of messages) expect(message).to.include(expected);
    }
  });

  it("refuse malformed values", async () => {
    const network = NetworkResource.build({ metadata: { name: "bad", namespace }, spec: { cidr: "10.0.0.0/33" } });
    expect(await rejection(server.client.create(NetworkResource, network))).to.include("spec.cidr");
    const ports = GatewayServerResource.build({
      metadata: { name: "bad", namespace },
      spec: { endpoint: { port: 1, ports: [2, 2] } },
    });
    const message = await rejection(server.client.create(GatewayServerResource, ports));
    expect(message).to.include("port and ports are mutually exclusive").and.include("must not contain duplicates");
    const slice = ResourceSliceResource.build({
      metadata: { name: "bad", namespace },
      spec: { resources: { cpu: "much" } },
    });
    expect(await rejection(server.client.create(ResourceSliceResource, slice))).to.include("spec.resources.cpu");
    const quota = QuotaResource.build({ metadata: { name: "bad", namespace }, spec: { user: "", resources: {} } });
    expect(await rejection(server.client.create(QuotaResource, quota))).to.include("spec.user");
    const firewall = FirewallConfigurationResource.build({
      metadata: { name: "bad", namespace },
      spec: {
        table: {
          name: "t",
          family: "IPV4",
          chains: [
            { name: "c", type: "nat", hook: "prerouting", policy: "accept", rules: { natRules: [], filterRules: [] } },
          ],
        },
      },
    });
    expect(await rejection(server.client.create(FirewallConfigurationResource, firewall))).to.include("rules");
  });

  it("keep embedded Kubernetes types and templates whole", async () => {
    const pod = { containers: [{ name: "a", image: "b", env: [{ name: "X", value: "1" }] }], schedulerName: "other" };
    const shadowPod = await server.client.create(
      ShadowPodResource,
      ShadowPodResource.build({ metadata: { name: "whole", namespace }, spec: { pod } }),
    );
    expect(shadowPod.spec.pod).to.deep.equal(pod);
    const template = { metadata: { name: "{{ .Name }}" }, spec: { "?nodePort": "{{ .Spec.Endpoint.NodePort }}" } };
    const gatewayTemplate = await server.client.create(
      WgGatewayServerTemplateResource,
      WgGatewayServerTemplateResource.build({
        metadata: { name: "whole", namespace },
        spec: { objectKind: { apiVersion: "networking.liqo.io/v1beta1", kind: "WgGatewayServer" }, template },
      }),
    );
    expect(gatewayTemplate.spec.template).to.deep.equal(template);
    const virtualNode = await server.client.create(
      VirtualNodeResource,
      VirtualNodeResource.build({
        metadata: { name: "whole", namespace },
        spec: {
          clusterID: "provider",
          template: { spec: { selector: {}, template: { spec: { containers: [{ name: "virtual-kubelet" }] } } } },
          resourceQuota: { hard: { cpu: 20, memory: "8Gi", "nvidia.com/gpu": "1" } },
        },
      }),
    );
    expect(virtualNode.spec.resourceQuota?.hard).to.deep.equal({ cpu: 20, memory: "8Gi", "nvidia.com/gpu": "1" });
    expect(virtualNode.spec.template?.spec?.template.spec?.containers).to.deep.equal([{ name: "virtual-kubelet" }]);
  });

  it("keep status apart from spec, and let each host own its conditions", async () => {
    const id = { name: "shared", namespace };
    const { client } = server;
    await client.create(
      RouteConfigurationResource,
      RouteConfigurationResource.build({
        metadata: id,
        spec: {
          table: { name: "t", rules: [{ dst: "10.0.0.0/16", routes: [{ dst: "10.0.0.0/16", gw: "10.80.0.1" }] }] },
        },
      }),
    );
    for (const host of ["node-1", "node-2"]) {
      const { apiVersion, kind } = RouteConfigurationResource;
      const status = { conditions: [{ type: "Applied" as const, status: "True" as const, host }] };
      const object = { apiVersion, kind, metadata: id, status } as never;
      await client.apply(RouteConfigurationResource, object, {
        fieldManager: `liqo-fabric-${host}`,
        subresource: "status",
      });
    }
    const stored = await client.get(RouteConfigurationResource, id);
    expect(stored?.status?.conditions?.map(({ host }) => host)).to.deep.equal(["node-1", "node-2"]);
    expect(stored?.spec.table?.rules).to.have.length(1);
  });

  it("show the columns that people know", async () => {
    const { client } = server;
    const id = { name: "columns", namespace };
    const spec = { type: "Server" as const, gatewayRef: { name: "gateway" } };
    await client.create(ConnectionResource, ConnectionResource.build({ metadata: id, spec }));
    const status = { value: "Connected", latency: { value: "5ms" }, implementation: "userspace", message: "fine" };
    await client.mergePatch(ConnectionResource, id, { status }, { subresource: "status", fieldManager });
    const kubectl = await ensureTool("kubectl");
    const args = ["--kubeconfig", server.kubeconfigPath, "get", "conn", id.name, "-n", namespace, "-o", "wide"];
    const [header = "", row = ""] = (await run(kubectl, args)).split("\n");
    expect(header.split(/\s+/)).to.deep.equal([
      ...["NAME", "TYPE", "STATUS", "AGE", "LATENCY"],
      // Ours come after those of the specification.
      ...["IMPLEMENTATION", "MESSAGE"],
    ]);
    expect(row).to.match(/^columns\s+Server\s+Connected\s+\S+\s+5ms\s+userspace\s+fine$/);
  });
});
