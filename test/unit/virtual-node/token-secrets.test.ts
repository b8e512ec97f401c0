import { expect } from "chai";
import type { Pod, Secret } from "kubernetes-types/core/v1";
import {
  Informer,
  KubeError,
  SecretResource,
  TerminalError,
  kubeTime,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import type { VirtualNodeContext } from "../../../agent/virtual-node/context.js";
import { TokenSecrets } from "../../../agent/virtual-node/service-accounts/token-secrets.js";

const PAIR = { local: "shop", remote: "shop-there" };
const HOUR = 3600;
const JITTER_MS = 30_000;

const pod = (uid: string, annotations: Record<string, string> = {}): Pod => ({
  metadata: { name: "web", namespace: PAIR.local, uid, annotations },
  spec: {
    serviceAccountName: "seller",
    containers: [],
    volumes: [
      { name: "api", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: HOUR } }] } },
    ],
  },
});

interface Asked {
  path: string;
  body: { spec: { boundObjectRef: { name: string; uid: string }; expirationSeconds: number; audiences: string[] } };
}

/** Both API servers, as far as tokens go: what was asked of the consumer's, and what the provider's has. */
function clusters(taken?: Record<string, string>) {
  const asked: Asked[] = [];
  const told: string[] = [];
  const removed: string[] = [];
  const local = {
    request: (_method: string, path: string, { body }: Pick<Asked, "body">) => {
      asked.push({ path, body });
      const expirationTimestamp = kubeTime(new Date(Date.now() + body.spec.expirationSeconds * 1000));
      return Promise.resolve({ status: { token: `token-${asked.length}`, expirationTimestamp } });
    },
  };
  let version = 0;
  const stored = (secret: Secret): Promise<Secret> =>
    Promise.resolve({ ...secret, metadata: { ...secret.metadata, uid: "s", resourceVersion: String(++version) } });
  const remote = {
    create: (_type: unknown, secret: Secret) =>
      taken ? Promise.reject(new KubeError("taken", 409, "AlreadyExists", "provider")) : stored(secret),
    get: (_type: unknown, id: { name: string; namespace: string }) =>
      Promise.resolve({ metadata: { ...id, labels: taken } }),
    apply: (_type: unknown, secret: Secret) => stored(secret),
    delete: (_type: unknown, { name }: { name: string }) => Promise.resolve(removed.push(name)),
  };
  const config = {
    homeClusterId: "consumer",
    foreignClusterId: "provider",
    nodeName: "provider",
    apiServerSupport: true,
  };
  const recorder = {
    warning: (_type: unknown, { metadata }: Pod, reason: string) => void told.push(`${metadata?.name} ${reason}`),
  };
  const context = { local, remote, config, recorder } as unknown as VirtualNodeContext;
  const secrets = new Informer<Secret>({} as KubeClient, SecretResource);
  return { asked, removed, told, secrets, tokens: () => new TokenSecrets(context) };
}

describe("tokens of an offloaded pod", () => {
  it("are bound to the pod, and due at four fifths of their life", async () => {
    const { asked, secrets, tokens } = clusters();
    const own = tokens();
    const inMs = (await own.ensure(pod("first"), PAIR, secrets)) ?? 0;
    expect(inMs).to.be.within(0.8 * HOUR * 1000 - JITTER_MS - 1_000, 0.8 * HOUR * 1000);
    expect(asked.map(({ path }) => path)).to.deep.equal(["/api/v1/namespaces/shop/serviceaccounts/seller/token"]);
    expect(asked[0]?.body.spec.boundObjectRef).to.include({ name: "web", uid: "first" });
    const [secret] = secrets.list();
    expect(secret?.metadata).to.include({ name: "web-token", namespace: PAIR.remote });
    expect(Object.values(secret?.data ?? {}).map((text) => Buffer.from(text, "base64").toString())).to.deep.equal([
      "token-1",
    ]);
    await own.ensure(pod("first"), PAIR, secrets);
    expect(asked, "while they are not due").to.have.length(1);
  });

  it("are asked for anew when they are due, also by a process that has not asked for them", async () => {
    const { asked, secrets, tokens } = clusters();
    await tokens().ensure(pod("first"), PAIR, secrets);
    expect(await tokens().ensure(pod("first"), PAIR, secrets)).to.be.greaterThan(0);
    expect(asked, "a process that has just begun").to.have.length(1);
    const [secret] = secrets.list();
    const key = "offloading.liqo.io/service-account-expiration";
    const annotations = { ...secret?.metadata?.annotations, [key]: kubeTime(new Date(Date.now() + 0.1 * HOUR * 1000)) };
    secrets.observe({ ...secret, metadata: { ...secret?.metadata, resourceVersion: "9", annotations } });
    await tokens().ensure(pod("first"), PAIR, secrets);
    expect(asked, "with a tenth of its life left").to.have.length(2);
  });

  it("are written over nothing but tokens of this node, and tried again, which the pod is told", async () => {
    const reflected = { "offloading.liqo.io/origin": "consumer", "offloading.liqo.io/destination": "provider" };
    const nodename = "offloading.liqo.io/nodename";
    const others: Record<string, string>[] = [
      {},
      { [nodename]: "provider" },
      reflected,
      { ...reflected, [nodename]: "other" },
    ];
    for (const labels of others) {
      const { secrets, tokens, told } = clusters(labels);
      const failure = await tokens()
        .ensure(pod("first"), PAIR, secrets)
        .catch((error: unknown) => error);
      expect(failure).to.be.an("error").and.not.be.instanceOf(TerminalError);
      expect(secrets.list()).to.deep.equal([]);
      expect(told).to.deep.equal(["web FailedReflection"]);
    }
    const { secrets, tokens, told } = clusters({ ...reflected, [nodename]: "provider" });
    await tokens().ensure(pod("first"), PAIR, secrets);
    expect(secrets.list()).to.have.length(1);
    expect(told).to.deep.equal([]);
  });

  it("of a former pod of that name go, and those that nobody asks for are not made", async () => {
    const { asked, removed, secrets, tokens } = clusters();
    await tokens().ensure(pod("first"), PAIR, secrets);
    await tokens().ensure(pod("second"), PAIR, secrets);
    expect(removed).to.deep.equal(["web-token"]);
    expect(asked.map(({ body }) => body.spec.boundObjectRef.uid)).to.deep.equal(["first", "second"]);
    for (const wish of ["disabled", "remote"]) {
      const other = clusters();
      const wanting = pod("third", { "liqo.io/api-server-support": wish });
      expect(await other.tokens().ensure(wanting, PAIR, other.secrets)).to.equal(undefined);
      expect(other.asked).to.deep.equal([]);
    }
  });
});
