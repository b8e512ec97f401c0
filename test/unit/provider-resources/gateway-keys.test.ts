import { expect } from "chai";
import type { Secret } from "kubernetes-types/core/v1";
import { GatewayServerResource, Labels } from "../../../agent/api/index.js";
import { newKeyPair } from "../../../agent/controller/network/gateways/key-secret.js";
import type { KubeClient } from "../../../agent/runtime/index.js";
import type { LinkEnd } from "../../../provider/resources/network-link/ends.js";
import { judgeKeys, waitForPublicKey } from "../../../provider/resources/network-link/gateways.js";
import type { Progress } from "../../../provider/waits/index.js";

const progress: Progress = {
  status: () => undefined,
  log: () => undefined,
  signal: new AbortController().signal,
  deadline: Date.now() + 60_000,
};

/** What a gateway of a cluster with this key Secret gives the other end. */
function publicKeyFrom(secret: Secret | undefined): Promise<string> {
  const client = { cluster: "here", get: () => Promise.resolve(secret) } as unknown as KubeClient;
  const end = {
    client,
    side: "provider",
    remoteId: "b",
    namespace: "liqo-tenant-b",
    agentNamespace: "liqo",
  } as LinkEnd;
  const gateway = GatewayServerResource.build({
    metadata: { name: "b", namespace: "liqo-tenant-b", resourceVersion: "1" },
    spec: {},
    status: { secretRef: { name: "gw-keys" }, publicKey: "as the status tells it" },
  });
  return waitForPublicKey(progress, end, "server", gateway);
}

async function failureOf(secret: Secret): Promise<string> {
  const error: unknown = await publicKeyFrom(secret).catch((reason: unknown) => reason);
  return error instanceof Error ? error.message : `(given: ${String(error)})`;
}

describe("a gateway's keys", () => {
  const gateway = (accepted: object | undefined, named: { spec?: string; status?: string }) =>
    GatewayServerResource.build({
      metadata: { name: "b", namespace: "liqo-tenant-b", generation: 2 },
      spec: named.spec ? { secretRef: { name: named.spec } } : {},
      status: {
        ...(named.status ? { secretRef: { name: named.status } } : {}),
        ...(accepted ? { conditions: [condition(accepted)] } : {}),
      },
    });
  const condition = (more: object) => ({
    type: "Accepted",
    status: "True" as const,
    reason: "Accepted",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: 2,
    ...more,
  });
  const judge = (...of: Parameters<typeof gateway>) => judgeKeys(gateway(...of), 2, "liqo-tenant-b");
  const refused = { status: "False", message: "spec.secretRef.name: there is no Secret" };

  it("are where the status says, also where the agent refuses what is in them: they can be put right there", () => {
    const done = { name: "gw-keys", namespace: "liqo-tenant-b", publicKey: undefined };
    expect(judge(undefined, { status: "gw-keys" })).to.deep.equal({ done });
    expect(judge({}, { spec: "gw-keys", status: "gw-keys" })).to.deep.equal({ done });
    expect(judge(refused, { status: "gw-keys" })).to.deep.equal({ done });
  });

  it("are not those from before where the spec names others, or is not taken up yet", () => {
    expect(judge({ observedGeneration: 1 }, { status: "gw-keys" })).to.have.property("waiting");
    expect(judge({}, { spec: "own", status: "gw-keys" })).to.deep.equal({ waiting: "they are not made yet" });
    expect(judge(refused, { spec: "own", status: "gw-keys" })).to.include({ waiting: refused.message });
    expect(judge(refused, {})).to.include({ waiting: refused.message });
    expect(judgeKeys(undefined, 2, "liqo-tenant-b")).to.have.property("failed");
  });
});

describe("a gateway's public key for the other end", () => {
  const pair = newKeyPair();

  it("is its Secret's, else what its status tells", async () => {
    expect(await publicKeyFrom({ data: pair })).to.equal(pair.publicKey);
    expect(await publicKeyFrom(undefined)).to.equal("as the status tells it");
  });

  it("is not given where the Secret's keys are wrong: the error names Secret, cause and remedy at once, and no private key", async () => {
    const mixed = await failureOf({ data: { ...pair, publicKey: newKeyPair().publicKey } });
    expect(mixed)
      .to.contain("cluster here: Secret liqo-tenant-b/gw-keys of the gateway server has wrong keys: ")
      .and.contain(`data.publicKey does not belong to data.privateKey; the one that does is ${pair.publicKey}`)
      .and.contain("keyRotationTrigger")
      .and.not.contain(pair.privateKey);
    const short = Buffer.alloc(31).toString("base64");
    expect(await failureOf({ data: { ...pair, privateKey: short } })).to.contain(
      "data.privateKey must be 32 bytes, has 31",
    );
    const metadata = { labels: { [Labels.remoteClusterID]: "another" } };
    expect(await failureOf({ metadata, data: pair })).to.contain("its label says cluster another, not b");
  });
});
