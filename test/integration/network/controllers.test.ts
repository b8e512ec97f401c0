import { expect } from "chai";
import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import type { Pod } from "kubernetes-types/core/v1";
import type { PolicyRule } from "kubernetes-types/rbac/v1";
import {
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  GeneveTunnelResource,
  IPResource,
  InternalFabricResource,
  InternalNodeResource,
  Labels,
  NetworkResource,
  RouteConfigurationResource,
  WgGatewayClientResource,
  WgGatewayClientTemplateResource,
  WgGatewayServerResource,
  WgGatewayServerTemplateResource,
  remoteRangePairs,
} from "../../../agent/api/index.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import type { Startable } from "../../../agent/controller/context.js";
import { setupNetwork } from "../../../agent/controller/network/index.js";
import { gatewayRuleOwner, rulesManager } from "../../../agent/host-rules/index.js";
import { gatewayTemplateManifests, networkManifests } from "../../../agent/install/network-templates.js";
import { CONTROLLER_PROCESS_RULES } from "../../../agent/install/rbac/controller.js";
import { NETWORK_CONTROLLER_RULES } from "../../../agent/install/rbac/network.js";
import { policyRules } from "../../../agent/install/rbac/rule.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  DeploymentResource,
  EndpointSliceResource,
  EventRecorder,
  EventResource,
  KubeClient,
  NamespaceResource,
  NodeResource,
  PodResource,
  RoleBindingResource,
  RoleResource,
  SecretResource,
  ServiceAccountResource,
  ServiceResource,
  SharedInformers,
  createLogger,
  findCondition,
  type InformerOptions,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { installCrds } from "../support/install-crds.js";
import { waitFor } from "../../support/wait.js";

const NAMESPACE = "liqo";
const TENANT = "liqo-tenant-b";
const REMOTE = { [Labels.remoteClusterID]: "b" };
const CONTROLLER = "liqo-controller-manager";
/** The garbage collector looks every 30 s for kinds that it does not know yet. */
const COLLECTION_MS = 60_000;
const RANGES = { podCIDRs: ["10.244.0.0/16"], serviceCIDR: "10.96.0.0/12", reservedSubnets: ["172.16.0.0/16"] };

/**
 * The controllers have exactly the rights that an installation gives them, in a cluster that enforces all that it can of owner references, as OpenShift
 * does: no object may block the deletion of one whose finalizers its maker may not change.
 */
describe("network controllers on a real API server", function () {
  this.timeout(240_000);
  let server: ApiServer;
  /** The administrator's. */
  let client: KubeClient;
  let controllersClient: KubeClient;
  let informers: SharedInformers;
  let startables: Startable[] = [];

  async function startControllers(): Promise<void> {
    const logger = createLogger("test");
    logger.level = process.env["LOG_LEVEL"] ?? "error";
    informers = new SharedInformers(controllersClient, logger);
    const config = parseControllerArguments(["--cluster-id=a", "--liqo-namespace=liqo", "--image=example/agent:1"]);
    const recorder = (component: string) => new EventRecorder(controllersClient, component, logger);
    startables = setupNetwork({ client: controllersClient, informers, config, logger, recorder });
    await informers.start();
    for (const startable of startables) await startable.start();
  }

  async function stopControllers(): Promise<void> {
    await Promise.all(startables.map((startable) => startable.stop()));
    await informers.stop();
  }

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({
      controllers: ["garbage-collector-controller"],
      flags: ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"],
    });
    client = server.client;
    await grant(client, CONTROLLER, policyRules([...CONTROLLER_PROCESS_RULES, ...NETWORK_CONTROLLER_RULES]));
    controllersClient = KubeClient.fromText(await server.kubeconfigFor(CONTROLLER));
    for (const name of [NAMESPACE, TENANT]) await client.create(NamespaceResource, { metadata: { name } });
    await client.create(ClusterRoleResource, { metadata: { name: "liqo-gateway" }, rules: [] });
    await client.create(NodeResource, { metadata: { name: "n1" }, spec: { podCIDRs: ["10.244.0.0/24"] } });
    await client.mergePatch(NodeResource, { name: "n1" }, READY_NODE, { subresource: "status" });
    await startControllers();
    for (const network of networkManifests({ namespace: NAMESPACE, ...RANGES }))
      await client.create(NetworkResource, network);
    const image = { image: "example/agent:1", imagePullPolicy: "IfNotPresent" as const, imagePullSecrets: [] };
    const [serverTemplate, clientTemplate] = gatewayTemplateManifests({ namespace: NAMESPACE, ...image });
    await client.create(WgGatewayServerTemplateResource, serverTemplate);
    await client.create(WgGatewayClientTemplateResource, clientTemplate);
  });

  after(async () => {
    await stopControllers();
    controllersClient?.close();
    await server?.stop();
  });

  function eventually<T extends KubeObject, R>(
    type: ResourceType<T>,
    name: string,
    namespace: string | undefined,
    check: (object: T) => R | undefined | false,
    timeoutMs = 40_000,
  ): Promise<R> {
    const what = `${type.kind} ${name}`;
    return waitFor(client, type, { namespace, timeoutMs, what }, (objects) => {
      const object = objects.find(({ metadata }) => metadata?.name === name);
      return object ? check(object) : undefined;
    });
  }

  async function gone(type: ResourceType, name: string, namespace: string): Promise<void> {
    const what = `no ${type.kind} ${name}`;
    await waitFor(client, type, { namespace, timeoutMs: COLLECTION_MS, what }, (objects) =>
      objects.every(({ metadata }) => metadata?.name !== name),
    );
  }

  /** Each kind comes to the controllers by a watch of its own, in no order among them: until theirs has brought what is looked for. */
  async function known<T extends KubeObject>(
    type: ResourceType<T>,
    key: string,
    options: InformerOptions<T> = {},
    check: (object: T) => boolean = () => true,
  ): Promise<void> {
    await until(`${type.kind} ${key} at the controllers`, 40_000, () => {
      const object = informers.for(type, options).get(key);
      return (object && check(object)) || undefined;
    });
  }

  it("gives the installation's Networks their ranges", async () => {
    const cidr = (name: string) => eventually(NetworkResource, name, NAMESPACE, ({ status }) => status?.cidr);
    expect(await cidr("pod-cidr")).to.equal("10.244.0.0/16");
    expect(await cidr("service-cidr")).to.equal("10.96.0.0/12");
    expect(await cidr("external-cidr")).to.equal("10.70.0.0/16");
    expect(await cidr("internal-cidr")).to.equal("10.80.0.0/16");
    expect(await cidr("reserved-172-16-0-0-16")).to.equal("172.16.0.0/16");
  });

  it("remaps a peer's overlapping ranges, given as a string or as a list", async () => {
    await client.create(ConfigurationResource, {
      ...ConfigurationResource.build({ metadata: { name: "any-name", namespace: TENANT, labels: REMOTE }, spec: {} }),
      spec: { remote: { cidr: { pod: "10.244.0.0/16" as unknown as string[], external: ["10.70.0.0/16"] } } },
    });
    const configuration = await eventually(ConfigurationResource, "any-name", TENANT, (object) =>
      object.status?.conditions?.[0]?.status === "True" &&
      object.metadata.labels?.["configuration.liqo.io/configured"] === "true"
        ? object
        : undefined,
    );
    expect(configuration.status?.remote?.cidr).to.deep.equal({ pod: ["10.71.0.0/16"], external: ["10.68.0.0/16"] });
    expect(configuration.spec.local?.cidr).to.deep.equal({ pod: ["10.244.0.0/16"], external: ["10.70.0.0/16"] });
    expect(configuration.status?.conditions?.[0]?.observedGeneration).to.equal(configuration.metadata.generation);
  });

  it("follows a Configuration that is changed in place", async () => {
    const change = (pod: string[]) =>
      client.mergePatch(
        ConfigurationResource,
        { name: "any-name", namespace: TENANT },
        { spec: { remote: { cidr: { pod } } } },
      );
    const ranges = (count: number) =>
      eventually(ConfigurationResource, "any-name", TENANT, ({ status, metadata }) => {
        const pod = status?.remote?.cidr?.pod;
        const condition = status?.conditions?.[0];
        return condition?.observedGeneration === metadata.generation &&
          condition?.status === "True" &&
          pod?.length === count
          ? pod
          : undefined;
      });
    await change(["10.244.0.0/16", "10.5.0.0/16"]);
    expect(await ranges(2)).to.deep.equal(["10.71.0.0/16", "10.5.0.0/16"]);
    await change(["10.244.0.0/16"]);
    expect(await ranges(1)).to.deep.equal(["10.71.0.0/16"]);
    const left = ["any-name-external-10-70-0-0-16", "any-name-pod-10-244-0-0-16"];
    const what = `no Networks but ${left.join(" and ")}`;
    await waitFor(client, NetworkResource, { namespace: TENANT, timeoutMs: 40_000, what }, (networks) => {
      const names = networks.map(({ metadata }) => metadata.name).sort();
      return JSON.stringify(names) === JSON.stringify(left);
    });
  });

  it("maps nothing by a range that was given back while what follows it finds no room, and goes on with the others", async () => {
    const id = { name: "any-name", namespace: TENANT };
    const change = (pod: string[]) =>
      client.mergePatch(ConfigurationResource, id, { spec: { remote: { cidr: { pod } } } });
    const settled = (value: "True" | "False", words: RegExp) =>
      eventually(ConfigurationResource, "any-name", TENANT, (object) => {
        const condition = object.status?.conditions?.[0];
        const isTold = condition?.status === value && words.test(condition.message ?? "");
        return isTold && condition.observedGeneration === object.metadata.generation ? object : undefined;
      });
    await change(["10.5.0.0/16", "10.244.0.0/16"]);
    expect((await settled("True", /all/)).status?.remote?.cidr?.pod).to.deep.equal(["10.5.0.0/16", "10.71.0.0/16"]);
    // No pool has so much room.
    await change(["10.0.0.0/9", "10.244.0.0/16"]);
    const refused = await settled("False", /pod\[0\].*no free range/);
    expect(refused.status?.remote?.cidr).to.deep.equal({ pod: ["", "10.71.0.0/16"], external: ["10.68.0.0/16"] });
    expect(remoteRangePairs(refused)).to.deep.equal([
      ["10.244.0.0/16", "10.71.0.0/16"],
      ["10.70.0.0/16", "10.68.0.0/16"],
    ]);
    await change(["10.244.0.0/16"]);
    expect((await settled("True", /all/)).status?.remote?.cidr?.pod).to.deep.equal(["10.71.0.0/16"]);
  });

  it("lends addresses, with a Service where one is asked for", async () => {
    const ip = IPResource.build({
      metadata: { name: "host", namespace: "default" },
      spec: { ip: "192.0.2.9", serviceTemplate: { spec: { ports: [{ port: 80, targetPort: 8080 }] } } },
    });
    await client.create(IPResource, ip);
    const address = (name: string, namespace: string) =>
      eventually(IPResource, name, namespace, ({ status }) => status?.ip);
    const all = await Promise.all([
      address("host", "default"),
      address("api-server", NAMESPACE),
      address("any-name-unknown-source", TENANT),
    ]);
    expect(new Set(all).size).to.equal(3);
    for (const lent of all) expect(lent).to.match(/^10\.70\.0\.[1-9]$/);
    expect(await eventually(ServiceResource, "host", "default", ({ spec }) => spec?.ports?.[0]?.port)).to.equal(80);
    const slice = await eventually(EndpointSliceResource, "host", "default", (object) => object);
    expect(slice.endpoints[0]?.addresses).to.deep.equal(["192.0.2.9"]);
    await client.delete(IPResource, { name: "host", namespace: "default" });
    await gone(ServiceResource, "host", "default");
  });

  it("keeps the Service of an address as it was asked for, and takes it away when it is asked for no more", async () => {
    const id = { name: "kept", namespace: "default" };
    const spec = { ip: "192.0.2.14", serviceTemplate: { spec: { ports: [{ port: 80 }] } } };
    await client.create(IPResource, IPResource.build({ metadata: id, spec }));
    const made = await eventually(ServiceResource, id.name, id.namespace, (service) => service);
    await client.delete(ServiceResource, id);
    await eventually(ServiceResource, id.name, id.namespace, ({ metadata }) => metadata?.uid !== made.metadata?.uid);
    const slice = await eventually(EndpointSliceResource, id.name, id.namespace, (object) => object);
    const elsewhere = { endpoints: [{ ...slice.endpoints[0], addresses: ["192.0.2.99"] }] };
    await client.mergePatch(EndpointSliceResource, id, elsewhere);
    await eventually(
      EndpointSliceResource,
      id.name,
      id.namespace,
      ({ endpoints }) => endpoints[0]?.addresses[0] === spec.ip,
    );
    await client.mergePatch(IPResource, id, { spec: { serviceTemplate: null } });
    await gone(ServiceResource, id.name, id.namespace);
    await gone(EndpointSliceResource, id.name, id.namespace);
    expect(await eventually(IPResource, id.name, id.namespace, ({ status }) => status?.ip)).to.match(/^10\.70\.0\./);
    await client.delete(IPResource, id);
    await gone(IPResource, id.name, id.namespace);
  });

  it("leaves a Service alone that was not made for the address of its name, and says so", async () => {
    const id = { name: "taken", namespace: "default" };
    const own = await client.create(ServiceResource, { metadata: id, spec: { ports: [{ port: 443 }] } });
    const spec = { ip: "192.0.2.10", serviceTemplate: { spec: { ports: [{ port: 80 }] } } };
    await client.create(IPResource, IPResource.build({ metadata: id, spec }));
    const what = "a warning";
    const { message } = await waitFor(
      client,
      EventResource,
      { namespace: "default", timeoutMs: 40_000, what },
      (events) => events.find(({ reason }) => reason === "ServiceNotMade"),
    );
    expect(message).to.contain("Service default/taken is there and was not made for this IP");
    await client.delete(IPResource, id);
    await gone(IPResource, "taken", "default");
    expect(await client.get(ServiceResource, id)).to.deep.equal(own);
    await client.delete(ServiceResource, id);
  });

  it("tells of a range that is full, and lends an address of it as soon as one is free", async () => {
    const networkRef = { name: "small", namespace: "default" };
    // The last address of four is all that there is to lend.
    const spec = { cidr: "10.60.0.0/30", preAllocated: 3 };
    await client.create(NetworkResource, NetworkResource.build({ metadata: networkRef, spec }));
    const lend = (name: string, ip: string) =>
      client.create(
        IPResource,
        IPResource.build({ metadata: { name, namespace: "default" }, spec: { ip, networkRef } }),
      );
    const address = (name: string) => eventually(IPResource, name, "default", ({ status }) => status?.ip);
    await lend("first", "192.0.2.11");
    expect(await address("first")).to.equal("10.60.0.3");
    await lend("second", "192.0.2.12");
    const options = { namespace: "default", timeoutMs: 40_000, what: "an event on the IP" };
    const event = await waitFor(client, EventResource, options, (events) =>
      events.find(({ involvedObject }) => involvedObject.kind === "IP" && involvedObject.name === "second"),
    );
    expect(event).to.include({ type: "Warning", reason: "AddressNotAllocated" });
    expect(event.message).to.equal("range 10.60.0.0/30 has no free address left");
    await client.delete(IPResource, { name: "first", namespace: "default" });
    expect(await address("second")).to.equal("10.60.0.3");
    await client.delete(IPResource, { name: "second", namespace: "default" });
    await client.delete(NetworkResource, networkRef);
  });

  it("keeps an address for an offloaded pod once there is another peer to ask for it", async () => {
    const pod: Pod = {
      metadata: { name: "offloaded", namespace: "default", labels: { [Labels.shadowPod]: "true" } },
      spec: { nodeName: "b", containers: [{ name: "main", image: "example/app:1" }] },
    };
    await client.create(PodResource, pod);
    const id = { name: "offloaded", namespace: "default" };
    await client.mergePatch(PodResource, id, { status: { podIP: "10.71.0.9" } }, { subresource: "status" });
    const find = ({ status }: { status?: { ip?: string } }): string | undefined => status?.ip;
    // By the time that a later IP has its address, the pod has long been looked at.
    const later = IPResource.build({ metadata: { name: "later", namespace: "default" }, spec: { ip: "192.0.2.10" } });
    await client.create(IPResource, later);
    await eventually(IPResource, "later", "default", find);
    expect(await client.get(IPResource, id)).to.equal(undefined);

    const labels = { [Labels.remoteClusterID]: "c" };
    const second = ConfigurationResource.build({ metadata: { name: "c", namespace: TENANT, labels }, spec: {} });
    await client.create(ConfigurationResource, {
      ...second,
      spec: { remote: { cidr: { pod: ["10.200.0.0/16"], external: ["10.201.0.0/16"] } } },
    });
    expect(await eventually(IPResource, "offloaded", "default", find)).to.match(/^10\.70\.0\.\d+$/);
    await client.delete(ConfigurationResource, { name: "c", namespace: TENANT });
    await client.delete(IPResource, { name: "later", namespace: "default" });
    await client.delete(PodResource, id, { gracePeriodSeconds: 0 });
  });

  it("makes all that a gateway runs by, and tells where it is", async () => {
    await client.create(GatewayServerResource, GATEWAY);
    const deployment = await eventually(DeploymentResource, "gw-b", TENANT, (object) => object);
    const container = deployment.spec?.template.spec?.containers[0];
    expect(container?.args).to.include.members(["gateway", "--mode=server", "--mtu=1340", "--listen-port=51840"]);
    expect(deployment.metadata?.labels).to.include({ [Labels.networkingComponent]: "gateway", ...REMOTE });
    const service = await eventually(ServiceResource, "gw-b", TENANT, (object) => object);
    expect(service.spec?.ports?.[0]).to.include({ port: 51840, targetPort: 51840, nodePort: 30742, protocol: "UDP" });
    const secret = await eventually(SecretResource, "gw-b", TENANT, (object) => object);
    expect(Buffer.from(secret.data?.["privateKey"] ?? "", "base64")).to.have.length(32);
    await eventually(ClusterRoleBindingResource, "liqo-gateway-liqo-tenant-b-b", undefined, (object) => object);

    await runGatewayPod(client);
    const status = await eventually(
      GatewayServerResource,
      "b",
      TENANT,
      (object) => object.status?.endpoint && object.status,
    );
    expect(status.endpoint).to.deep.equal({ addresses: ["198.18.0.1"], port: 30742, protocol: "UDP" });
    expect(status.internalEndpoint).to.deep.equal({ ip: "10.244.0.9", node: "n1" });
    expect(status.secretRef?.name).to.equal("gw-b");
    expect(status.serverRef?.kind).to.equal("WgGatewayServer");
  });

  it("mends a gateway's Service, and leaves alone what others set of it", async () => {
    const id = { name: "gw-b", namespace: TENANT };
    const selector = { [Labels.gatewayName]: "nobody" };
    const before = await eventually(ServiceResource, "gw-b", TENANT, ({ spec }) => spec);
    await client.mergePatch(ServiceResource, id, { spec: { selector, sessionAffinity: "ClientIP" } });
    const mended = await eventually(
      ServiceResource,
      "gw-b",
      TENANT,
      (object) => JSON.stringify(object.spec?.selector) === JSON.stringify(before.selector) && object,
    );
    expect(mended.spec?.sessionAffinity).to.equal("ClientIP");
    const { metadata } = await client.mergePatch(ServiceResource, id, { metadata: { annotations: { touched: "1" } } });
    // A pass that follows all this has nothing more to write to the Service.
    const gateway = { name: "b", namespace: TENANT };
    await client.mergePatch(
      WgGatewayServerResource,
      gateway,
      { status: { publicKey: null } },
      { subresource: "status" },
    );
    await eventually(WgGatewayServerResource, "b", TENANT, ({ status }) => status?.publicKey);
    expect((await client.get(ServiceResource, id))?.metadata?.resourceVersion).to.equal(metadata?.resourceVersion);
    await client.mergePatch(ServiceResource, id, {
      metadata: { annotations: { touched: null } },
      spec: { sessionAffinity: "None" },
    });
  });

  it("mends what a gateway may do, before its pod begins anew without it", async () => {
    const cluster = (await client.list(ClusterRoleBindingResource, { labelSelector: Labels.gatewayNamespace }))
      .items[0];
    const name = cluster?.metadata?.name ?? "";
    const before = new Map<string, string | undefined>();
    const rights: [ResourceType, string, string | undefined][] = [
      [RoleResource, "gw-b", TENANT],
      [RoleBindingResource, "gw-b", TENANT],
      [ServiceAccountResource, "b", TENANT],
      [ClusterRoleBindingResource, name, undefined],
    ];
    for (const [type, right, namespace] of rights) {
      before.set(type.kind, (await client.get(type, { name: right, namespace }))?.metadata?.uid);
      await client.delete(type, { name: right, namespace });
    }
    for (const [type, right, namespace] of rights) {
      const uid = await eventually(type, right, namespace, ({ metadata }) => metadata?.uid);
      expect(uid).not.to.equal(before.get(type.kind));
    }
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
    await client.mergePatch(RoleResource, { name: "gw-b", namespace: TENANT }, { rules });
    await eventually(RoleResource, "gw-b", TENANT, (role) =>
      role.rules?.some(({ resourceNames, verbs }) => resourceNames?.includes("gw-b") && verbs.includes("watch")),
    );
  });

  it("keeps a gateway's keys, and what it says of itself, to the gateway alone", async () => {
    const rules = await eventually(RoleResource, "gw-b", TENANT, ({ rules }) => rules);
    const verbs = ["get", "list", "watch"];
    expect(rules).to.deep.equal([
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["gw-b"], verbs },
      // By which it tells its client where it is.
      { apiGroups: ["networking.liqo.io"], resources: ["gatewayservers"], resourceNames: ["b"], verbs },
    ]);
    const { subjects } = await eventually(RoleBindingResource, "gw-b", TENANT, (object) => object);
    expect(subjects).to.deep.equal([{ kind: "ServiceAccount", name: "b", namespace: TENANT }]);
  });

  it("has load balancers of the address and the class asked for, and follows their addresses", async () => {
    const labels = { [Labels.remoteClusterID]: "lb" };
    const metadata = { name: "lb", namespace: TENANT, labels };
    const stock = await client.get(WgGatewayServerTemplateResource, { name: "wireguard-server", namespace: NAMESPACE });
    const template = structuredClone(stock?.spec) as { template: { spec: { service: { spec: object } } } };
    Object.assign(template.template.spec.service.spec, { loadBalancerClass: "example.org/edge" });
    const own = { metadata: { name: "edge", namespace: NAMESPACE }, spec: template };
    await client.apply(WgGatewayServerTemplateResource, own, { fieldManager: "test" });
    const endpoint = { port: 51_840, serviceType: "LoadBalancer" as const, loadBalancerIP: "203.0.113.9" };
    const { apiVersion, kind } = WgGatewayServerTemplateResource;
    const serverTemplateRef = { apiVersion, kind, name: "edge", namespace: NAMESPACE };
    const spec = { endpoint, serverTemplateRef };
    await client.create(GatewayServerResource, GatewayServerResource.build({ metadata, spec }));
    const service = await eventually(ServiceResource, "gw-lb", TENANT, (object) => object);
    expect(service.spec).to.include({ loadBalancerIP: "203.0.113.9", loadBalancerClass: "example.org/edge" });
    await client.mergePatch(
      GatewayServerResource,
      { name: "lb", namespace: TENANT },
      { spec: { endpoint: { port: 51_841 } } },
    );
    await eventually(ServiceResource, "gw-lb", TENANT, ({ spec }) => spec?.ports?.[0]?.port === 51_841);
    const status = { loadBalancer: { ingress: [{ ip: "203.0.113.9" }, { hostname: "edge.example.org" }] } };
    await client.mergePatch(
      ServiceResource,
      { name: "gw-lb", namespace: TENANT },
      { status },
      { subresource: "status" },
    );
    const addresses = await eventually(
      GatewayServerResource,
      "lb",
      TENANT,
      (object) => object.status?.endpoint?.addresses,
    );
    expect(addresses).to.deep.equal(["203.0.113.9", "edge.example.org"]);
    await client.delete(GatewayServerResource, { name: "lb", namespace: TENANT });
  });

  it("makes the Service anew where the gateway asks for another class of load balancers", async () => {
    const labels = { [Labels.remoteClusterID]: "class" };
    const metadata = { name: "class", namespace: TENANT, labels };
    const endpoint = { port: 51_840, serviceType: "LoadBalancer" as const, loadBalancerClass: "example.org/edge" };
    await client.create(GatewayServerResource, GatewayServerResource.build({ metadata, spec: { endpoint } }));
    const service = await eventually(ServiceResource, "gw-class", TENANT, (object) => object);
    expect(service.spec?.loadBalancerClass).to.equal("example.org/edge");
    const patch = { spec: { endpoint: { loadBalancerClass: "example.org/inner" } } };
    const { metadata: changed } = await client.mergePatch(GatewayServerResource, metadata, patch);
    const other = await eventually(
      ServiceResource,
      "gw-class",
      TENANT,
      (object) => object.spec?.loadBalancerClass === "example.org/inner" && object,
    );
    expect(other.metadata?.uid).to.not.equal(service.metadata?.uid);
    await eventually(GatewayServerResource, "class", TENANT, ({ status }) => {
      const verdict = findCondition(status?.conditions, "Accepted");
      return verdict?.status === "True" && verdict.observedGeneration === changed.generation;
    });
    await client.delete(GatewayServerResource, { name: "class", namespace: TENANT });
  });

  it("plans the links between nodes and gateways", async () => {
    const node = await eventually(InternalNodeResource, "n1", undefined, (object) => object.status?.nodeIP && object);
    expect(node.status?.nodeIP).to.deep.equal({ local: "198.18.0.1", remote: "198.18.0.1" });
    expect(node.spec.interface.gateway.name).to.match(/^liqo\.[a-z0-9]{10}$/);
    const fabric = await eventually(InternalFabricResource, "b", TENANT, (object) => object);
    expect(fabric.spec).to.include({ mtu: 1340, gatewayIP: "10.244.0.9" });
    expect(fabric.spec.remoteCIDRs).to.deep.equal(["10.71.0.0/16", "10.68.0.0/16"]);
    expect(fabric.spec.interface.gateway.ip).not.to.equal(node.spec.interface.node.ip);
    const tunnel = await eventually(GeneveTunnelResource, "b-n1", TENANT, (object) => object);
    expect(tunnel.spec.id).to.equal(1);
  });

  it("lends no address of the internal range that a link has", async () => {
    const node = await eventually(InternalNodeResource, "n1", undefined, (object) => object);
    const fabric = await eventually(InternalFabricResource, "b", TENANT, (object) => object);
    const ofLinks = [node.spec.interface.node.ip, fabric.spec.interface.gateway.ip];
    const networkRef = { name: "internal-cidr", namespace: "liqo" };
    for (const name of ["inside-1", "inside-2", "inside-3"]) {
      const metadata = { name, namespace: "default" };
      await client.create(IPResource, IPResource.build({ metadata, spec: { ip: "192.0.2.20", networkRef } }));
      const address = await eventually(IPResource, name, "default", ({ status }) => status?.ip);
      expect(address).to.match(/^10\.80\.0\.\d$/);
      expect(ofLinks).not.to.include(address);
    }
    for (const name of ["inside-1", "inside-2", "inside-3"]) {
      await client.delete(IPResource, { name, namespace: "default" });
      await gone(IPResource, name, "default");
    }
  });

  it("starts anew without changing anything", async () => {
    // What former tests have deleted, and what was of it, goes a moment later; some of it when the garbage collector looks.
    const deletedIPs = ["host", "first", "second", "later", "offloaded"];
    await Promise.all([
      ...deletedIPs.map((name) => gone(IPResource, name, "default")),
      gone(NetworkResource, "small", "default"),
      gone(IPResource, "c-unknown-source", TENANT),
      gone(NetworkResource, "c-pod-10-200-0-0-16", TENANT),
      gone(NetworkResource, "c-external-10-201-0-0-16", TENANT),
      ...["lb", "class"].flatMap((name) => [
        gone(WgGatewayServerResource, name, TENANT),
        gone(DeploymentResource, `gw-${name}`, TENANT),
      ]),
    ]);
    const versions = async () => {
      const types: ResourceType[] = [NetworkResource, IPResource, ConfigurationResource, GatewayServerResource];
      types.push(
        WgGatewayServerResource,
        InternalNodeResource,
        InternalFabricResource,
        GeneveTunnelResource,
        DeploymentResource,
      );
      const lists = await Promise.all(types.map((type) => client.list(type)));
      return lists.flatMap(({ items }) =>
        items.map(({ kind, metadata }) => [kind, metadata?.name, metadata?.resourceVersion]),
      );
    };
    const before = await versions();
    await stopControllers();
    await startControllers();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await versions()).to.deep.equal(before);
  });

  it("refuses a second gateway for the same cluster, and says so", async () => {
    const second = { ...GATEWAY, metadata: { ...GATEWAY.metadata, name: "second" } };
    await client.create(GatewayServerResource, second);
    // A gateway whose template came to the controllers later than it did has such an event, too.
    const find = (events: { reason?: string; message?: string; involvedObject: { name?: string } }[]) =>
      events.find(({ reason, involvedObject }) => reason === "GatewayNotMade" && involvedObject.name === "second");
    const event = await waitFor(client, EventResource, { namespace: TENANT, timeoutMs: 40_000, what: "event" }, find);
    expect(event.message).to.contain("cluster b is linked by GatewayServer liqo-tenant-b/b already");
    await client.delete(GatewayServerResource, { name: "second", namespace: TENANT });
  });

  it("takes templates of kinds that users bring, and what they make", async () => {
    const verbs = ["get", "list", "watch", "create", "patch", "delete"];
    await grant(client, CONTROLLER, [{ apiGroups: ["example.org"], resources: ["*"], verbs }], "own-kinds");
    await installCrds(client, [ownKind("OwnTemplate", { [Labels.gatewayTemplate]: "true" }), ownKind("OwnGateway")]);
    const template = {
      metadata: { annotations: { "example.org/mtu": "{{ .Spec.MTU }}" } },
      spec: { port: "{{ .Spec.Endpoint.Port }}" },
    };
    await client.create(ownType("OwnTemplate"), {
      apiVersion: "example.org/v1",
      kind: "OwnTemplate",
      metadata: { name: "hardware", namespace: NAMESPACE },
      spec: { objectKind: { apiVersion: "example.org/v1", kind: "OwnGateway" }, template },
    } as KubeObject);
    const metadata = { name: "c", namespace: TENANT, labels: { [Labels.remoteClusterID]: "c" } };
    const serverTemplateRef = {
      apiVersion: "example.org/v1",
      kind: "OwnTemplate",
      name: "hardware",
      namespace: NAMESPACE,
    };
    const gateway = GatewayServerResource.build({ metadata, spec: { serverTemplateRef, endpoint: { port: 4_500 } } });
    const { metadata: created } = await client.create(GatewayServerResource, gateway);
    const made = await eventually(
      ownType("OwnGateway"),
      "c",
      TENANT,
      (object) => object as KubeObject & { spec: object },
    );
    expect(made.spec).to.deep.equal({ port: 4_500 });
    expect(made.metadata?.annotations).to.include({ "example.org/mtu": "1340" });
    expect(made.metadata?.ownerReferences?.[0]).to.include({ kind: "GatewayServer", uid: created.uid });
    // Its own controller tells where it is.
    const endpoint = { addresses: ["192.0.2.1"], port: 4_500, protocol: "UDP" };
    const status = { status: { endpoint, more: "than is known here" } };
    await client.mergePatch(ownType("OwnGateway"), { name: "c", namespace: TENANT }, status, {
      subresource: "status",
    });
    const known = await eventually(
      GatewayServerResource,
      "c",
      TENANT,
      (object) => object.status?.endpoint && object.status,
    );
    expect(known.endpoint).to.deep.equal(endpoint);
    expect(known.serverRef).to.include({ kind: "OwnGateway", name: "c" });
    expect(known.conditions?.[0]).to.include({ type: "Accepted", status: "True" });
    // Back to the stock template: what the other one made goes.
    await client.mergePatch(
      GatewayServerResource,
      { name: "c", namespace: TENANT },
      { spec: { serverTemplateRef: null } },
    );
    await eventually(DeploymentResource, "gw-c", TENANT, (object) => object);
    const options = { namespace: TENANT, timeoutMs: 40_000, what: "no OwnGateway" };
    await waitFor(client, ownType("OwnGateway"), options, (objects) => objects.length === 0);
    await client.delete(GatewayServerResource, { name: "c", namespace: TENANT });
  });

  it("takes back what nodes and gateways that are gone have said of rules that users bring", async () => {
    await client.create(NodeResource, { metadata: { name: "n2" } });
    const fabric = (metadata: object, nodeName: string) => ({
      metadata: { name: `fabric-${nodeName}`, namespace: NAMESPACE, ...metadata },
      spec: { nodeName, containers: [{ name: "fabric", image: "example/agent:1" }] },
    });
    await client.create(PodResource, fabric({ labels: { [Labels.appName]: "fabric" } }, "n2"));
    await known(PodResource, `${NAMESPACE}/fabric-n2`, { labelSelector: `${Labels.appName}=fabric` });
    const rules = {
      table: { name: "t", rules: [{ dst: "192.0.2.0/24", routes: [{ dst: "192.0.2.0/24", dev: "lo" }] }] },
    };
    const id = { name: "routes", namespace: TENANT };
    await client.create(RouteConfigurationResource, RouteConfigurationResource.build({ metadata: id, spec: rules }));
    const gateway = gatewayRuleOwner({ namespace: TENANT, name: "b" });
    const owners = { "fabric-n1": "n1", "fabric-n2": "n2", b: gateway, "fabric-gone": "gone" };
    for (const [host, owner] of Object.entries(owners)) {
      const status = { conditions: [{ type: "Applied" as const, status: "True" as const, host }] };
      const options = { fieldManager: rulesManager(owner), subresource: "status" } as const;
      await client.apply(RouteConfigurationResource, { metadata: id, status }, options);
    }
    const hosts = (wanted: string[]) =>
      eventually(RouteConfigurationResource, "routes", TENANT, ({ status }) => {
        const told = (status?.conditions ?? []).map(({ host }) => host).sort();
        return JSON.stringify(told) === JSON.stringify(wanted);
      });
    const live = ["b", "fabric-n1", "fabric-n2"];
    await known(RouteConfigurationResource, `${TENANT}/routes`, {}, ({ status }) =>
      live.every((name) => status?.conditions?.some(({ host }) => host === name)),
    );
    await client.delete(NodeResource, { name: "n2" });
    // The pod may still write: with it goes its word.
    await hosts(live);
    await client.delete(PodResource, { name: "fabric-n2", namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
    await hosts(["b", "fabric-n1"]);
    await client.delete(GatewayServerResource, { name: "b", namespace: TENANT });
    await client.delete(PodResource, { name: "gateway", namespace: TENANT }, { gracePeriodSeconds: 0 });
    await hosts(["fabric-n1"]);
    await client.delete(RouteConfigurationResource, id);
  });

  it("leaves a gateway its rights when the one that it replaces, of the other kind and the same name, ends later", async () => {
    const id = { name: "turned", namespace: TENANT };
    const metadata = { ...id, labels: { [Labels.remoteClusterID]: "turned" } };
    const held = { ...metadata, finalizers: ["example.org/hold"] };
    const endpoint = { port: 51_840 };
    const binding = "liqo-gateway-liqo-tenant-b-turned";
    const boundAs = () => eventually(ClusterRoleBindingResource, binding, undefined, (object) => object.metadata?.uid);
    await client.create(GatewayServerResource, GatewayServerResource.build({ metadata: held, spec: { endpoint } }));
    await boundAs();
    const publicKey = await eventually(WgGatewayServerResource, "turned", TENANT, ({ status }) => status?.publicKey);

    await client.delete(GatewayServerResource, id);
    // So that the next one to be seen is the new gateway's.
    await client.delete(ClusterRoleBindingResource, { name: binding });
    const spec = { endpoint: { ...endpoint, addresses: ["192.0.2.1"] } };
    await client.create(GatewayClientResource, GatewayClientResource.build({ metadata, spec }));
    const uid = await boundAs();
    // The keys that the other cluster knows do change hands: they would be collected with the former one.
    await eventually(SecretResource, "gw-turned", TENANT, ({ metadata }) =>
      metadata?.ownerReferences?.every(({ kind }) => kind === WgGatewayClientResource.kind),
    );
    await client.mergePatch(GatewayServerResource, id, { metadata: { finalizers: null } });
    await gone(WgGatewayServerResource, "turned", TENANT);
    expect((await client.get(ClusterRoleBindingResource, { name: binding }))?.metadata?.uid).to.equal(uid);
    // What else the former one has left may not change hands here: it is made anew once it has been collected.
    const status = await eventually(
      WgGatewayClientResource,
      "turned",
      TENANT,
      ({ status }) => findCondition(status?.conditions, "Accepted")?.status === "True" && status,
      COLLECTION_MS,
    );
    expect(status.publicKey).to.equal(publicKey);

    await client.delete(GatewayClientResource, id);
    await gone(WgGatewayClientResource, "turned", TENANT);
    await gone(DeploymentResource, "gw-turned", TENANT);
    expect(await client.get(ClusterRoleBindingResource, { name: binding })).to.equal(undefined);
  });

  it("calls no range of another cluster by what its own nodes have, and says so where a node comes into one later", async () => {
    const addNode = async (name: string, address: string): Promise<void> => {
      await client.create(NodeResource, { metadata: { name } });
      const addresses = [{ type: "InternalIP", address }];
      await client.mergePatch(NodeResource, { name }, { status: { addresses } }, { subresource: "status" });
    };
    await addNode("here", "10.200.3.4");
    const create = async (name: string, cidr: string): Promise<string> => {
      const metadata = { name, namespace: TENANT, labels: REMOTE };
      await client.create(NetworkResource, NetworkResource.build({ metadata, spec: { cidr } }));
      return eventually(NetworkResource, name, TENANT, ({ status }) => status?.cidr);
    };
    expect(await create("among-nodes", "10.200.0.0/16")).not.to.equal("10.200.0.0/16");
    expect(await create("beside-nodes", "10.201.0.0/16")).to.equal("10.201.0.0/16");
    await addNode("later", "10.201.7.8");
    const { involvedObject, message } = await waitFor(
      client,
      EventResource,
      { namespace: TENANT, timeoutMs: 40_000, what: "a warning" },
      (events) => events.find(({ reason }) => reason === "NodeInRange"),
    );
    expect(involvedObject.name).to.equal("beside-nodes");
    expect(message).to.contain("node later has the address 10.201.7.8, which is in 10.201.0.0/16");
    for (const name of ["here", "later"]) await client.delete(NodeResource, { name });
    for (const name of ["among-nodes", "beside-nodes"])
      await client.delete(NetworkResource, { name, namespace: TENANT });
  });

  it("leaves nothing behind", async () => {
    await client.delete(GatewayServerResource, { name: "b", namespace: TENANT });
    await client.delete(ConfigurationResource, { name: "any-name", namespace: TENANT });
    await client.delete(PodResource, { name: "gateway", namespace: TENANT }, { gracePeriodSeconds: 0 });
    const types: ResourceType[] = [
      WgGatewayServerResource,
      InternalFabricResource,
      GeneveTunnelResource,
      DeploymentResource,
    ];
    types.push(NetworkResource, IPResource, SecretResource, ServiceResource);
    for (const type of types) {
      await waitFor(
        client,
        type,
        { namespace: TENANT, timeoutMs: COLLECTION_MS, what: `no ${type.plural}` },
        (objects) => objects.length === 0,
      );
    }
    expect(await client.get(ClusterRoleBindingResource, { name: "liqo-gateway-liqo-tenant-b-b" })).to.equal(undefined);
  });
});

/** Rights in the whole cluster. */
async function grant(client: KubeClient, user: string, rules: PolicyRule[], name = user): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  await client.create(ClusterRoleResource, { metadata: { name }, rules });
  await client.create(ClusterRoleBindingResource, {
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name },
    subjects: [{ apiGroup, kind: "User", name: user }],
  });
}

function ownType(kind: string): ResourceType {
  return { group: "example.org", version: "v1", kind, plural: `${kind.toLowerCase()}s`, namespaced: true };
}

function ownKind(kind: string, labels: Record<string, string> = {}): CustomResourceDefinition {
  const { group, version, plural } = ownType(kind);
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } };
  const subresources = { status: {} };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, labels },
    spec: {
      group,
      names: { kind, plural },
      scope: "Namespaced",
      versions: [{ name: version, served: true, storage: true, schema, subresources }],
    },
  };
}

const READY_NODE = {
  status: {
    conditions: [{ type: "Ready", status: "True", reason: "Test", message: "" }],
    addresses: [{ type: "InternalIP", address: "198.18.0.1" }],
  },
};

const GATEWAY = GatewayServerResource.build({
  metadata: { name: "b", namespace: TENANT, labels: REMOTE },
  spec: {
    serverTemplateRef: {
      apiVersion: "networking.liqo.io/v1beta1",
      kind: "WgGatewayServerTemplate",
      name: "wireguard-server",
      namespace: "somewhere-else",
    },
    mtu: 1340,
    endpoint: { port: 51840, serviceType: "NodePort", nodePort: 30742 },
  },
});

/** What the Deployment's controllers and a kubelet would do. */
async function runGatewayPod(client: KubeClient): Promise<void> {
  const deployment = await client.get(DeploymentResource, { name: "gw-b", namespace: TENANT });
  const pod: Pod = {
    metadata: { name: "gateway", namespace: TENANT, labels: deployment?.spec?.template.metadata?.labels },
    spec: { nodeName: "n1", containers: [{ name: "gateway", image: "example/agent:1" }] },
  };
  await client.create(
    { ...PodResource },
    { ...pod, spec: { ...pod.spec, serviceAccountName: "b", containers: pod.spec?.containers ?? [] } },
  );
  const status = { phase: "Running", podIP: "10.244.0.9", podIPs: [{ ip: "10.244.0.9" }] };
  await client.mergePatch(PodResource, { name: "gateway", namespace: TENANT }, { status }, { subresource: "status" });
}
