import { expect } from "chai";
import {
  ForeignClusterResource,
  IdentityResource,
  ResourceSliceResource,
  controlPlaneIdentityName,
  tenantNamespaceName,
  type ForeignCluster,
  type ResourceSlice,
} from "../../../agent/api/index.js";
import { Informer, findCondition } from "../../../agent/runtime/index.js";
import { startRelay, type Relay } from "../support/relay.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { startControlPlane, type ControlPlane } from "./control-plane.js";
import {
  authenticate,
  bePatient,
  copyID,
  isAccepted,
  makeTenantNamespaces,
  requestSlice,
  sliceID,
  unpeer,
  waitForObject,
  waitUntilGone,
} from "./peering.js";

/** Looks so rarely that only the connection that is kept can tell in time. */
const PING = { pingIntervalSeconds: 600, pingTimeoutSeconds: 5 };

/** How long the API server is away, in milliseconds: longer than watches, leases and retries of any kind bridge by themselves. */
const AWAY_MS = 120_000;

/** One consumer with two providers, of which one goes away. */
describe("a provider's API server that is away for a while", function () {
  this.timeout(180_000);
  let consumer: ControlPlane;
  let away: ControlPlane;
  let other: ControlPlane;
  let relay: Relay;
  let cutAt = 0;
  /** What the consumer has said of its providers while one is away, by cluster ID. */
  const seen = new Map<string, Set<string>>();
  let statuses: Informer<ForeignCluster>;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    relay = await startRelay(() => away.server.url);
    const apiServerAddress = `https://127.0.0.1:${relay.port}`;
    [consumer, away, other] = await Promise.all([
      startControlPlane("consumer", PING),
      startControlPlane("away", { ...PING, apiServerAddress }),
      startControlPlane("other", PING),
    ]);
    statuses = new Informer(consumer.client, ForeignClusterResource).onEvent(({ object }) => {
      const { name = "" } = object.metadata;
      const status = findCondition(object.status?.conditions, "APIServerStatus")?.status ?? "unknown";
      seen.set(name, (seen.get(name) ?? new Set()).add(status));
    });
    for (const provider of [away, other]) {
      await makeTenantNamespaces(consumer, provider);
      await authenticate(consumer, provider);
      await requestSlice(consumer, provider, { cpu: "1" });
      await waitForPeer(provider, "Established");
    }
  });

  after(async () => {
    await statuses?.stop();
    await Promise.all([consumer?.stop(), away?.stop(), other?.stop()]);
    relay?.close();
  });

  it("shows within seconds although no connection was closed", async () => {
    await askForSpareSlice();
    const cut = Date.now();
    cutAt = cut;
    relay.freeze();
    await waitForPeer(away, "Error");
    statuses.start();
    console.log(`      status after ${Date.now() - cut} ms`);
  });

  it("holds up no other provider", async () => {
    // Both hang at the provider that is away, as does the end of the spare one.
    await consumer.client.mergePatch(ResourceSliceResource, sliceID(away), { spec: { resources: { cpu: "5" } } });
    await consumer.client.delete(ResourceSliceResource, spareID());
    const started = Date.now();
    for (const cpu of ["2", "3", "4"]) await requestSlice(consumer, other, { cpu });
    console.log(`      three renegotiations with another: ${Date.now() - started} ms`);
    await waitForPeer(other, "Established");
    const [slice, spare] = [await sliceOf(sliceID(away)), await sliceOf(spareID())];
    expect(slice && isAccepted(slice), "the grant in force").to.equal(true);
    expect(slice?.status?.resources?.["cpu"]).to.equal("1");
    expect(spare?.metadata.deletionTimestamp, "waits for its copy").to.be.a("string");
  });

  it("loses nothing in two minutes, though the API server ends and starts anew, and the status is true all the while", async function () {
    this.timeout(AWAY_MS + START_LIMIT_MS);
    await away.server.crash();
    await requestSlice(consumer, other, { cpu: "5" });
    await new Promise((resolve) => setTimeout(resolve, cutAt + AWAY_MS - Date.now()));
    await away.server.recover();
    expect([...(seen.get(away.id) ?? [])], "while it was away").to.deep.equal(["Error"]);
    expect([...(seen.get(other.id) ?? [])], "of the other").to.deep.equal(["Established"]);
    const unchanged = await sliceOf(sliceID(away));
    expect(unchanged && isAccepted(unchanged), "the grant in force").to.equal(true);
    const back = Date.now();
    relay.thaw();
    await waitForPeer(away, "Established");
    console.log(`      status after ${Date.now() - back} ms`);
    // Watches of the API server that was away are asked for anew after up to 10 s, at either end.
    for (const { client } of [consumer, away]) bePatient(client, 120_000);
    await waitForObject(
      consumer.client,
      ResourceSliceResource,
      sliceID(away),
      "what was asked for meanwhile",
      (slice) => isAccepted(slice) && slice.status?.resources?.["cpu"] === "5",
    );
    await waitUntilGone(consumer.client, ResourceSliceResource, spareID());
    await waitUntilGone(away.client, ResourceSliceResource, { ...copyID(consumer, away), name: "spare" });
    const identity = { name: controlPlaneIdentityName(away.id), namespace: tenantNamespaceName(away.id) };
    expect(await consumer.client.get(IdentityResource, identity)).not.to.equal(undefined);
  });

  it("can be left as ever", async () => {
    for (const provider of [away, other]) {
      await unpeer(consumer, provider);
      await waitUntilGone(consumer.client, ForeignClusterResource, { name: provider.id });
    }
  });

  async function askForSpareSlice(): Promise<void> {
    const slice = await sliceOf(sliceID(away));
    const { labels } = slice?.metadata ?? {};
    await consumer.client.create(
      ResourceSliceResource,
      ResourceSliceResource.build({ metadata: { ...spareID(), labels }, spec: { class: "default" } }),
    );
    await waitForObject(consumer.client, ResourceSliceResource, spareID(), "acceptance", isAccepted);
  }

  function spareID(): { name: string; namespace: string } {
    return { ...sliceID(away), name: "spare" };
  }

  function sliceOf(id: { name: string; namespace: string }): Promise<ResourceSlice | undefined> {
    return consumer.client.get(ResourceSliceResource, id);
  }

  async function waitForPeer({ id }: ControlPlane, status: string): Promise<void> {
    await waitForObject(
      consumer.client,
      ForeignClusterResource,
      { name: id },
      status,
      (foreign) => findCondition(foreign.status?.conditions, "APIServerStatus")?.status === status,
    );
  }
});
