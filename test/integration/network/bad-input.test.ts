import { expect } from "chai";
import type { StandardCondition } from "../../../agent/api/index.js";
import {
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  NetworkResource,
  PublicKeyResource,
  WgGatewayClientTemplateResource,
  WgGatewayServerTemplateResource,
  type GatewayServer,
} from "../../../agent/api/index.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import type { Startable } from "../../../agent/controller/context.js";
import { setupNetwork } from "../../../agent/controller/network/index.js";
import { startWebhooks, type Webhooks } from "../../../agent/controller/webhooks/index.js";
import { gatewayTemplateManifests, networkManifests } from "../../../agent/install/network-templates.js";
import {
  ClusterRoleResource,
  DeploymentResource,
  EventRecorder,
  SecretResource,
  ServiceResource,
  SharedInformers,
  apiVersionOf,
  createLogger,
  findCondition,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { waitFor } from "../../support/wait.js";
import { ensureNamespace, installWebhooks } from "../offloading/harness.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

const TENANT = "liqo-tenant-b";
const KEY = Buffer.alloc(32, 7).toString("base64");
const manager = { fieldManager: "test" };

describe("bad networking input on a real API server", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let client: KubeClient;
  let informers: SharedInformers;
  let webhooks: Webhooks;
  let startables: Startable[] = [];

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ controllers: ["garbage-collector-controller"] });
    client = server.client;
    const logger = createLogger("test");
    logger.level = process.env["LOG_LEVEL"] ?? "silent";
    informers = new SharedInformers(client, logger);
    const recorder = (component: string) => new EventRecorder(client, component, logger);
    const config = parseControllerArguments(["--cluster-id=a", "--liqo-namespace=liqo", "--image=example/agent:1"]);
    const context = { client, informers, config, logger, recorder };
    startables = setupNetwork(context);
    for (const name of ["liqo", TENANT]) await ensureNamespace(client, name);
    webhooks = await startWebhooks(context, { port: 0, extraHosts: ["127.0.0.1"] });
    await informers.start();
    for (const startable of startables) await startable.start();
    await installWebhooks(client, webhooks.port);
    await client.create(ClusterRoleResource, { metadata: { name: "liqo-gateway" }, rules: [] });
    const ranges = { podCIDRs: ["10.244.0.0/16"], serviceCIDR: "10.96.0.0/12", reservedSubnets: [] };
    for (const network of networkManifests({ namespace: "liqo", ...ranges }))
      await client.create(NetworkResource, network);
    const image = { image: "example/agent:1", imagePullPolicy: "IfNotPresent" as const, imagePullSecrets: [] };
    const [serverTemplate, clientTemplate] = gatewayTemplateManifests({ namespace: "liqo", ...image });
    await client.create(WgGatewayServerTemplateResource, serverTemplate);
    await client.create(WgGatewayClientTemplateResource, clientTemplate);
  });

  after(async () => {
    await Promise.all(startables.map((startable) => startable.stop()));
    await webhooks?.stop();
    await informers?.stop();
    await server?.stop();
  });

  describe("is refused at admission, by the field's name:", () => {
    const configuration = (cidr: object): [ResourceType, object] => [ConfigurationResource, { remote: { cidr } }];
    const gateway = (spec: object, of: ResourceType = GatewayServerResource): [ResourceType, object] => [
      of,
      { endpoint: { port: 51_840 }, ...spec },
    ];
    const key = (publicKey: string): [ResourceType, object] => [PublicKeyResource, { publicKey }];
    const network = (cidr: string): [ResourceType, object] => [NetworkResource, { cidr }];
    const POD = "spec.remote.cidr.pod[0]";
    const cases: [what: string, object: [ResourceType, object], field: string, reason: string][] = [
      ["a range that is none", configuration({ pod: "10.0.0.0/33" }), POD, "is not an IPv4 range"],
      ["a range of another family", configuration({ pod: ["fd00::/64"] }), POD, "is not an IPv4 range"],
      ["a range with host bits", configuration({ pod: "10.0.0.1/16" }), POD, 'write "10.0.0.0/16"'],
      ["a range that is too small", configuration({ pod: ["10.1.2.0/31"] }), POD, "too small"],
      ["a range that no pool can hold", configuration({ pod: ["64.0.0.0/6"] }), POD, "larger than every pool"],
      ["the range of the tunnel", configuration({ pod: ["169.254.18.0/24"] }), POD, "never routed"],
      ["a number for a range", configuration({ pod: 10 }), "spec.remote.cidr.pod", "must be a list"],
      [
        "ranges that overlap each other",
        configuration({ pod: ["10.0.0.0/8"], external: ["10.70.0.0/16"] }),
        "spec.remote.cidr.external[0]",
        "overlaps spec.remote.cidr.pod[0]",
      ],
      ["an MTU below the least", gateway({ mtu: 1279 }), "spec.mtu", "between 1280 and 9000"],
      ["an MTU above the most", gateway({ mtu: 9001 }, GatewayClientResource), "spec.mtu", "between 1280 and 9000"],
      ["port 0", gateway({ endpoint: { port: 0 } }), "spec.endpoint.port", "greater than or equal to 1"],
      ["a port beyond the last", gateway({ endpoint: { port: 65_536 } }), "spec.endpoint.port", "65535"],
      [
        "a node port beyond the last",
        gateway({ endpoint: { port: 1, nodePort: 70_000 } }),
        "spec.endpoint.nodePort",
        "65535",
      ],
      [
        "a client's port beyond the last",
        gateway({ endpoint: { port: 70_000, addresses: ["10.0.0.1"] } }, GatewayClientResource),
        "spec.endpoint.port",
        "65535",
      ],
      [
        "an address that is none",
        gateway({ endpoint: { port: 1, addresses: ["http://x"] } }, GatewayClientResource),
        "spec.endpoint.addresses[0]",
        "should match",
      ],
      [
        "a Service that leads nowhere",
        gateway({ endpoint: { port: 1, serviceType: "ExternalName" } }),
        "spec.endpoint.serviceType",
        "ExternalName",
      ],
      ["a short key", key(Buffer.alloc(31).toString("base64")), "spec.publicKey", "should match"],
      ["a key encoded twice", key(Buffer.from(KEY).toString("base64")), "spec.publicKey", "should match"],
      ["a key that is not base64", key("%%%"), "spec.publicKey", ""],
      ["a Network that is no range", network("10.0.0.0/40"), "spec.cidr", ""],
      ["a Network of another family", network("fd00::/64"), "spec.cidr", ""],
    ];
    for (const [what, [type, spec], field, reason] of cases) {
      it(what, async () => {
        const metadata = { name: "bad", namespace: TENANT, labels: peer("c") };
        const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, spec };
        const message = await refusal(client.create(type, object));
        expect(message).to.contain(field).and.to.contain(reason);
      });
    }

    it("an object that does not say whose it is, or says its own cluster", async () => {
      const types: ResourceType[] = [ConfigurationResource, GatewayServerResource, GatewayClientResource];
      for (const type of types) {
        for (const labels of [{}, peer("a"), peer("Not_An_ID")]) {
          const metadata = { name: "bad", namespace: TENANT, labels };
          const spec = type === ConfigurationResource ? {} : { endpoint: { port: 1 } };
          const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, spec };
          const message = await refusal(client.create(type, object));
          expect(message).to.contain("metadata.labels[liqo.io/remote-cluster-id]");
        }
      }
    });
  });

  it("leaves the objects that were there as they were", async () => {
    const ranges = (pod: string) => ({ remote: { cidr: { pod: [pod], external: ["10.70.0.0/16"] } } });
    const build = (pod: string) =>
      ConfigurationResource.build({ metadata: { name: "b", namespace: TENANT, labels: peer("b") }, spec: ranges(pod) });
    await client.apply(ConfigurationResource, build("10.244.0.0/16"), manager);
    const before = await eventually(
      ConfigurationResource,
      "b",
      (object) => object.status?.conditions?.[0]?.status === "True" && object,
    );
    expect(await refusal(client.apply(ConfigurationResource, build("10.244.0.0/31"), manager))).to.contain("too small");
    const after = await client.get(ConfigurationResource, { name: "b", namespace: TENANT });
    expect(after?.spec).to.deep.equal(before.spec);
    expect(after?.status).to.deep.equal(before.status);
    const second = { ...build("10.250.0.0/16"), metadata: { name: "other", namespace: "default", labels: peer("b") } };
    expect(await refusal(client.apply(ConfigurationResource, second, manager))).to.contain(
      `Configuration ${TENANT}/b already`,
    );
  });

  describe("that only the cluster can judge is told in the status, by the field's name:", () => {
    const templateRef = {
      apiVersion: "networking.liqo.io/v1beta1",
      kind: "WgGatewayServerTemplate",
      namespace: "liqo",
    };
    const NODE_PORT = { port: 51_840, serviceType: "NodePort", nodePort: 30_742 } as const;
    let accepted: { deployment: unknown; service: unknown };

    before(async () => {
      await applyGateway({ endpoint: NODE_PORT, mtu: 1340 });
      await verdict("True");
      accepted = await running();
    });

    const cases: [what: string, spec: GatewayServer["spec"], field: string, reason: string, message: string][] = [
      [
        "an unknown template",
        { serverTemplateRef: { ...templateRef, name: "nothing" } },
        "spec.serverTemplateRef.name",
        "TemplateNotFound",
        "there is no WgGatewayServerTemplate liqo/nothing",
      ],
      [
        "a template of an unknown kind",
        { serverTemplateRef: { ...templateRef, kind: "Recipe", name: "wireguard-server" } },
        "spec.serverTemplateRef.kind",
        "TemplateNotFound",
        "Recipe",
      ],
      [
        "a template that cannot be rendered",
        { serverTemplateRef: { ...templateRef, name: "broken" } },
        "spec.serverTemplateRef",
        "TemplateInvalid",
        "printf",
      ],
      [
        "a template that makes no Deployment",
        { serverTemplateRef: { ...templateRef, name: "wrong" } },
        "spec.serverTemplateRef",
        "TemplateInvalid",
        "spec.deployment",
      ],
      [
        "keys that are not there",
        { secretRef: { name: "nothing" } },
        "spec.secretRef.name",
        "KeysUnusable",
        "there is no such Secret",
      ],
      [
        "short keys",
        { secretRef: { name: "short" } },
        "spec.secretRef.name",
        "KeysUnusable",
        "must be 32 bytes, has 31",
      ],
      ["keys encoded twice", { secretRef: { name: "twice" } }, "spec.secretRef.name", "KeysUnusable", "encoded twice"],
      [
        "a port that nodes do not have",
        { endpoint: { ...NODE_PORT, port: 51_999, nodePort: 22 } },
        "spec.endpoint.nodePort",
        "ServiceRefused",
        "valid ports is 30000-32767",
      ],
      [
        "a port in use",
        { endpoint: { ...NODE_PORT, port: 51_999, nodePort: 30_999 } },
        "spec.endpoint.nodePort",
        "ServiceRefused",
        "already allocated",
      ],
    ];
    for (const [what, spec, field, reason, message] of cases) {
      it(`${what}; what runs stays`, async () => {
        await prepareFor(spec);
        await applyGateway({ endpoint: NODE_PORT, mtu: 1340, ...spec });
        const condition = await verdict("False");
        expect(condition.message.startsWith(`${field}: `), condition.message).to.equal(true);
        expect(condition.message.includes(message), condition.message).to.equal(true);
        expect(condition.reason).to.equal(reason);
        expect(await running()).to.deep.equal(accepted);
        await applyGateway({ endpoint: NODE_PORT, mtu: 1340 });
        await verdict("True");
        expect(await running()).to.deep.equal(accepted);
      });
    }

    it("an unknown template of a client", async () => {
      const metadata = { name: "d", namespace: TENANT, labels: peer("d") };
      const clientTemplateRef = { ...templateRef, kind: "WgGatewayClientTemplate", name: "nothing" };
      const endpoint = { addresses: ["192.0.2.1"], port: 51_840 };
      const object = GatewayClientResource.build({ metadata, spec: { endpoint, clientTemplateRef } });
      await client.create(GatewayClientResource, object);
      const condition = await eventually(GatewayClientResource, "d", ({ status }) =>
        findCondition(status?.conditions, "Accepted"),
      );
      expect(condition).to.include({ status: "False", reason: "TemplateNotFound" });
      expect(condition.message).to.equal(
        "spec.clientTemplateRef.name: there is no WgGatewayClientTemplate liqo/nothing",
      );
      await client.delete(GatewayClientResource, { name: "d", namespace: TENANT });
    });

    it("a second link to one cluster, already at admission", async () => {
      const metadata = { name: "second", namespace: "default", labels: peer("b") };
      const spec = { endpoint: { port: 51_840 } };
      const types: ResourceType[] = [GatewayServerResource, GatewayClientResource];
      for (const type of types) {
        const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, spec };
        expect(await refusal(client.create(type, object))).to.contain(
          `cluster b is linked by GatewayServer ${TENANT}/b already`,
        );
      }
    });

    async function prepareFor({ serverTemplateRef, secretRef, endpoint }: GatewayServer["spec"]): Promise<void> {
      const name = serverTemplateRef?.name;
      const secret = secretRef?.name;
      if (name === "broken" || name === "wrong") {
        const template = name === "broken" ? { metadata: { name: "{{ printf .Name }}" } } : { spec: { service: {} } };
        const metadata = { name, namespace: "liqo" };
        await client.apply(WgGatewayServerTemplateResource, { metadata, spec: { template } }, manager);
        // Templates and gateways come to the controllers by two watches: a gateway that came first would have none.
        const templates = informers.for(WgGatewayServerTemplateResource);
        await until("the template at the controllers", 40_000, () => templates.find("liqo", name));
      }
      if (secret === "short" || secret === "twice") {
        const key = secret === "short" ? Buffer.alloc(31).toString("base64") : Buffer.from(KEY).toString("base64");
        const metadata = { name: secret, namespace: TENANT };
        await client.apply(SecretResource, { metadata, data: { privateKey: key, publicKey: key } }, manager);
      }
      if (endpoint?.nodePort === 30_999) {
        const spec = { type: "NodePort" as const, ports: [{ port: 1, nodePort: 30_999, protocol: "UDP" as const }] };
        await client.apply(ServiceResource, { metadata: { name: "taken", namespace: "default" }, spec }, manager);
      }
    }

    async function applyGateway(spec: GatewayServer["spec"]): Promise<void> {
      const metadata = { name: "b", namespace: TENANT, labels: peer("b") };
      await client.apply(GatewayServerResource, GatewayServerResource.build({ metadata, spec }), manager);
    }

    function verdict(status: "True" | "False"): Promise<StandardCondition> {
      return eventually(GatewayServerResource, "b", (gateway) => {
        const condition = findCondition(gateway.status?.conditions, "Accepted");
        return condition?.status === status && condition.observedGeneration === gateway.metadata.generation
          ? condition
          : undefined;
      });
    }

    /** What the tunnel is made of. */
    async function running(): Promise<{ deployment: unknown; service: unknown }> {
      const id = { name: "gw-b", namespace: TENANT };
      const [deployment, service] = await Promise.all([
        client.get(DeploymentResource, id),
        client.get(ServiceResource, id),
      ]);
      return {
        deployment: [deployment?.metadata?.uid, deployment?.spec],
        service: [service?.metadata?.uid, service?.spec],
      };
    }
  });

  it("a Network that may not be moved out of the way of others tells so", async () => {
    const fixed = { [Labels.networkNotRemapped]: "true" };
    const network = (name: string, cidr: string) =>
      NetworkResource.build({ metadata: { name, namespace: TENANT, labels: fixed }, spec: { cidr } });
    for (const [name, cidr, problem] of [
      ["over-pods", "10.244.128.0/17", "overlaps 10.244.0.0/16"],
      ["outside", "100.64.0.0/16", "outside the pools"],
    ] as const) {
      await client.create(NetworkResource, network(name, cidr));
      const stored = await eventually(
        NetworkResource,
        name,
        (object) => object.status?.conditions?.[0]?.status === "False" && object,
      );
      expect(stored.status?.conditions?.[0]).to.include({ type: "Allocated", reason: "RangeNotAllocated" });
      expect(stored.status?.conditions?.[0]?.message).to.contain("spec.cidr: ").and.to.contain(problem);
      expect(stored.status?.cidr).to.equal(undefined);
    }
  });

  it("a peer's range for which there is no room is told in the Configuration, and gets room that becomes free", async () => {
    const range = ["10.0.0.0/10", "10.128.0.0/10"] as const;
    for (const [index, cidr] of range.entries()) {
      const metadata = { name: `taken-${index}`, namespace: TENANT };
      await client.create(NetworkResource, NetworkResource.build({ metadata, spec: { cidr } }));
      await eventually(NetworkResource, metadata.name, ({ status }) => status?.cidr === cidr);
    }
    const large = ConfigurationResource.build({
      metadata: { name: "large", namespace: TENANT, labels: peer("large") },
      spec: { remote: { cidr: { pod: ["100.64.0.0/10"], external: ["10.70.0.0/16"] } } },
    });
    await client.create(ConfigurationResource, large);
    const condition = await eventually(ConfigurationResource, "large", ({ status }) =>
      status?.conditions?.find(({ message }) => message.includes("no free range")),
    );
    expect(condition).to.include({ status: "False", reason: "WaitingForNetworks" });
    expect(condition.message).to.contain("spec.remote.cidr.pod[0]: ").and.to.contain("100.64.0.0/10");
    await client.delete(NetworkResource, { name: "taken-1", namespace: TENANT });
    const given = await eventually(ConfigurationResource, "large", ({ status }) => status?.remote?.cidr?.pod);
    expect(given).to.deep.equal([range[1]]);
    await client.delete(ConfigurationResource, { name: "large", namespace: TENANT });
  });

  function peer(id: string): Record<string, string> {
    return { [Labels.remoteClusterID]: id };
  }

  /** What the check returns, once that is something. */
  async function eventually<T extends KubeObject, R>(
    type: ResourceType<T>,
    name: string,
    check: (object: T) => R | undefined | false,
  ): Promise<R> {
    const options = {
      namespace: TENANT,
      timeoutMs: 40_000,
      what: `${type.kind} ${name}`,
      describe: (objects: T[]) => JSON.stringify(objects.map((object) => (object as { status?: object }).status)),
    };
    return waitFor(client, type, options, (objects) => {
      const object = objects.find(({ metadata }) => metadata?.name === name);
      return object ? check(object) : undefined;
    });
  }

  async function refusal(work: Promise<unknown>): Promise<string> {
    try {
      await work;
    } catch (error) {
      return (error as Error).message;
    }
    return "(accepted)";
  }
});
