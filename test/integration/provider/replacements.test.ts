import { createPrivateKey } from "node:crypto";
import { expect } from "chai";
import { parse } from "yaml";
import {
  GatewayServerResource,
  Labels,
  NamespaceOffloadingResource,
  NetworkResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  DaemonSetResource,
  isNotFound,
  NamespaceResource,
  RoleBindingResource,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { registry } from "../../../provider/resources/index.js";
import type { PulumiStack } from "../../support/pulumi.js";
import { startInstallableServer } from "../provider-resources/support/installable-server.js";
import { kubeconfigOf } from "../provider-resources/support/own-kubeconfig.js";
import { SIDES, type Side } from "../provider-resources/support/simulated-pair.js";
import { identityOfSlice } from "../provider-resources/support/slice-identity.js";
import type { ApiServer } from "../support/api-server.js";
import { EngineLab, type Declared } from "./support/engine-lab.js";

type Properties = Record<string, unknown>;
/** What stands in the clusters for a resource: by UID, what it is there. */
type There = ReadonlyMap<string, string>;

/** A property that replaces: the change of the program, and how it shows in the clusters. */
interface Row {
  type: string;
  property: string;
  /** The resource of the program that changes it. */
  of: string;
  /** With the properties that go with it, where it does not go alone. */
  to: Properties;
  there: () => Promise<There>;
  shows: [before: string, after: string];
}

const AGENT = "agent";
const LONE = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16", clusterId: "lone" };
const OTHER_RANGES = { "pod-cidr": "10.3.0.0/16", "service-cidr": "10.4.0.0/16" };
const ALL_OTHER_RANGES = { ...OTHER_RANGES, "external-cidr": "10.71.0.0/16", "internal-cidr": "10.81.0.0/16" };
const SLICE = "slice";
const RESOURCES = { cpu: "1" };

/** The real CLI on real API servers with simulated agents: each property that replaces, carried out. */
describe("a property that replaces its resource", function () {
  this.timeout(400_000);
  let lab: EngineLab;
  let lone: ApiServer;
  let stack: PulumiStack;
  let now: Record<string, Declared>;

  before(async function () {
    this.timeout(15 * 60_000);
    [lab, lone] = await Promise.all([EngineLab.start(), startInstallableServer("lone")]);
    const { client } = lab.servers.consumer;
    for (const name of ["moving", "moved", "strategy", "chosen"]) {
      await client.create(NamespaceResource, { metadata: { name } });
    }
    for (const provider of ["provider", "third"]) await identityOfSlice(client, SLICE, provider);
    const labels = { [Labels.remoteClusterID]: "third", [Labels.tenantNamespace]: "true" };
    await client.mergePatch(NamespaceResource, { name: "liqo-tenant-third" }, { metadata: { labels } });
    now = program();
    stack = await lab.stack("replacing", now);
    await stack.up();
  });
  after(async () => {
    await stack?.destroy({ allowFailure: true });
    await stack?.remove();
    await Promise.all([lab?.stop(), lone?.stop()]);
  });

  function program(): Record<string, Declared> {
    const { consumer, provider } = lab.pair;
    const offloading = (properties: Properties): Declared => ({
      type: "NamespaceOffloading",
      properties: { cluster: consumer, ...properties },
    });
    const node = (properties: Properties): Declared => ({
      type: "VirtualNode",
      properties: {
        ...{ cluster: consumer, providerClusterId: "provider" },
        ...{ resourceSliceName: SLICE, resources: RESOURCES, ...properties },
      },
      options: { dependsOn: ["${auth}"] },
    });
    const user = (consumerClusterId: string): Declared => ({
      type: "PeeringUser",
      properties: { cluster: provider, consumerClusterId },
    });
    return {
      link: { type: "NetworkLink", properties: lab.pair },
      auth: { type: "Authentication", properties: lab.pair },
      slice: {
        type: "ResourceSlice",
        properties: { ...lab.pair, name: "one", resources: RESOURCES, createVirtualNode: false },
        options: { dependsOn: ["${auth}"] },
      },
      renamedNode: node({ name: "node-one" }),
      movedNode: node({ name: "moved" }),
      moving: offloading({ namespace: "moving" }),
      strategy: offloading({ namespace: "strategy" }),
      chosen: offloading({
        namespace: "chosen",
        namespaceMappingStrategy: "SelectedName",
        remoteNamespaceName: "one",
      }),
      otherUser: user("somebody"),
      otherKey: user("steady"),
      [AGENT]: { type: "Agent", properties: { cluster: { kubeconfig: lone.kubeconfigPath }, ...LONE } },
    };
  }

  const found = async <T extends KubeObject>(
    sides: readonly Side[],
    type: ResourceType<T>,
    describe: (object: T, side: Side) => string | undefined,
  ): Promise<There> => {
    const there = new Map<string, string>();
    for (const side of sides) {
      for (const object of (await lab.servers[side].client.list(type)).items) {
        const text = describe(object, side);
        if (text !== undefined) there.set(object.metadata?.uid ?? "", text);
      }
    }
    return there;
  };
  const offloadingIn = (...namespaces: string[]) =>
    found(["consumer"], NamespaceOffloadingResource, ({ metadata, spec }) => {
      if (!namespaces.includes(metadata.namespace ?? "")) return undefined;
      return [metadata.namespace, spec.namespaceMappingStrategy, spec.remoteNamespaceName].filter(Boolean).join(" ");
    });
  const nodesNamed = (...names: string[]) =>
    found(["consumer"], VirtualNodeResource, ({ metadata, spec }) =>
      names.includes(metadata.name ?? "") ? `${metadata.namespace} ${metadata.name} of ${spec.clusterID}` : undefined,
    );
  const bindingsOf = (...consumers: string[]) =>
    found(["provider"], RoleBindingResource, ({ metadata, subjects = [] }) => {
      const consumer = consumers.find((id) => subjects.some(({ name }) => name.startsWith(`liqo-peer-user-${id}-`)));
      return consumer === undefined || metadata?.namespace === "liqo" ? undefined : consumer;
    });
  /** The agent's identity, with what it is told of its network. */
  const installation = async (): Promise<There> => {
    const { client } = lone;
    const labelSelector = { "app.kubernetes.io/name": "clusterid-configmap" };
    const [identities, networks, fabrics] = await Promise.all([
      client.list(ConfigMapResource, { labelSelector }),
      client.list(NetworkResource).catch((error: unknown) => {
        if (isNotFound(error)) return { items: [] };
        throw error;
      }),
      client.list(DaemonSetResource),
    ]);
    const ranges = networks.items.map(({ metadata, spec }) => `${metadata.name} ${spec.cidr}`).sort();
    const network = fabrics.items.length > 0 ? ranges.join(", ") : "no network";
    return new Map(
      identities.items.map(({ metadata, data }) => [
        metadata?.uid ?? "",
        `${metadata?.namespace} ${data?.["CLUSTER_ID"]}: ${network}`,
      ]),
    );
  };
  const keyOfUser = async (name: string): Promise<string | undefined> => {
    const { stdout } = await stack.pulumi(["stack", "export", "--show-secrets", "--stack", "replacing"]);
    const { deployment } = JSON.parse(stdout) as {
      deployment: { resources: { urn: string; outputs?: { kubeconfig?: { plaintext?: string } } }[] };
    };
    const kubeconfig = deployment.resources.find(({ urn }) => urn.endsWith(`::${name}`))?.outputs?.kubeconfig;
    const { users } = parse(JSON.parse(kubeconfig?.plaintext ?? '""') as string) as {
      users: { user: { "client-key-data": string } }[];
    };
    return createPrivateKey(Buffer.from(users[0]?.user["client-key-data"] ?? "", "base64")).asymmetricKeyType;
  };

  const ranges = (changed: Record<string, string> = {}): string => {
    const usual = { "external-cidr": "10.70.0.0/16", "internal-cidr": "10.80.0.0/16" };
    const all = { ...usual, "pod-cidr": "10.1.0.0/16", "service-cidr": "10.2.0.0/16", ...changed };
    const texts = Object.entries(all).map(([name, cidr]) => `${name} ${cidr}`);
    return texts.sort().join(", ");
  };
  /** Of the one agent, each from the state in which the one before has left it. */
  const agentRows = (): Row[] => {
    const changes: [property: string, value: unknown, after: string][] = [
      ["clusterId", "other", `liqo other: ${ranges()}`],
      ["namespace", "mesh", `mesh other: ${ranges()}`],
      ["podCIDRs", ["10.3.0.0/16"], `mesh other: ${ranges({ "pod-cidr": "10.3.0.0/16" })}`],
      ["serviceCIDR", "10.4.0.0/16", `mesh other: ${ranges(OTHER_RANGES)}`],
      ["externalCIDR", "10.71.0.0/16", `mesh other: ${ranges({ ...OTHER_RANGES, "external-cidr": "10.71.0.0/16" })}`],
      ["internalCIDR", "10.81.0.0/16", `mesh other: ${ranges(ALL_OTHER_RANGES)}`],
      ["networkingEnabled", false, "mesh other: no network"],
    ];
    return changes.map(([property, value, after], index) => ({
      ...{ type: "Agent", property, of: AGENT, to: { [property]: value }, there: installation },
      shows: [changes[index - 1]?.[2] ?? `liqo lone: ${ranges()}`, after],
    }));
  };

  const rows = (): Row[] => [
    {
      ...{ type: "NetworkLink", property: "gatewayServerLocation", of: "link" },
      to: { gatewayServerLocation: "Consumer" },
      there: () => found(SIDES, GatewayServerResource, ({ metadata }, side) => `${side} ${metadata.namespace}`),
      shows: ["provider liqo-tenant-consumer", "consumer liqo-tenant-provider"],
    },
    {
      ...{ type: "ResourceSlice", property: "name", of: "slice" },
      to: { name: "two" },
      there: () => found(SIDES, ResourceSliceResource, ({ metadata }, side) => `${side} ${metadata.name}`),
      shows: ["consumer one, provider one", "consumer two, provider two"],
    },
    {
      ...{ type: "VirtualNode", property: "name", of: "renamedNode" },
      to: { name: "node-two" },
      there: () => nodesNamed("node-one", "node-two"),
      shows: ["liqo-tenant-provider node-one of provider", "liqo-tenant-provider node-two of provider"],
    },
    {
      ...{ type: "VirtualNode", property: "providerClusterId", of: "movedNode" },
      to: { providerClusterId: "third" },
      there: () => nodesNamed("moved"),
      shows: ["liqo-tenant-provider moved of provider", "liqo-tenant-third moved of third"],
    },
    {
      ...{ type: "NamespaceOffloading", property: "namespace", of: "moving" },
      to: { namespace: "moved" },
      there: () => offloadingIn("moving", "moved"),
      shows: ["moving DefaultName", "moved DefaultName"],
    },
    {
      ...{ type: "NamespaceOffloading", property: "namespaceMappingStrategy", of: "strategy" },
      to: { namespaceMappingStrategy: "EnforceSameName" },
      there: () => offloadingIn("strategy"),
      shows: ["strategy DefaultName", "strategy EnforceSameName"],
    },
    {
      ...{ type: "NamespaceOffloading", property: "remoteNamespaceName", of: "chosen" },
      to: { remoteNamespaceName: "two" },
      there: () => offloadingIn("chosen"),
      shows: ["chosen SelectedName one", "chosen SelectedName two"],
    },
    {
      ...{ type: "PeeringUser", property: "consumerClusterId", of: "otherUser" },
      to: { consumerClusterId: "another" },
      there: () => bindingsOf("somebody", "another"),
      shows: ["somebody", "another"],
    },
    {
      ...{ type: "PeeringUser", property: "tlsCompatibilityMode", of: "otherKey" },
      to: { tlsCompatibilityMode: true },
      there: async () => {
        const key = await keyOfUser("otherKey");
        return new Map([...(await bindingsOf("steady"))].map(([uid, consumer]) => [uid, `${consumer} ${key}`]));
      },
      shows: ["steady ed25519", "steady rsa"],
    },
    {
      ...{ type: "Authentication", property: "authzPolicy", of: "auth" },
      to: { authzPolicy: "TolerateNoHandshake", kubeconfig: kubeconfigOf("t0k3n"), userName: "friend" },
      there: () => found(["provider"], TenantResource, ({ spec }) => spec.authzPolicy ?? "KeysExchange"),
      shows: ["KeysExchange", "TolerateNoHandshake"],
    },
  ];

  it("has a row here", () => {
    const declared = registry.resources.flatMap(({ token, replaceOn = [] }) =>
      replaceOn.map((property) => `${token.replace("liqo:index:", "")} ${property}`),
    );
    // What of it replaces depends on both values.
    const wanted = [...declared, "Authentication authzPolicy"];
    const all = [...rows(), ...agentRows()].map(({ type, property }) => `${type} ${property}`);
    expect(all.sort()).to.deep.equal(wanted.sort());
  });

  it("ends what there was, and makes what follows anew, and nothing else", async () => {
    const [first, second, ...others] = agentRows();
    const [authentication, ...changed] = rows().sort(({ of }) => (of === "auth" ? -1 : 1));
    await replace([...changed, first!]);
    // What would be cut off is to be deleted first.
    now = Object.fromEntries(Object.entries(now).filter(([name]) => name !== "slice"));
    await lab.write("replacing", now);
    await stack.up();
    await replace([authentication!, second!]);
    for (const row of others) await replace([row]);
    await stack.refresh({ expectNoChanges: true });
    await stack.preview({ expectNoChanges: true });
  });

  /** One `up` that replaces these resources, and no other. */
  async function replace(changed: readonly Row[]): Promise<void> {
    const before = await Promise.all(changed.map(({ there }) => there()));
    for (const { of, to } of changed) {
      const declared = now[of]!;
      now = { ...now, [of]: { ...declared, properties: { ...declared.properties, ...to } } };
    }
    await lab.write("replacing", now);
    const { stdout } = await stack.up();
    const what = changed.map(({ type, property }) => `${type} ${property}`);
    expect(stdout, what.join()).to.match(new RegExp(`\\b${changed.length} replaced\\b`));
    expect(stdout, what.join()).to.not.match(/\d+ (updated|created|deleted)/);
    await lab.objects();
    for (const [index, { there, shows }] of changed.entries()) {
      const [earlier, later] = [before[index] ?? new Map<string, string>(), await there()];
      expect([textOf(earlier), textOf(later)], what[index]).to.deep.equal(shows);
      const same = [...later.keys()].filter((uid) => earlier.has(uid));
      expect(same, `what of ${what[index]} is the same object as before`).to.deep.equal([]);
    }
  }
});

function textOf(there: There): string {
  return [...there.values()].sort().join(", ");
}
