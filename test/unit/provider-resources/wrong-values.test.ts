import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import errors from "@pulumi/pulumi/proto/errors_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import rpcStatus from "@pulumi/pulumi/proto/status_pb.js";
import type { ServiceError } from "@grpc/grpc-js";
import { expect } from "chai";
import { registry } from "../../../provider/resources/index.js";
import { Methods, startFakeEngine, toStruct, type FakeEngine } from "../provider/fake-engine.js";
import { settableProperties } from "./properties.js";

/** A wrong value, and what the message says: what is wrong and what is allowed. */
type Case = [wrong: unknown, said: RegExp];

const text: Case = [true, /^must be a text, not true$/];
const number: Case = ["3", /^must be a number, not "3"$/];
const flag: Case = ["yes", /^must be true or false, not "yes"$/];
const list: Case = ["one", /^must be a list, not a text$/];
const map: Case = [["one"], /^must be a map, not a list$/];
const object: Case = [["one"], /^must be an object, not a list$/];
const oneOf = (...values: string[]): Case => [
  "Other",
  new RegExp(`^must be one of ${values.join(", ")}, not "Other"$`),
];
const atLeast = (minimum: number): Case => [
  minimum - 1,
  new RegExp(`^must be at least ${minimum}, not ${minimum - 1}$`),
];
const atMost = (maximum: number): Case => [maximum + 1, new RegExp(`^must be at most ${maximum}, not ${maximum + 1}$`)];
const range: Case = ["10.0.0.1/16", /10\.0\.0\.1\/16.*10\.0\.0\.0\/16/];
const amount: Case = ["8Gigs", /8Gigs.*quantity/];
const label: Case = ["has space", /is not the value of a label: at most 63 letters/];
const name: Case = ["Not_A_Name", /is not a name: at most 63 lower-case letters/m];
const qualifiedName: Case = ["one,other", /"one,other" is not a name: at most 63 letters.*optionally after a DNS name/];
const objectName: Case = ["Not_A_Name", /is not a name: at most 253 lower-case letters/];
const sliceName: Case = ["Not_A_Name", /must be lower-case letters, digits and "-"/];
const clusterId: Case = ["Not_An_ID", /is not a cluster ID: at most 51 lower-case letters/];

const cluster = (property: string): Record<string, Case> => ({
  [property]: object,
  [`${property}.kubeconfig`]: [
    "/no/such/file",
    /^cannot read the kubeconfig "\/no\/such\/file": there is no such file$/,
  ],
  [`${property}.context`]: ["nowhere", /the kubeconfig has no context "nowhere"; there are here/],
});
const metadata: Record<string, Case> = {
  objectLabels: map,
  "objectLabels.key": label,
  objectAnnotations: map,
  "objectAnnotations.key": text,
};
const gateway = (path: string): Record<string, Case> => ({
  [`${path}.templateName`]: objectName,
  [`${path}.templateNamespace`]: name,
  [`${path}.templateKind`]: ["A Kind", /"A Kind" is not a kind: at most 63 letters, digits and "-"/],
  [`${path}.templateApiVersion`]: ["a/b/v1", /"a\/b\/v1" is not an API version: a group and a version/],
  [`${path}.secretRef`]: object,
  [`${path}.secretRef.name`]: objectName,
});
const gateways: Record<string, Case> = {
  gatewayServerLocation: oneOf("Provider", "Consumer"),
  gatewayServer: object,
  "gatewayServer.type": oneOf("LoadBalancer", "NodePort", "ClusterIP"),
  "gatewayServer.port": atMost(65535),
  "gatewayServer.nodePort": atLeast(1),
  "gatewayServer.loadBalancerIP": ["ten", /"ten" is not an IP address/],
  "gatewayServer.loadBalancerClass": qualifiedName,
  "gatewayServer.serviceLabels": map,
  "gatewayServer.serviceLabels.key": label,
  "gatewayServer.serviceAnnotations": map,
  "gatewayServer.serviceAnnotations.key": text,
  ...gateway("gatewayServer"),
  gatewayClient: object,
  "gatewayClient.address": ["10.0.0.999", /neither an IP address nor a DNS name/],
  "gatewayClient.addresses": [[], /^must have at least 1 elements$/],
  "gatewayClient.addresses[0]": ["10.0.0.999", /neither an IP address nor a DNS name/],
  "gatewayClient.port": number,
  ...gateway("gatewayClient"),
  mtu: atLeast(1280),
  keyRotationTrigger: text,
};
const access: Record<string, Case> = { inBand: flag, proxyURL: ["proxy:8118", /is not the URL of a proxy/] };
const tenantCondition = oneOf("Active", "Cordoned", "Drained");
const authzPolicy = oneOf("KeysExchange", "TolerateNoHandshake");
// Of a secret not even a wrong value is shown.
const ownKubeconfig: Case = [
  "s3cr3t",
  /^is no kubeconfig: neither valid YAML nor JSON with clusters, users and contexts$/,
];
const ownAccess = (path: string): Record<string, Case> => ({
  [`${path}authzPolicy`]: authzPolicy,
  [`${path}identityKubeconfig`]: ownKubeconfig,
  [`${path}identityUserName`]: text,
  [`${path}tenantCondition`]: tenantCondition,
});
const term = (path: string): Record<string, Case> => ({
  [path]: object,
  ...requirements(`${path}.matchExpressions`),
  ...requirements(`${path}.matchFields`),
});
const requirements = (path: string): Record<string, Case> => ({
  [path]: list,
  [`${path}[0]`]: object,
  [`${path}[0].key`]: text,
  [`${path}[0].operator`]: oneOf("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
  [`${path}[0].values`]: list,
  [`${path}[0].values[0]`]: text,
});
const affinity = (path: string): Record<string, Case> => {
  const required = `${path}.requiredDuringSchedulingIgnoredDuringExecution`;
  const preferred = `${path}.preferredDuringSchedulingIgnoredDuringExecution`;
  return {
    [path]: object,
    [required]: object,
    [`${required}.nodeSelectorTerms`]: [[], /^must have at least 1 elements$/],
    ...term(`${required}.nodeSelectorTerms[0]`),
    [preferred]: list,
    [`${preferred}[0]`]: object,
    [`${preferred}[0].weight`]: atMost(100),
    ...term(`${preferred}[0].preference`),
  };
};

const request = (path: string): Record<string, Case> => ({
  [`${path}.resourceSliceClass`]: text,
  [`${path}.cpu`]: amount,
  [`${path}.memory`]: amount,
  [`${path}.pods`]: amount,
  [`${path}.resources`]: map,
  [`${path}.resources.key`]: amount,
  [`${path}.createVirtualNode`]: flag,
});

const CASES: Record<string, Record<string, Case>> = {
  Agent: {
    ...cluster("cluster"),
    clusterId,
    namespace: name,
    podCIDRs: [[], /^must have at least 1 elements$/],
    "podCIDRs[0]": range,
    serviceCIDR: range,
    externalCIDR: range,
    internalCIDR: range,
    reservedSubnets: list,
    "reservedSubnets[0]": range,
    ipamPools: [[], /^must have at least 1 elements$/],
    "ipamPools[0]": range,
    apiServerAddress: text,
    apiServerCA: text,
    trustedCA: flag,
    tlsCompatibilityMode: flag,
    clusterLabels: map,
    "clusterLabels.key": label,
    networkingEnabled: flag,
    apiServerProxy: flag,
    defaultNodeResources: map,
    "defaultNodeResources.key": amount,
    defaultResourceSliceClassEnabled: flag,
    resourceEnforcement: flag,
    defaultLimitsEnforcement: oneOf("None", "Soft", "Hard"),
    storageEnabled: flag,
    realStorageClass: objectName,
    ingressClasses: list,
    "ingressClasses[0]": objectName,
    loadBalancerClasses: list,
    "loadBalancerClasses[0]": qualifiedName,
    pingIntervalSeconds: atMost(3600),
    pingTimeoutSeconds: atLeast(1),
    image: ["", /^must have at least 1 characters$/],
    imagePullPolicy: oneOf("Always", "IfNotPresent", "Never"),
    imagePullSecrets: list,
    "imagePullSecrets[0]": name,
    replicas: atLeast(1),
    gatewayReplicas: atMost(9),
    labels: map,
    "labels.key": label,
    annotations: map,
    "annotations.key": text,
    forceDelete: flag,
  },
  NetworkLink: {
    ...cluster("consumer"),
    ...cluster("provider"),
    ...gateways,
    disableSharingKeys: flag,
    ...metadata,
    forceUnreachable: flag,
  },
  Authentication: {
    ...cluster("consumer"),
    ...cluster("provider"),
    ...access,
    authzPolicy,
    kubeconfig: ownKubeconfig,
    userName: text,
    tenantCondition,
    ...metadata,
    forceUnreachable: flag,
  },
  ResourceSlice: {
    ...cluster("consumer"),
    ...cluster("provider"),
    name: sliceName,
    class: text,
    resources: map,
    "resources.key": amount,
    createVirtualNode: flag,
    cordoned: flag,
    ...metadata,
    forceUnreachable: flag,
  },
  VirtualNode: {
    ...cluster("cluster"),
    name: sliceName,
    providerClusterId: clusterId,
    resourceSliceName: sliceName,
    kubeconfigSecretName: objectName,
    resources: map,
    "resources.key": amount,
    labels: map,
    "labels.key": label,
    annotations: map,
    "annotations.key": text,
    taints: list,
    "taints[0]": object,
    "taints[0].key": qualifiedName,
    "taints[0].value": label,
    "taints[0].effect": oneOf("NoSchedule", "PreferNoSchedule", "NoExecute"),
    nodeSelector: map,
    "nodeSelector.key": label,
    ...affinity("nodeAffinity"),
    tolerations: list,
    "tolerations[0]": object,
    "tolerations[0].key": qualifiedName,
    "tolerations[0].operator": oneOf("Equal", "Exists"),
    "tolerations[0].value": label,
    "tolerations[0].effect": oneOf("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "tolerations[0].tolerationSeconds": atLeast(0),
    labelsNotReflected: list,
    "labelsNotReflected[0]": qualifiedName,
    annotationsNotReflected: list,
    "annotationsNotReflected[0]": qualifiedName,
    storageClasses: list,
    "storageClasses[0]": objectName,
    ingressClasses: list,
    "ingressClasses[0]": objectName,
    loadBalancerClasses: list,
    "loadBalancerClasses[0]": qualifiedName,
    runtimeClassName: objectName,
    vkOptionsTemplateName: objectName,
    vkOptionsTemplateNamespace: name,
    template: [{ replicas: 3 }, /^must be an object with "metadata" and "spec" as a Deployment has them$/],
    images: list,
    "images[0]": object,
    "images[0].names": [[], /^must have at least 1 elements$/],
    "images[0].names[0]": ["", /^must have at least 1 characters$/],
    "images[0].sizeBytes": atLeast(0),
    createNode: flag,
    disableNetworkCheck: flag,
    ...metadata,
  },
  NamespaceOffloading: {
    ...cluster("cluster"),
    namespace: name,
    createNamespace: flag,
    namespaceMappingStrategy: oneOf("DefaultName", "EnforceSameName", "SelectedName"),
    remoteNamespaceName: name,
    podOffloadingStrategy: oneOf("LocalAndRemote", "Local", "Remote"),
    clusterSelector: object,
    "clusterSelector.nodeSelectorTerms": list,
    ...term("clusterSelector.nodeSelectorTerms[0]"),
    evictionAfterDisconnect: ["5m", /^"5m" is neither whole seconds, from "0" to "999999999", nor "never"$/],
    // A number is taken as text.
    evictionAfterUnschedulable: [1.5, /^"1\.5" is neither whole seconds, from "0" to "999999999", nor "never"$/],
    deleteRemoteVolumes: flag,
    apiServerSupport: oneOf("remote", "disabled"),
    ...metadata,
  },
  PeeringUser: {
    ...cluster("cluster"),
    consumerClusterId: clusterId,
    apiServer: ["http://x", /is not a URL that begins with https:/],
    tlsCompatibilityMode: flag,
    expirationSeconds: atLeast(600),
    ...metadata,
  },
  Peering: {
    ...cluster("consumer"),
    ...cluster("provider"),
    bidirectional: flag,
    networkingDisabled: flag,
    ...gateways,
    ...access,
    createResourceSlice: flag,
    createVirtualNode: flag,
    resourceSliceName: sliceName,
    resourceSliceClass: text,
    cpu: amount,
    memory: amount,
    pods: amount,
    resources: map,
    "resources.key": amount,
    authenticationDisabled: flag,
    additionalResourceSlices: list,
    "additionalResourceSlices[0]": object,
    "additionalResourceSlices[0].name": sliceName,
    ...request("additionalResourceSlices[0]"),
    reverse: object,
    "reverse.resourceSliceName": sliceName,
    "reverse.createResourceSlice": flag,
    ...request("reverse"),
    ...ownAccess(""),
    ...ownAccess("reverse."),
    ...metadata,
    forceUnreachable: flag,
  },
  Provider: {
    // Of a secret not even a wrong value is shown.
    kubeconfig: [true, /^must be a text$/],
    context: text,
    skipVersionCheck: flag,
    globalLabels: map,
    "globalLabels.key": label,
    globalAnnotations: map,
    "globalAnnotations.key": text,
    deleteUnreachable: flag,
    skipUpdateUnreachable: flag,
  },
};

/** A component's kubeconfigs are its children's to read. */
const LEFT_TO_CHILDREN = /^(consumer|provider)\.(kubeconfig|context)$/;

describe("wrong values", function () {
  this.timeout(60_000);
  let engine: FakeEngine;
  let server: http.Server;
  let kubeconfig: string;

  before(async () => {
    engine = await startFakeEngine(registry);
    await engine.call(Methods.configure, new proto.ConfigureRequest());
    // It answers and has nothing: enough for checks of what is not about the cluster.
    server = http.createServer((_, response) => response.end('{"metadata":{},"items":[]}')).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    kubeconfig = JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "here",
      clusters: [{ name: "here", cluster: { server: url, "insecure-skip-tls-verify": true } }],
      users: [{ name: "here", user: {} }],
      contexts: [{ name: "here", context: { cluster: "here", user: "here" } }],
    });
  });
  after(async () => {
    await engine?.stop();
    server?.closeAllConnections();
    server?.close();
  });

  it("have a case for every property that there is, and for no other", () => {
    const there = settableProperties().map(({ owner, path }) => `${owner} ${path}`);
    const cases = Object.entries(CASES).flatMap(([owner, rows]) => Object.keys(rows).map((path) => `${owner} ${path}`));
    expect(cases.sort()).to.deep.equal(there.sort());
  });

  /** What is wrong with inputs, by path. */
  async function failures(owner: string, inputs: Record<string, unknown>): Promise<Record<string, string>> {
    if (owner === "Peering") return componentFailures(inputs);
    const request = new proto.CheckRequest();
    request.setUrn(`urn:pulumi:dev::p::liqo:index:${owner}::it`);
    request.setNews(toStruct(inputs));
    const response = await engine.call(owner === "Provider" ? Methods.checkConfig : Methods.check, request);
    const reasons: Record<string, string> = {};
    for (const one of response.getFailuresList()) {
      const property = one.getProperty();
      reasons[property] = [reasons[property], one.getReason()].filter(Boolean).join("\n");
    }
    return reasons;
  }

  async function componentFailures(inputs: Record<string, unknown>): Promise<Record<string, string>> {
    const request = new proto.ConstructRequest();
    request.setType("liqo:index:Peering");
    request.setName("it");
    request.setInputs(toStruct(inputs));
    const error = await engine.call(Methods.construct, request).then(
      () => undefined,
      (failure: unknown) => failure as ServiceError,
    );
    const [bytes] = error?.metadata.get("grpc-status-details-bin") ?? [];
    const [detail] = bytes ? rpcStatus.Status.deserializeBinary(bytes as Buffer).getDetailsList() : [];
    const list = detail ? errors.InputPropertiesError.deserializeBinary(detail.getValue_asU8()).getErrorsList() : [];
    return Object.fromEntries(list.map((one) => [one.getPropertyPath(), one.getReason()]));
  }

  for (const [owner, rows] of Object.entries(CASES)) {
    it(`of ${owner} are refused one by one, with path, what is wrong and what is allowed`, async () => {
      for (const [path, [wrong, said]] of Object.entries(rows)) {
        if (owner === "Peering" && LEFT_TO_CHILDREN.test(path)) continue;
        const inputs = inputsWith(path, wrong);
        if (path.endsWith(".context")) inputs[path.split(".")[0] ?? ""] = { kubeconfig, context: wrong };
        else if (owner !== "Provider") fillClusters(inputs, owner, kubeconfig);
        const reasons = await failures(owner, inputs);
        expect(reasons[path], `${owner} ${path}: ${JSON.stringify(reasons)}`).to.match(said);
      }
    });
  }

  it("are all reported at once", async () => {
    const inputs = { mtu: 100, gatewayServer: { port: 0, type: "Other" }, objectLabels: { key: "has space" } };
    expect(Object.keys(await failures("NetworkLink", inputs))).to.include.members([
      "mtu",
      "gatewayServer.port",
      "gatewayServer.type",
      "objectLabels.key",
    ]);
  });

  it("of an identity that the program brings along are told with its path, and never the kubeconfig itself", async () => {
    const config = (cluster: object, user: object, rest: object = {}) => ({
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
      clusters: [{ name: "x", cluster: { server: "https://east.example.com", ...cluster } }],
      users: [{ name: "x", user }],
      ...rest,
    });
    const policy = "TolerateNoHandshake";
    const reasonsOf = async (given: object): Promise<Record<string, string>> => {
      const inputs = { ...given };
      fillClusters(inputs, "Authentication", kubeconfig);
      return failures("Authentication", inputs);
    };
    const ofKubeconfig = async (given?: unknown): Promise<string | undefined> =>
      (await reasonsOf({ authzPolicy: policy, ...(given ? { kubeconfig: given } : {}) }))["kubeconfig"];
    const token = { token: "s3cr3t" };
    expect(await ofKubeconfig(config({}, token)), "as an object").to.equal(undefined);
    expect(await ofKubeconfig(JSON.stringify(config({}, token))), "as text").to.equal(undefined);
    expect(await ofKubeconfig()).to.equal("is required with authzPolicy TolerateNoHandshake");
    expect(await ofKubeconfig(config({}, { tokenFile: "/var/s3cr3t" })))
      .to.contain("the user of its current context names a file in tokenFile: embed it")
      .and.not.contain("s3cr3t");
    expect(await ofKubeconfig(config({ "certificate-authority": "ca.crt" }, token))).to.contain(
      "certificate-authority",
    );
    expect(await ofKubeconfig(config({ server: "http://east" }, token))).to.contain("no server URL");
    expect(await ofKubeconfig(config({}, token, { "current-context": "" }))).to.equal("has no current-context");
    expect(await ofKubeconfig(config({}, token, { users: [] }))).to.equal(
      "its current context lacks its cluster or user",
    );
    expect(await reasonsOf({ kubeconfig: config({}, token), userName: "friend" })).to.include.keys(
      "kubeconfig",
      "userName",
    );
    const peering = { reverse: { authzPolicy: policy, identityUserName: "friend" }, authzPolicy: policy };
    fillClusters(peering, "Peering", kubeconfig);
    expect(Object.keys(await failures("Peering", peering))).to.have.members([
      "identityKubeconfig",
      "reverse.identityKubeconfig",
    ]);
  });

  it("of an agent's ranges that overlap each other are told by path, with the other one", async () => {
    const inputs = {
      podCIDRs: ["10.0.0.0/16", "10.1.0.0/16"],
      serviceCIDR: "10.1.128.0/17",
      externalCIDR: "10.0.0.0/8",
    };
    const reasons = await failures("Agent", inputs);
    expect(reasons["externalCIDR"]).to.equal("10.0.0.0/8 overlaps serviceCIDR (10.1.128.0/17)");
    expect(reasons["podCIDRs[0]"]).to.equal("10.0.0.0/16 overlaps externalCIDR (10.0.0.0/8)");
    expect(reasons["podCIDRs[1]"]).to.equal("10.1.0.0/16 overlaps serviceCIDR (10.1.128.0/17)");
  });

  it("of an agent's labels and resources are told by key, and so are keys that objects are found by; of its cluster those are none", async () => {
    const reasons = await failures("Agent", {
      // Lists of them are what the controller is given.
      defaultNodeResources: { "cpu,memory": "1", "example.com/gpu": "1" },
      clusterLabels: { "topology.kubernetes.io/region": "eu,west", "a=b": "c", "liqo.io/provider": "kind" },
      labels: { "liqo.io/managed": "false", "app.kubernetes.io/part-of": "shop", long: "x".repeat(64) },
      annotations: { "link.pulumi-liqo/consumer": "true", "no key": "x" },
    });
    expect(reasons['defaultNodeResources["cpu,memory"]']).to.contain("is not a name: at most 63 letters");
    expect(reasons).to.not.have.property('defaultNodeResources["example.com/gpu"]');
    expect(reasons['clusterLabels["topology.kubernetes.io/region"]']).to.contain("is not the value of a label");
    expect(reasons['clusterLabels["a=b"]']).to.contain("is not a key");
    expect(reasons).to.not.have.property('clusterLabels["liqo.io/provider"]');
    expect(reasons['labels["liqo.io/managed"]']).to.contain("set by this package itself");
    expect(reasons['labels["app.kubernetes.io/part-of"]']).to.contain("set by this package itself");
    expect(reasons["labels.long"]).to.contain("is not the value of a label");
    expect(reasons['annotations["link.pulumi-liqo/consumer"]']).to.contain("set by this package itself");
    expect(reasons['annotations["no key"]']).to.contain("is not a key");
  });

  it("end with the engine's Cancel, too", () => engine.call(Methods.cancel, new empty.Empty()));
});

/** { a: { b: [value] } } for "a.b[0]". */
function inputsWith(path: string, value: unknown): Record<string, unknown> {
  const parts = path.split(/\.|(?=\[)/);
  return parts.reduceRight<unknown>((inner, part) => (part === "[0]" ? [inner] : { [part]: inner }), value) as Record<
    string,
    unknown
  >;
}

function fillClusters(inputs: Record<string, unknown>, owner: string, kubeconfig: string): void {
  const names = ["NetworkLink", "Authentication", "ResourceSlice", "Peering"].includes(owner)
    ? ["consumer", "provider"]
    : ["cluster"];
  for (const name of names) inputs[name] ??= { kubeconfig };
}
