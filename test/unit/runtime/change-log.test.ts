import { expect } from "chai";
import { pino } from "pino";
import { changeOf, logChanges, type KubeClient } from "../../../agent/runtime/index.js";

describe("a change, as logs tell it", () => {
  it("is one line; a heartbeat is none", () => {
    const lines: object[] = [];
    const logger = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line) as object) });
    const transport = { cluster: "one" } as KubeClient["transport"];
    logChanges(transport, logger);
    const request = { method: "PATCH", path: "/api/v1/nodes/a/status", body: "{}", timeoutMs: 0 } as const;
    transport.onWritten?.(request);
    transport.onWritten?.({ ...request, isHeartbeat: true });
    expect(lines).to.deep.equal([
      { level: 30, cluster: "one", resource: "nodes", name: "a", part: "status", msg: "changed" },
    ]);
  });

  const tenants = "/apis/authentication.liqo.io/v1beta1/namespaces/liqo-tenant-a/tenants";
  const cases: [string, string, string | undefined, object | undefined][] = [
    ["an object", `${tenants}/a?fieldManager=x&force=true`, "{}", { namespace: "liqo-tenant-a", name: "a" }],
    ["a part of it", `${tenants}/a/status`, "{}", { namespace: "liqo-tenant-a", name: "a", part: "status" }],
    ["a new one", tenants, '{"metadata":{"name":"a"}}', { namespace: "liqo-tenant-a", name: "a" }],
    ["a namespace", "/api/v1/namespaces/shop", "{}", { resource: "namespaces", name: "shop" }],
    ["a namespace's end", "/api/v1/namespaces/shop/finalize", "{}", { resource: "namespaces", part: "finalize" }],
    [
      "a pod in one",
      "/api/v1/namespaces/shop/pods/web",
      undefined,
      { resource: "pods", namespace: "shop", name: "web" },
    ],
    ["an event", "/api/v1/namespaces/shop/events", "{}", undefined],
    ["a lease", "/apis/coordination.k8s.io/v1/namespaces/liqo/leases/leader", "{}", undefined],
    ["a question", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "{}", undefined],
    ["a trial", `${tenants}/a?dryRun=All`, "{}", undefined],
  ];
  for (const [what, path, body, expected] of cases) {
    it(what, () => {
      const change = changeOf({ path, body });
      if (expected)
        expect(change).to.include({
          ...(path.startsWith(tenants) ? { resource: "tenants.authentication.liqo.io" } : {}),
          ...expected,
        });
      else expect(change).to.equal(undefined);
    });
  }
});
