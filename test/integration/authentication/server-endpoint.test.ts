import { PassThrough } from "node:stream";
import { expect } from "chai";
import { pino } from "pino";
import {
  Annotations,
  ConnectionResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
} from "../../../agent/api/index.js";
import { ServerEndpointFollower } from "../../../agent/controller/replication/server-endpoint-follower.js";
import {
  KubeClient,
  NamespaceResource,
  RoleBindingResource,
  RoleResource,
  SharedInformers,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { waitFor } from "../../support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

/** One API server plays both clusters: the client is in one tenant namespace, the server in the other. */
const TO_PROVIDER = "liqo-tenant-provider";
const FROM_CONSUMER = "liqo-tenant-consumer";
const USER = "consumer";
const GIVEN = { addresses: ["192.0.2.1"], port: 51_840 };
const CONNECTION = { name: "gw-provider", namespace: TO_PROVIDER };
const SERVER = { name: "consumer", namespace: FROM_CONSUMER };

describe("where a provider's gateway server is", function () {
  this.timeout(180_000);
  let server: ApiServer;
  let client: KubeClient;
  let remoteClient: KubeClient;
  let informers: SharedInformers;
  let follower: ServerEndpointFollower;
  const lines: string[] = [];

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    client = server.client;
    remoteClient = KubeClient.fromText(await server.kubeconfigFor(USER));
    for (const name of [TO_PROVIDER, FROM_CONSUMER]) await client.create(NamespaceResource, { metadata: { name } });
    const labels = { [Labels.remoteClusterID]: "provider" };
    await client.create(
      ConnectionResource,
      ConnectionResource.build({ metadata: { ...CONNECTION, labels }, spec: { type: "Client", gatewayRef: {} } }),
    );
    await client.create(
      GatewayClientResource,
      GatewayClientResource.build({
        metadata: { name: "provider", namespace: TO_PROVIDER, labels },
        spec: { endpoint: { ...GIVEN, protocol: "UDP" } },
      }),
    );
    await client.create(
      GatewayServerResource,
      GatewayServerResource.build({
        metadata: { ...SERVER, labels: { [Labels.remoteClusterID]: "consumer" } },
        spec: { endpoint: { port: GIVEN.port } },
      }),
    );
    await isAt(GIVEN.addresses);
    const logger = pino(
      {},
      new PassThrough().on("data", (line: Buffer) => lines.push(line.toString())),
    );
    informers = new SharedInformers(client, logger);
    const route = {
      localClusterID: "consumer",
      remoteClusterID: "provider",
      localNamespace: TO_PROVIDER,
      remoteNamespace: FROM_CONSUMER,
    };
    follower = new ServerEndpointFollower({
      route,
      localClient: client,
      remoteClient,
      connections: informers.for(ConnectionResource),
      gatewayClients: informers.for(GatewayClientResource),
      logger,
    });
    await informers.start();
  });

  after(async () => {
    await follower?.stop();
    await informers?.stop();
    remoteClient?.close();
    await server?.stop();
  });

  async function isAt(addresses: string[]): Promise<void> {
    const status = { endpoint: { addresses, port: GIVEN.port, protocol: "UDP" } };
    await client.mergePatch(GatewayServerResource, SERVER, { status }, { subresource: "status" });
  }

  /** Waits until the client has been told. */
  async function told(addresses: string[]): Promise<void> {
    const options = { ...only(CONNECTION), timeoutMs: 40_000, what: `the client to be told of ${addresses.join()}` };
    await waitFor(client, ConnectionResource, options, ([connection]) =>
      connection?.metadata.annotations?.[Annotations.serverEndpoint]?.includes(JSON.stringify(addresses)),
    );
  }

  it("is told to the client as soon as it may be known, though that was refused at first, and wherever it goes", async () => {
    follower.start();
    await until("a refusal", 40_000, () =>
      Promise.resolve(lines.some((line) => line.includes("does not tell where its gateway server is")) || undefined),
    );
    const { metadata } = (await client.get(ConnectionResource, CONNECTION)) ?? {};
    expect(metadata?.annotations ?? {}).to.not.have.property(Annotations.serverEndpoint);
    await grant();
    await told(GIVEN.addresses);
    await isAt(["192.0.2.2", "192.0.2.3"]);
    await told(["192.0.2.2", "192.0.2.3"]);
  });

  async function grant(): Promise<void> {
    const metadata = { name: "reads-gateways", namespace: FROM_CONSUMER };
    const rule = { apiGroups: ["networking.liqo.io"], resources: ["gatewayservers"], verbs: ["get", "list", "watch"] };
    await client.create(RoleResource, { metadata, rules: [rule] });
    await client.create(RoleBindingResource, {
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: USER }],
    });
  }
});

function only({ name, namespace }: { name: string; namespace: string }): { namespace: string; fieldSelector: string } {
  return { namespace, fieldSelector: `metadata.name=${name}` };
}
