import { expect } from "chai";
import { ConnectionResource, GatewayClientResource, GatewayServerResource } from "../../../agent/api/index.js";
import type { KubeClient, KubeObject, ResourceType } from "../../../agent/runtime/index.js";
import { waitUntilConnected, type TunnelEnd } from "../../../provider/resources/network-link/connection.js";
import { WaitTimeout, type Progress } from "../../../provider/waits/index.js";

/** The second is longer than a test may take. */
const LIMITS = { certain: 1_000, look: 1_000, connect: 60_000 };
const NOTHING_ARRIVES = "nothing arrives on UDP port 51840";
const NOBODY_LISTENS = "nothing listens on UDP 192.0.2.1:30742";

/** A cluster with a gateway's Connection, which says one thing at first and, once it is watched for the second time, another, or that it is connected. */
function clusterOf(name: string, first: string | undefined, then: string | undefined): KubeClient {
  let watches = 0;
  const connection = (status: object): KubeObject => ({ metadata: { name: "gw" }, status }) as KubeObject;
  const client = {
    cluster: name,
    list: (type: ResourceType) => {
      const message = watches > 1 ? then : first;
      const items = type.kind === ConnectionResource.kind ? [connection({ value: "Error", message })] : [];
      return Promise.resolve({ metadata: { resourceVersion: "1" }, items });
    },
    get: () => Promise.resolve(undefined),
    async *watch(_type: unknown, { signal }: { signal: AbortSignal }) {
      watches += 1;
      const status = then === undefined ? { value: "Connected" } : { value: "Error", message: then };
      if (watches > 1) yield { type: "MODIFIED", object: connection(status) };
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  };
  return client as unknown as KubeClient;
}

function endOf(side: "consumer" | "provider", first: string | undefined, then?: string): TunnelEnd {
  const { apiVersion, kind } = side === "consumer" ? GatewayClientResource : GatewayServerResource;
  const client = clusterOf(side, first, then);
  const end = { side, client, namespace: `of-${side}`, remoteId: "other", agentNamespace: "liqo", clusterId: side };
  return { end, gateway: { apiVersion, kind, metadata: { name: "gw" }, spec: {} } } as unknown as TunnelEnd;
}

function connect(here: TunnelEnd, there: TunnelEnd, milliseconds = 120_000): Promise<string> {
  const progress: Progress = {
    status: () => undefined,
    log: () => undefined,
    signal: new AbortController().signal,
    deadline: Date.now() + milliseconds,
  };
  return waitUntilConnected(progress, here, there, false, LIMITS);
}

describe("the wait for a tunnel", function () {
  this.timeout(20_000);

  it("ends as soon as both gateways know why they do not hear each other, with what both say", async () => {
    const ends = [endOf("consumer", NOBODY_LISTENS), endOf("provider", NOTHING_ARRIVES)] as const;
    const failure: unknown = await connect(...ends).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(WaitTimeout);
    expect(String(failure)).to.contain("cluster consumer").and.contain(NOBODY_LISTENS).and.contain(NOTHING_ARRIVES);
  });

  it("ends when the second one knows, too, if that is later", async () => {
    const ends = [endOf("consumer", undefined, NOBODY_LISTENS), endOf("provider", NOTHING_ARRIVES)] as const;
    const failure: unknown = await connect(...ends).catch((error: unknown) => error);
    expect(String(failure)).to.contain(NOBODY_LISTENS).and.contain(NOTHING_ARRIVES);
  });

  it("goes on while one of them may just be starting", async () => {
    expect(await connect(endOf("consumer", undefined), endOf("provider", NOTHING_ARRIVES))).to.equal("Connected");
    expect(await connect(endOf("consumer", NOBODY_LISTENS), endOf("provider", undefined))).to.equal("Connected");
  });

  it("does not take the word of a server's gateway from before its port was changed", async () => {
    const server = endOf("provider", undefined);
    const former = endOf("provider", undefined);
    server.gateway.spec = { endpoint: { port: 51_841 } };
    const words = { value: "Connected", endpoint: ":51840" };
    former.end.client.list = (() =>
      Promise.resolve({
        metadata: { resourceVersion: "1" },
        items: [{ metadata: { name: "gw" }, status: words }],
      })) as never;
    const failure: unknown = await connect({ ...server, end: former.end }, endOf("consumer", undefined), 2_000).catch(
      (error: unknown) => error,
    );
    expect(String(failure)).to.contain("the gateway still listens on UDP port 51840");
  });

  it("never lasts longer than the call that it is part of", async () => {
    const failure: unknown = await connect(endOf("consumer", undefined), endOf("provider", undefined), 2_000).catch(
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(WaitTimeout);
  });
});
