import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import {
  Annotations,
  ConnectionResource,
  GatewayServerResource,
  Labels,
  ResourceSliceResource,
  TenantResource,
  tenantNamespaceName,
} from "../../../agent/api/index.js";
import { EventResource, RoleBindingResource } from "../../../agent/runtime/index.js";
import { buildAgentBundle } from "../../../scripts/build.js";
import { until } from "../../clusters/support/wait.js";
import { stopAtFirstFailure } from "../../support/stop-at-first-failure.js";
import {
  authenticate,
  copyID,
  makeTenantNamespaces,
  requestSlice,
  sliceID,
  waitForObject,
} from "../authentication/peering.js";
import { startSide, type Side } from "../authentication/side.js";
import { START_LIMIT_MS } from "../support/api-server.js";

const MANAGER = { fieldManager: "test" };
const PATIENCE_MS = 60_000;

interface Line {
  level: number;
  time: string;
  msg: string;
  resource?: string;
  name?: string;
  namespace?: string;
}

/** Two controllers as installations run them: what they tell people of a peering, by events on its objects and in their logs. */
describe("what is told of a peering", function () {
  this.timeout(180_000);
  stopAtFirstFailure();
  let folder: string;
  let consumer: Side;
  let provider: Side;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    folder = await mkdtemp(join(tmpdir(), "liqo-told-"));
    await buildAgentBundle();
    [consumer, provider] = await Promise.all([startSide("consumer", { folder }), startSide("provider", { folder })]);
    await makeTenantNamespaces(consumer, provider);
  });
  after(async () => {
    for (const side of [consumer, provider]) await side?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const told = (side: Side, kind: string, type: "Normal" | "Warning", reason: string): Promise<string> =>
    until(`event ${reason} on the ${kind} in ${side.id}`, PATIENCE_MS, async () => {
      const { items } = await side.client.list(EventResource);
      return items.find(
        (event) => event.involvedObject?.kind === kind && event.type === type && event.reason === reason,
      )?.message;
    });
  const linesOf = (side: Side): Line[] =>
    readFileSync(side.controller.logFile, "utf8")
      .split("\n")
      // Behind the last line's end is what is still being written.
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);

  it("events: accepted, identities made, granted, and that the peer's API server answers", async () => {
    await authenticate(consumer, provider);
    await requestSlice(consumer, provider, { cpu: "2" });
    expect(await told(provider, "Tenant", "Normal", "TenantAccepted")).to.contain("cluster consumer");
    expect(await told(consumer, "Identity", "Normal", "IdentityReady")).to.contain("cluster provider");
    for (const side of [provider, consumer]) {
      await told(side, "ResourceSlice", "Normal", "ResourceSliceAuthenticationAccepted");
      expect(await told(side, "ResourceSlice", "Normal", "ResourcesGranted")).to.contain("cpu 2");
    }
    await told(consumer, "ForeignCluster", "Normal", "APIServerReady");
  });

  it("events: a tunnel that comes, and one that is lost", async () => {
    const id = { name: "provider", namespace: tenantNamespaceName("provider") };
    const metadata = { ...id, labels: { [Labels.remoteClusterID]: "provider" } };
    const spec = {
      type: "Client" as const,
      gatewayRef: { apiVersion: "networking.liqo.io/v1beta1", kind: "GatewayClient", name: "provider" },
    };
    await consumer.client.apply(ConnectionResource, { metadata, spec }, MANAGER);
    const becomes = (value: string) =>
      consumer.client.mergePatch(ConnectionResource, id, { status: { value } }, { ...MANAGER, subresource: "status" });
    await becomes("Connected");
    await told(consumer, "Connection", "Normal", "Connected");
    await told(consumer, "ForeignCluster", "Normal", "ConnectionEstablished");
    await becomes("Error");
    await told(consumer, "Connection", "Warning", "ConnectionLost");
    await told(consumer, "ForeignCluster", "Warning", "ConnectionError");
  });

  it("events: where a gateway server is reached, and where else", async () => {
    const id = { name: "server", namespace: tenantNamespaceName("provider") };
    const metadata = { ...id, labels: { [Labels.remoteClusterID]: "provider" } };
    // No template makes a gateway of it: what is known of its endpoint is what somebody says here.
    const serverTemplateRef = {
      apiVersion: "networking.liqo.io/v1beta1",
      kind: "WgGatewayServerTemplate",
      name: "none",
      namespace: id.namespace,
    };
    const spec = { endpoint: { port: 51840, serviceType: "NodePort" as const }, serverTemplateRef };
    await consumer.client.apply(GatewayServerResource, { metadata, spec }, MANAGER);
    for (const port of [30_512, 30_513]) {
      const status = { endpoint: { addresses: ["192.0.2.7"], port, protocol: "UDP" as const } };
      await consumer.client.mergePatch(GatewayServerResource, id, { status }, { ...MANAGER, subresource: "status" });
      await until(`the event that names port ${port}`, PATIENCE_MS, async () => {
        const { items } = await consumer.client.list(EventResource, { namespace: id.namespace });
        return items.some(
          ({ involvedObject, type, reason, message }) =>
            involvedObject.kind === "GatewayServer" &&
            type === "Normal" &&
            reason === "EndpointKnown" &&
            message?.includes(`192.0.2.7, port ${port}`),
        )
          ? true
          : undefined;
      });
    }
  });

  it("logs: a structured line for each change, and none for a pass that changes nothing", async () => {
    const lines = linesOf(provider);
    const accepted = lines.filter(
      ({ resource, name }) => resource === "tenants.authentication.liqo.io" && name === "consumer",
    );
    expect(accepted.map(({ msg }) => msg)).to.include("changed");
    for (const line of lines) expect(line).to.include.all.keys("level", "time", "msg");
    const namespace = tenantNamespaceName("consumer");
    const bindings = (await provider.client.list(RoleBindingResource, { namespace })).items.map(
      ({ metadata }) => metadata,
    );
    const [binding] = bindings.filter(({ labels } = {}) => labels?.[Labels.remoteClusterID] === "consumer");
    const before = linesOf(provider).length;
    const id = { name: "consumer", namespace };
    for (const look of ["1", "2", "3"]) {
      await provider.client.mergePatch(TenantResource, id, { metadata: { annotations: { look } } }, MANAGER);
    }
    // The same controller's next change: whatever it did before is done by then.
    await provider.client.delete(RoleBindingResource, { name: binding?.name ?? "", namespace });
    await waitForObject(
      provider.client,
      RoleBindingResource,
      { name: binding?.name ?? "", namespace },
      "made anew",
      Boolean,
    );
    const since = await until("the line of the binding", PATIENCE_MS, () => {
      const news = linesOf(provider)
        .slice(before)
        .filter((line) => line.namespace === namespace);
      return Promise.resolve(news.length > 0 ? news : undefined);
    });
    expect(since.map(({ resource, name }) => `${resource} ${name}`)).to.deep.equal([
      `rolebindings.rbac.authorization.k8s.io ${binding?.name}`,
    ]);
  });

  it("events: refused, at either end, when the provider drains its tenant", async () => {
    const tenant = { name: "consumer", namespace: tenantNamespaceName("consumer") };
    await provider.client.mergePatch(TenantResource, tenant, { spec: { tenantCondition: "Cordoned" } }, MANAGER);
    // Tenants and slices come to the provider's controller by two watches: what it has granted says when the first has.
    await waitForObject(provider.client, ResourceSliceResource, copyID(consumer, provider), "its cordon", (copy) =>
      Boolean(copy.metadata.annotations?.[Annotations.cordonTenant]),
    );
    const more = { ...sliceID(provider), name: "more" };
    const present = await consumer.client.get(ResourceSliceResource, sliceID(provider));
    const { labels } = present?.metadata ?? {};
    const spec = { class: "default", providerClusterID: "provider" };
    await consumer.client.apply(ResourceSliceResource, { metadata: { ...more, labels }, spec }, MANAGER);
    await told(provider, "ResourceSlice", "Warning", "ResourceSliceResourcesDenied");
    expect(await told(consumer, "ResourceSlice", "Warning", "ResourceSliceResourcesDenied")).to.contain("cordoned");
    await provider.client.mergePatch(TenantResource, tenant, { spec: { tenantCondition: "Drained" } }, MANAGER);
    await told(provider, "Tenant", "Normal", "ClusterRolesUnbindingSuccess");
    await until("the end of the copy", PATIENCE_MS, async () => {
      const copy = await provider.client.get(ResourceSliceResource, copyID(consumer, provider));
      return copy === undefined || undefined;
    });
  });
});
