import { expect } from "chai";
import { Labels, tenantNamespaceName } from "../../../agent/api/index.js";
import { EventResource, NamespaceResource, PodResource, type ResourceType } from "../../../agent/runtime/index.js";
import { START_LIMIT_MS, type ApiServer } from "../support/api-server.js";
import { failureOf, Plugin } from "./support/plugin.js";
import { setStatus } from "./support/simulated-agents.js";
import { startSimulatedPair, WEST_AND_EAST, type SimulatedPair } from "./support/simulated-pair.js";

const MANAGER = { fieldManager: "test" };
/** Time for both gateways to be asked for, and then in vain for their pods. */
const SECONDS = 20;
const REPLICA_SETS: ResourceType = {
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
};

/** Real API servers whose simulated agents never get a gateway to run: what a time-out tells of the reasons, which lie in either cluster. */
describe("a time-out", function () {
  this.timeout(120_000);
  let consumer: ApiServer;
  let provider: ApiServer;
  let simulated: SimulatedPair;
  let plugin: Plugin;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    simulated = await startSimulatedPair({ names: WEST_AND_EAST, gatewaysRun: false });
    ({ consumer, provider } = simulated.servers);
    plugin = await Plugin.start();
  });
  after(async () => {
    await plugin?.stop();
    await simulated?.stop();
  });

  it("names an image that cannot be pulled, the pod's latest warning, and a quota that allows no pod, each with its cluster", async () => {
    await podThatWaits(provider, tenantNamespaceName("consumer"), "consumer");
    await podDenied(consumer, tenantNamespaceName("provider"), "provider");
    const { message, partial } = await failureOf(plugin.create("NetworkLink", { ...simulated.clusters }, SECONDS));
    expect(message).to.match(
      /cluster east: waited \d+ s in vain for .*pod gateway-0 is Pending, container gateway: ImagePullBackOff: no such image, last warning: FailedMount: no such volume/,
    );
    expect(message).to.match(/cluster west: waited \d+ s in vain for .*FailedCreate: .* exceeded quota: compute/);
    expect(partial?.getId()).to.equal("consumer/provider");
  });
});

async function podThatWaits({ client }: ApiServer, namespace: string, gateway: string): Promise<void> {
  const metadata = { name: "gateway-0", namespace, labels: { [Labels.gatewayName]: gateway } };
  await client.apply(NamespaceResource, { metadata: namespaceOf(namespace, gateway) }, MANAGER);
  await client.apply(PodResource, { metadata, spec: { containers: [{ name: "gateway", image: "none" }] } }, MANAGER);
  const waiting = { reason: "ImagePullBackOff", message: "no such image" };
  const container = { name: "gateway", ready: false, restartCount: 0, image: "none", imageID: "", state: { waiting } };
  await setStatus(client, PodResource, metadata, { phase: "Pending", containerStatuses: [container] });
  await client.create(EventResource, {
    metadata: { name: "gateway-0.1", namespace },
    involvedObject: { kind: "Pod", name: "gateway-0", namespace },
    type: "Warning",
    reason: "FailedMount",
    message: "no such volume",
    lastTimestamp: new Date(0).toISOString(),
  });
}

async function podDenied({ client }: ApiServer, namespace: string, gateway: string): Promise<void> {
  const labels = { [Labels.gatewayName]: gateway };
  const metadata = { name: "gateway-1", namespace, labels };
  const template = { metadata: { labels }, spec: { containers: [{ name: "gateway", image: "none" }] } };
  await client.apply(NamespaceResource, { metadata: namespaceOf(namespace, gateway) }, MANAGER);
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  await client.apply(REPLICA_SETS, { metadata, spec } as object, MANAGER);
  const message = 'pods "gateway-1-x" is forbidden: exceeded quota: compute';
  const condition = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message };
  await setStatus(client, REPLICA_SETS, metadata, { replicas: 0, conditions: [condition] });
}

function namespaceOf(name: string, remote: string): { name: string; labels: Record<string, string> } {
  return { name, labels: { [Labels.tenantNamespace]: "true", [Labels.remoteClusterID]: remote } };
}
