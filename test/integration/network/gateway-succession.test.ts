import { expect } from "chai";
import {
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  WgGatewayClientResource,
  WgGatewayClientTemplateResource,
  WgGatewayServerResource,
  WgGatewayServerTemplateResource,
  type WgGatewayClient,
  type WgGatewayServer,
} from "../../../agent/api/index.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import type { Startable } from "../../../agent/controller/context.js";
import { setupNetwork } from "../../../agent/controller/network/index.js";
import { gatewayTemplateManifests } from "../../../agent/install/network-templates.js";
import {
  EventRecorder,
  NamespaceResource,
  SecretResource,
  SharedInformers,
  createLogger,
  findCondition,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { waitFor } from "../../support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

const NAMESPACE = "liqo";
const TENANT = "liqo-tenant-b";
const ENDPOINT = { port: 51_840 };
const NAME = { name: "b", namespace: TENANT };
const METADATA = { ...NAME, labels: { [Labels.remoteClusterID]: "b" } };
const KEYS = { name: "gw-b", namespace: TENANT };

/** No garbage collector runs: the test removes what one would, when it suits the test. */
describe("a gateway that takes the place of another", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let client: KubeClient;
  let informers: SharedInformers;
  let startables: Startable[] = [];
  /** What the other cluster was told first. */
  let publicKey: string;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    client = server.client;
    for (const name of [NAMESPACE, TENANT]) await client.create(NamespaceResource, { metadata: { name } });
    const image = { image: "example/agent:1", imagePullPolicy: "IfNotPresent" as const, imagePullSecrets: [] };
    const [serverTemplate, clientTemplate] = gatewayTemplateManifests({ namespace: NAMESPACE, ...image });
    await client.create(WgGatewayServerTemplateResource, serverTemplate);
    await client.create(WgGatewayClientTemplateResource, clientTemplate);
    const logger = createLogger("test");
    logger.level = process.env["LOG_LEVEL"] ?? "error";
    informers = new SharedInformers(client, logger);
    const config = parseControllerArguments(["--cluster-id=a", "--liqo-namespace=liqo", "--image=example/agent:1"]);
    const recorder = (component: string) => new EventRecorder(client, component, logger);
    startables = setupNetwork({ client, informers, config, logger, recorder });
    await informers.start();
    for (const startable of startables) await startable.start();
  });

  after(async () => {
    await Promise.all(startables.map((startable) => startable.stop()));
    await informers?.stop();
    await server?.stop();
  });

  it("of the same kind and name keeps its keys", async () => {
    await client.create(
      GatewayServerResource,
      GatewayServerResource.build({ metadata: METADATA, spec: { endpoint: ENDPOINT } }),
    );
    publicKey = await published(GatewayServerResource);
    await client.delete(GatewayServerResource, NAME);
    await client.delete(WgGatewayServerResource, NAME);
    await gone(WgGatewayServerResource);
    await client.create(
      GatewayServerResource,
      GatewayServerResource.build({ metadata: METADATA, spec: { endpoint: ENDPOINT } }),
    );
    expect(await published(GatewayServerResource)).to.equal(publicKey);
    await collectKeys();
    expect(await afterAChange(GatewayServerResource)).to.equal(publicKey);
  });

  it("of the other kind keeps its keys, too, while that one has not been collected", async () => {
    await client.delete(GatewayServerResource, NAME);
    const spec = { endpoint: { ...ENDPOINT, addresses: ["192.0.2.1"] } };
    await client.create(GatewayClientResource, GatewayClientResource.build({ metadata: METADATA, spec }));
    expect(await published(GatewayClientResource)).to.equal(publicKey);
    const made = await only<WgGatewayClient>(WgGatewayClientResource, "the client's half", () => true);
    await keysOf(made);
    await client.delete(WgGatewayServerResource, NAME);
    await gone(WgGatewayServerResource);
    await collectKeys();
    expect(await afterAChange(GatewayClientResource)).to.equal(publicKey);
  });

  it("of another name makes keys of its own, as that one's go with it", async () => {
    await client.delete(GatewayClientResource, NAME);
    const next = { ...METADATA, name: "next" };
    await client.create(
      GatewayServerResource,
      GatewayServerResource.build({ metadata: next, spec: { endpoint: ENDPOINT } }),
    );
    const { status } = await only<WgGatewayServer>(WgGatewayServerResource, "keys", (one) => one.status?.publicKey);
    expect(status?.secretRef?.name).to.equal("gw-next");
    expect(status?.publicKey).not.to.equal(publicKey);
  });

  function published(type: typeof GatewayServerResource | typeof GatewayClientResource): Promise<string> {
    const options = { namespace: TENANT, timeoutMs: 40_000, what: `the public key of ${type.kind} b` };
    return waitFor(client, type as ResourceType<GatewayLike>, options, ([gateway]) => gateway?.status?.publicKey);
  }

  /** What it says of its key when it has followed a change. */
  async function afterAChange(type: typeof GatewayServerResource | typeof GatewayClientResource): Promise<string> {
    const { metadata } = await client.mergePatch<GatewayLike>(type, NAME, {
      spec: { mtu: 1300 },
    });
    const options = { namespace: TENANT, timeoutMs: 40_000, what: `${type.kind} b, changed` };
    return waitFor(client, type as ResourceType<GatewayLike>, options, ([gateway]) => {
      const verdict = findCondition(gateway?.status?.conditions, "Accepted");
      return (
        verdict?.status === "True" && verdict.observedGeneration === metadata?.generation && gateway?.status?.publicKey
      );
    });
  }

  function only<T extends KubeObject>(type: ResourceType<T>, what: string, check: (object: T) => unknown): Promise<T> {
    return waitFor(client, type, { namespace: TENANT, timeoutMs: 40_000, what }, ([object]) =>
      object && check(object) ? object : undefined,
    );
  }

  async function gone(type: ResourceType): Promise<void> {
    const options = { namespace: TENANT, timeoutMs: 40_000, what: `no ${type.kind}` };
    await waitFor(client, type, options, (objects) => objects.length === 0);
  }

  async function keysOf({ metadata }: KubeObject): Promise<void> {
    await only(SecretResource, "the keys' owner", (secret) =>
      secret.metadata?.ownerReferences?.every(({ uid }) => uid === metadata?.uid),
    );
  }

  /** Removes the keys if all their owners are gone. */
  async function collectKeys(): Promise<void> {
    const lists = await Promise.all(
      [WgGatewayServerResource, WgGatewayClientResource].map((type) => client.list<KubeObject>(type as ResourceType)),
    );
    const live = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata?.uid));
    const { metadata } = (await client.get(SecretResource, KEYS)) ?? {};
    if (metadata?.ownerReferences?.some(({ uid }) => live.includes(uid))) return;
    await client.delete(SecretResource, KEYS, { uid: metadata?.uid });
  }
});

/** What servers and clients have in common. */
interface GatewayLike extends KubeObject {
  status?: { publicKey?: string; conditions?: { type: string; status: string; observedGeneration?: number }[] };
}
