import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import fc from "fast-check";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Secret } from "kubernetes-types/core/v1";
import { parse } from "yaml";
import {
  DataKeys,
  Labels,
  NamespaceMapResource,
  ResourceSliceResource,
  VirtualNodeResource,
  tenantNamespaceName,
  type ResourceSlice,
  type VirtualNode,
} from "../../../agent/api/index.js";
import {
  DeploymentResource,
  KubeError,
  keyOf,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { buildAgentBundle } from "../../../scripts/build.js";
import { until } from "../../clusters/support/wait.js";
import { readEverything } from "../../support/listing.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { copyID, makeTenantNamespaces, peerWithNode, sliceID, waitForObject, waitUntilGone } from "./peering.js";
import { startSide, type Side } from "./side.js";

/** Statuses of each kind; the same ones in each run, so that a failure can be repeated. */
const STATUSES = 40;
const SEED = 20_261_121;
const DEADLINE_MS = 40_000;

/** Texts that mean something to whoever trusts them. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.constantFrom(
    "",
    "../../../etc/passwd",
    "kube-system",
    "default",
    "liqo",
    "$(id)",
    "{{ .Values }}",
    "a\n---\nb: c",
  ),
  fc.constantFrom("system:masters", "__proto__", "constructor", "x".repeat(5_000)),
);
const url = fc.constantFrom(
  "https://169.254.169.254/latest",
  "https://10.90.0.1",
  "http://127.0.0.1:8080",
  "unix:///run/containerd/containerd.sock",
  "file:///etc/passwd",
);
const base64 = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const quantity = fc.oneof(
  fc.constantFrom("-1", "1e99", "0", "NaN", "1Ei", "9999999999999999999", "4"),
  fc.integer({ min: -9, max: 9 }),
);
const labelKey = fc.oneof(
  text,
  fc.constantFrom(
    "node-role.kubernetes.io/control-plane",
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "liqo.io/type",
    "kubernetes.io/hostname",
    "example.com/tier",
  ),
);
const labels = fc.dictionary(labelKey, text, { maxKeys: 6 });
const offers = (name: string): fc.Arbitrary<unknown> =>
  fc.array(fc.record({ [name]: text, default: fc.boolean() }), { maxLength: 3 });
const awsConfig = fc.record({
  awsUserArn: text,
  awsAccessKeyID: text,
  awsSecretAccessKey: text,
  awsRegion: text,
  awsClusterName: text,
});
const authParams = fc.record(
  { ca: base64, signedCRT: base64, apiServer: fc.oneof(url, text), proxyURL: fc.oneof(url, text), awsConfig },
  { requiredKeys: [] },
);
const conditions = fc.uniqueArray(
  fc.record({
    type: fc.constantFrom("Authentication", "Resources"),
    status: fc.constantFrom("Accepted", "Accepted", "Denied"),
    reason: text,
    message: text,
  }),
  { selector: ({ type }) => type, maxLength: 2 },
);
const sliceStatus = fc.record(
  {
    conditions,
    resources: fc.dictionary(fc.oneof(fc.constantFrom("cpu", "memory", "pods"), text), quantity, { maxKeys: 6 }),
    authParams,
    storageClasses: offers("storageClassName"),
    ingressClasses: offers("ingressClassName"),
    loadBalancerClasses: offers("loadBalancerClassName"),
    nodeLabels: labels,
    nodeSelector: labels,
  },
  { requiredKeys: ["conditions"] },
);
const namespaceMapStatus = fc.record({
  currentMapping: fc.dictionary(
    fc.oneof(fc.constantFrom("kube-system", "default", "liqo"), text),
    fc.record({ remoteNamespace: text, phase: fc.constantFrom("Accepted", "CreationLoopBackOff", "Terminating") }),
    { maxKeys: 6 },
  ),
});

/**
 * The provider's owner writes whatever the types of the fields allow into what the consumer reads. The consumer runs its controller as an
 * installation does, with an installation's rights.
 */
describe("a provider that is hostile", function () {
  this.timeout(300_000);
  let folder: string;
  let consumer: Side;
  let provider: Side;
  let tenantNamespace: string;
  let baseline: Map<string, KubeObject>;
  let honest: ResourceSlice["status"];

  before(async function () {
    this.timeout(START_LIMIT_MS);
    folder = await mkdtemp(join(tmpdir(), "liqo-hostile-"));
    await buildAgentBundle();
    [consumer, provider] = await Promise.all([startSide("consumer", { folder }), startSide("provider", { folder })]);
    tenantNamespace = tenantNamespaceName(provider.id);
    await makeTenantNamespaces(consumer, provider);
    await peerWithNode(consumer, provider, { cpu: "1" });
    // Its own controller would put right what its owner is about to write.
    await provider.controller.stop();
    honest = (await sliceOf(provider.client, copyID(consumer, provider))).status;
    baseline = await settled();
  });

  after(async () => {
    for (const side of [consumer, provider]) await side?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("changes nothing but its own by what it says of slices", async () => {
    // Most of what is wrong in several fields is acted upon in none: half are what an honest provider says, but for one field.
    const oneField = fc
      .tuple(sliceStatus, fc.constantFrom("resources", "authParams", "storageClasses", "nodeLabels", "nodeSelector"))
      .map(([status, field]) => ({ ...honest, [field]: status[field] }));
    const taken = await writeEach(ResourceSliceResource, fc.oneof(sliceStatus, oneField));
    expect(taken, "statuses that the types allow").to.be.greaterThan(STATUSES / 4);
  });

  it("nor by which namespaces it says it has made", async () => {
    const taken = await writeEach(NamespaceMapResource, namespaceMapStatus);
    expect(taken, "statuses that the types allow").to.be.greaterThan(STATUSES / 4);
  });

  it("nor by copies of what nobody has asked for", async () => {
    const copy = await sliceOf(provider.client, copyID(consumer, provider));
    const forged = { ...copyID(consumer, provider), name: "forged" };
    const { labels: copied, annotations } = copy.metadata;
    await provider.client.create(ResourceSliceResource, {
      ...copy,
      metadata: { ...forged, labels: copied, annotations },
    });
    // The consumer takes away what bears its name and has no source.
    await waitUntilGone(provider.client, ResourceSliceResource, forged);
    expectOnlyItsOwn(await readEverything(consumer.client));
  });

  it("and is what it was once it says what it said before", async () => {
    await write(ResourceSliceResource, honest);
    await until("the same objects as before", DEADLINE_MS, async () => {
      const now = await readEverything(consumer.client);
      expect([...now.keys()].filter(isSteady).sort()).to.deep.equal([...baseline.keys()].filter(isSteady).sort());
      const [was, is] = [baseline, now].map(virtualNode);
      expect(is).to.be.an("object").that.deep.equals(was);
      return true;
    });
  });

  /** Writes each generated status, waits until the consumer has it, and looks at everything. Gives how many the types allowed. */
  async function writeEach(type: ResourceType<KubeObject>, statuses: fc.Arbitrary<unknown>): Promise<number> {
    let taken = 0;
    for (const status of fc.sample(statuses, { numRuns: STATUSES, seed: SEED })) {
      if (!(await write(type, status))) continue;
      taken += 1;
      expectOnlyItsOwn(await readEverything(consumer.client));
    }
    expectOnlyItsOwn(await settled());
    expect(consumer.controller.failure, "the consumer's controller").to.equal(undefined);
    return taken;
  }

  /** False if the types refuse it. */
  async function write(type: ResourceType<KubeObject>, status: unknown): Promise<boolean> {
    const id = copyID(consumer, provider);
    const copy = await provider.client.get(type, id);
    let written: KubeObject;
    try {
      written = await provider.client.replaceStatus(type, { ...copy, status } as KubeObject);
    } catch (error) {
      if (error instanceof KubeError && error.code === 422) return false;
      throw error;
    }
    await waitForObject(consumer.client, type, sliceID(provider), "what the provider says", (source) =>
      isDeepStrictEqual(statusOf(source), statusOf(written)),
    );
    return true;
  }

  async function settled(): Promise<Map<string, KubeObject>> {
    let last: Map<string, KubeObject> | undefined;
    return until(
      "two equal looks",
      DEADLINE_MS,
      async () => {
        const earlier = last && versions(last);
        last = await readEverything(consumer.client);
        return isDeepStrictEqual(earlier, versions(last)) ? last : undefined;
      },
      500,
    );
  }

  /** Outside its tenant namespace nothing has changed; within, only the objects of the peering, and of them nothing that runs or permits. */
  function expectOnlyItsOwn(now: Map<string, KubeObject>): void {
    expect(outside(now)).to.deep.equal(outside(baseline));
    const within = (objects: Map<string, KubeObject>): string[] => [...objects.keys()].filter(isWithin);
    expect(within(now).filter((name) => !baseline.has(name))).to.deep.equal([]);
    expect(permissions(now)).to.deep.equal(permissions(baseline));
    expect(podsOf(now)).to.deep.equal(podsOf(baseline));
    expect(Object.keys(virtualNode(now)?.labels ?? {}).filter(decidesSomething)).to.deep.equal([]);
    for (const [name, object] of now)
      if (isWithin(name) && name.startsWith("secrets ")) expectCertificateOnly(object as Secret);
  }

  const isWithin = (name: string): boolean => name.includes(` ${tenantNamespace}/`);

  function outside(objects: Map<string, KubeObject>): Record<string, string | undefined> {
    return versions(new Map([...objects].filter(([name]) => !isWithin(name))));
  }

  function permissions(objects: Map<string, KubeObject>): Record<string, string | undefined> {
    const kinds = ["roles.", "rolebindings.", "serviceaccounts "];
    return versions(
      new Map([...objects].filter(([name]) => isWithin(name) && kinds.some((kind) => name.startsWith(kind)))),
    );
  }

  function podsOf(objects: Map<string, KubeObject>): unknown[] {
    const prefix = `${DeploymentResource.plural}.apps `;
    const deployments = [...objects].filter(([name]) => isWithin(name) && name.startsWith(prefix));
    return deployments.map(([, object]) => (object as Deployment).spec);
  }

  function virtualNode(objects: Map<string, KubeObject>): VirtualNode["spec"] | undefined {
    const { plural, group } = VirtualNodeResource;
    const { name, namespace } = sliceID(provider);
    return (objects.get(`${plural}.${group} ${namespace}/${name}`) as VirtualNode | undefined)?.spec;
  }
});

/** Who leads, and the status of the peering itself, which is the provider's to influence. */
const isSteady = (name: string): boolean => !/^(leases|foreignclusters)\./.test(name);

/** Whether the cluster itself goes by a node's label of this name. */
function decidesSomething(key: string): boolean {
  return key !== Labels.remoteClusterID && /^([^/]*\.)?(kubernetes|k8s|liqo)\.io\//.test(key);
}

function versions(objects: Map<string, KubeObject>): Record<string, string | undefined> {
  return Object.fromEntries(
    [...objects].filter(([name]) => isSteady(name)).map(([name, { metadata }]) => [name, metadata?.resourceVersion]),
  );
}

/** A kubeconfig may make its reader run programs, read files, or hand out other credentials. */
function expectCertificateOnly(secret: Secret): void {
  const kubeconfig = secret.data?.[DataKeys.kubeconfig];
  if (kubeconfig === undefined) return;
  const { users } = parse(Buffer.from(kubeconfig, "base64").toString()) as { users: { user: object }[] };
  for (const { user } of users)
    expect(Object.keys(user), keyOf(secret)).to.have.members(["client-certificate-data", "client-key-data"]);
}

function statusOf(object: KubeObject): unknown {
  return (object as { status?: unknown }).status;
}

async function sliceOf(client: KubeClient, id: { name: string; namespace: string }): Promise<ResourceSlice> {
  const slice = await client.get(ResourceSliceResource, id);
  if (!slice) throw new Error(`there is no ResourceSlice ${id.namespace}/${id.name}`);
  return slice;
}
