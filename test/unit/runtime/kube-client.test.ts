import http from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import {
  ConfigMapResource,
  Informer,
  KubeClient,
  KubeError,
  NodeResource,
  collectionPath,
  isNotFound,
  isUnreachable,
  objectPath,
} from "../../../agent/runtime/index.js";

const SYNC_MS = 20_000;

/** A server whose handler the test decides, and a client of it. */
async function withServer(
  handler: http.RequestListener,
  test: (client: KubeClient, url: string) => Promise<void>,
  timeoutMs?: number,
): Promise<void> {
  const server = http.createServer(handler).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = KubeClient.fromText(kubeconfig(url), { cluster: "lab", timeoutMs });
  try {
    await test(client, url);
  } finally {
    client.close();
    server.closeAllConnections();
    server.close();
  }
}

function kubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: { token: "t0ken-value" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

const json = (response: http.ServerResponse, code: number, body: object): void => {
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
};

describe("runtime: KubeClient", () => {
  it("builds the API server's paths", () => {
    expect(collectionPath(ConfigMapResource, "a")).to.equal("/api/v1/namespaces/a/configmaps");
    expect(collectionPath(NodeResource, "ignored")).to.equal("/api/v1/nodes");
    expect(objectPath(ConfigMapResource, { name: "b", namespace: "a" }, "status")).to.equal(
      "/api/v1/namespaces/a/configmaps/b/status",
    );
  });

  it("refuses a path that would address a whole collection", () => {
    expect(() => objectPath(ConfigMapResource, { name: "", namespace: "a" })).to.throw(/name and a namespace/);
    expect(() => objectPath(ConfigMapResource, { name: "b" })).to.throw(/namespace/);
  });

  it("answers undefined for what is not there, and names cluster and object in errors", async () => {
    await withServer(
      (request, response) => {
        const code = request.url?.endsWith("/missing") ? 404 : 403;
        json(response, code, {
          kind: "Status",
          message: "no such right",
          reason: code === 404 ? "NotFound" : "Forbidden",
          code,
        });
      },
      async (client) => {
        expect(await client.get(ConfigMapResource, { name: "missing", namespace: "a" })).to.equal(undefined);
        const error = await client.get(ConfigMapResource, { name: "b", namespace: "a" }).catch((e: unknown) => e);
        expect(error).to.be.instanceOf(KubeError);
        expect((error as KubeError).message).to.equal("cluster lab, ConfigMap a/b: no such right");
        expect((error as KubeError).reason).to.equal("Forbidden");
        expect(isNotFound(error)).to.equal(false);
      },
    );
  });

  it("gives up on a server that accepts and stays silent, and never shows the token", async () => {
    await withServer(
      () => undefined,
      async (client, url) => {
        const error = (await client.list(NodeResource).catch((e: unknown) => e)) as KubeError;
        expect(isUnreachable(error)).to.equal(true);
        expect(error.message).to.contain("lab").and.to.contain(url).and.to.contain("0.3 s");
        expect(error.message).to.not.contain("t0ken-value");
      },
      300,
    );
  });

  const passing = {
    "is too busy": { message: "storage is (re)initializing", code: 429 },
    "has nobody to admit it yet": {
      message: 'Internal error occurred: failed calling webhook "a.b": no endpoints available for service "webhook"',
      code: 500,
    },
  };
  for (const [state, status] of Object.entries(passing))
    it(`tries again when the server says that it ${state}`, async () => {
      let calls = 0;
      await withServer(
        (_request, response) => {
          calls += 1;
          if (calls > 1) return json(response, 200, { metadata: { name: "n" } });
          response.setHeader("retry-after", "0.2");
          json(response, status.code, { kind: "Status", ...status });
        },
        async (client) => {
          expect((await client.get(NodeResource, { name: "n" }))?.metadata?.name).to.equal("n");
          expect(calls).to.equal(2);
        },
      );
    });

  it("does not try again where a webhook answers wrongly", async () => {
    let calls = 0;
    const message =
      'Internal error occurred: failed calling webhook "a.b": x509: certificate signed by unknown authority';
    await withServer(
      (_request, response) => {
        calls += 1;
        json(response, 500, { kind: "Status", message, code: 500 });
      },
      async (client) => {
        const error = await client.get(NodeResource, { name: "n" }).catch((e: unknown) => e);
        expect((error as KubeError).message).to.contain(message);
        expect(calls).to.equal(1);
      },
    );
  });

  it("goes on by a fresh connection when the server has closed all that lay idle", async () => {
    const seen = new Map<unknown, number>();
    await withServer(
      (request, response) => {
        const requests = (seen.get(request.socket) ?? 0) + 1;
        seen.set(request.socket, requests);
        if (requests > 1) request.socket.resetAndDestroy();
        else setTimeout(() => json(response, 200, { metadata: { name: "n" } }), 20);
      },
      async (client) => {
        const read = () => client.get(NodeResource, { name: "n" });
        await Promise.all([read(), read(), read()]);
        expect(seen.size).to.equal(3);
        expect((await read())?.metadata?.name).to.equal("n");
      },
    );
  });

  it("names a server that refuses connections", async () => {
    const client = KubeClient.fromText(kubeconfig("http://127.0.0.1:9"), { cluster: "gone" });
    const error = (await client.list(NodeResource).catch((e: unknown) => e)) as KubeError;
    expect(error.message).to.match(
      /cannot reach the API server of cluster gone at http:\/\/127\.0\.0\.1:9: ECONNREFUSED/,
    );
  });

  it("splits watch events whatever the chunks, and puts kind and apiVersion back into listed items", async () => {
    const event = (type: string, name: string) =>
      `${JSON.stringify({ type, object: { metadata: { name, resourceVersion: "5" } } })}\n`;
    await withServer(
      (request, response) => {
        if (!request.url?.includes("watch=true")) {
          return json(response, 200, {
            metadata: { resourceVersion: "4" },
            items: [{ metadata: { name: "n1", resourceVersion: "3" } }],
          });
        }
        const text = event("ADDED", "n2") + event("DELETED", "n1");
        response.writeHead(200);
        response.write(text.slice(0, 20));
        setImmediate(() => response.end(text.slice(20)));
      },
      async (client) => {
        const list = await client.list(NodeResource);
        expect(list.items[0]).to.include({ apiVersion: "v1", kind: "Node" });
        const seen: string[] = [];
        for await (const { type, object } of client.watch(NodeResource, { resourceVersion: "4" })) {
          if (type !== "ERROR") seen.push(`${type} ${object.metadata?.name}`);
        }
        expect(seen).to.deep.equal(["ADDED n2", "DELETED n1"]);
      },
    );
  });
});

describe("runtime: Informer", () => {
  it("lists again after the server has forgotten its resource version, and tells what vanished meanwhile", async () => {
    let lists = 0;
    await withServer(
      (request, response) => {
        if (!request.url?.includes("watch=true")) {
          lists += 1;
          const names = lists === 1 ? ["a", "b"] : ["b", "c"];
          return json(response, 200, {
            metadata: { resourceVersion: String(lists * 10) },
            items: names.map((name) => ({ metadata: { name, uid: name, resourceVersion: String(lists * 10) } })),
          });
        }
        response.writeHead(200);
        if (lists === 1)
          response.end(
            `${JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } })}\n`,
          );
      },
      async (client) => {
        const events: string[] = [];
        const informer = new Informer(client, NodeResource).addIndex("first", (n) => [n.metadata?.name?.[0] ?? ""]);
        const vanished = new Promise<void>((resolve) => {
          informer.onEvent((event) => {
            events.push(`${event.type} ${event.object.metadata?.name}`);
            if (event.type === "deleted") resolve();
          });
        });
        informer.start();
        await informer.waitForSync(SYNC_MS);
        await vanished;
        expect(events).to.include.members(["added a", "added b", "added c", "deleted a"]);
        expect(informer.list().map((n) => n.metadata?.name)).to.have.members(["b", "c"]);
        expect(informer.byIndex("first", "a")).to.deep.equal([]);
        await informer.stop();
      },
    );
  });

  for (const forgets of [false, true]) {
    it(`takes a long list page by page${forgets ? ", and at once when the server forgets the first page's moment" : ""}`, async () => {
      const asked: string[] = [];
      const page = (names: string[], next?: string): object => ({
        metadata: { resourceVersion: "7", continue: next },
        items: names.map((name) => ({ metadata: { name, uid: name, resourceVersion: "1", managedFields: [{}] } })),
      });
      await withServer(
        (request, response) => {
          const { searchParams } = new URL(request.url ?? "", "http://server");
          if (searchParams.has("watch")) return void response.writeHead(200).flushHeaders();
          const [limit, next] = [searchParams.get("limit"), searchParams.get("continue")];
          asked.push(`${limit} from ${next ?? "the start"}`);
          if (limit === "0") return json(response, 200, page(["a", "b", "c"]));
          if (!next) return json(response, 200, page(["a", "b"], "there"));
          const expired = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
          return forgets ? json(response, 410, expired) : json(response, 200, page(["c"]));
        },
        async (client) => {
          const informer = new Informer(client, NodeResource, { fieldSelector: "spec.x=y" });
          const added: boolean[] = [];
          informer.onEvent(() => added.push(informer.hasSynced));
          await informer.start().waitForSync(SYNC_MS);
          expect(informer.list().map(({ metadata }) => metadata?.name)).to.deep.equal(["a", "b", "c"]);
          expect(informer.list().some(({ metadata }) => metadata?.managedFields)).to.equal(false);
          expect(added).to.deep.equal([false, false, false]);
          await informer.stop();
        },
      );
      const whole = forgets ? ["0 from the start"] : [];
      expect(asked).to.deep.equal(["500 from the start", "500 from there", ...whole]);
    });
  }

  it("does not let an older copy replace a newer one", async () => {
    await withServer(
      (request, response) => {
        if (request.url?.includes("watch=true")) return void response.writeHead(200).flushHeaders();
        json(response, 200, {
          metadata: { resourceVersion: "9" },
          items: [{ metadata: { name: "n", uid: "u", resourceVersion: "9" } }],
        });
      },
      async (client) => {
        const informer = new Informer(client, NodeResource).start();
        await informer.waitForSync(SYNC_MS);
        informer.observe({ metadata: { name: "n", uid: "u", resourceVersion: "8", labels: { old: "yes" } } });
        expect(informer.get("n")?.metadata?.labels).to.equal(undefined);
        informer.observe({ metadata: { name: "n", uid: "u", resourceVersion: "11", labels: { fresh: "yes" } } });
        expect(informer.get("n")?.metadata?.labels).to.deep.equal({ fresh: "yes" });
        await informer.stop();
      },
    );
  });
});
