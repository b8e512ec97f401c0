import { expect } from "chai";
import { stringify, parse } from "yaml";
import { ApiServerChecks, type ApiServerState } from "../../../agent/controller/status/api-server-checks.js";
import { createLogger } from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { startRelay, type Relay } from "../support/relay.js";

const PEER = "peer";
const DEADLINE_MS = 40_000;

/** Looks so rarely that only the connection that is kept can tell in time. */
const OPTIONS = { intervalSeconds: 600, timeoutSeconds: 5, logger: createLogger("test") };

describe("the look at a peer's API server", function () {
  this.timeout(180_000);
  let server: ApiServer;
  let relay: Relay;
  let checks: ApiServerChecks;
  let changes = 0;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ name: PEER, crds: false });
  });

  after(async () => {
    await server?.stop();
  });

  beforeEach(() => {
    changes = 0;
    checks = new ApiServerChecks({ ...OPTIONS, onChange: () => (changes += 1) });
  });

  afterEach(() => {
    checks.stopAll();
    relay?.close();
  });

  for (const proxy of [false, true]) {
    it(`tells that a peer has fallen silent, and that it is back${proxy ? ", through a proxy" : ""}`, async () => {
      relay = await startRelay(() => server.url, { proxy });
      checks.ensure(PEER, proxy ? throughProxy(server.kubeconfig) : at(server.kubeconfig));
      await reaches(({ answers }) => answers);
      // A connection that breaks is no sign of the peer's end.
      const before = relay.connections();
      relay.breakConnections();
      await until("another connection", DEADLINE_MS, () => relay.connections() > before || undefined);
      const cut = Date.now();
      relay.freeze();
      const lost = await reaches(({ answers }) => !answers);
      console.log(`      silence noticed after ${Date.now() - cut} ms`);
      expect(lost.message).to.contain(`the API server of cluster ${PEER} at https://127.0.0.1:`);
      expect(lost.message).to.contain(
        `${proxy ? `through the proxy 127.0.0.1:${relay.port} ` : ""}did not answer within`,
      );
      expect(changes, "answers, then answers no more").to.equal(2);
      const back = Date.now();
      relay.thaw();
      await reaches(({ answers }) => answers);
      console.log(`      return noticed after ${Date.now() - back} ms`);
    });
  }

  it("tells at once that connections are refused", async () => {
    relay = await startRelay(() => server.url);
    checks.ensure(PEER, at(server.kubeconfig));
    await reaches(({ answers }) => answers);
    relay.close();
    expect((await reaches(({ answers }) => !answers)).message).to.contain("ECONNREFUSED");
  });

  it("says that an identity is refused", async () => {
    relay = await startRelay(() => server.url);
    const stranger = parse(server.kubeconfig) as { users: { user: object }[] };
    stranger.users = [{ ...stranger.users[0], user: { token: "none" } }];
    checks.ensure(PEER, at(stringify(stranger)));
    expect((await reaches(({ answers }) => !answers)).message).to.contain("HTTP 401");
  });

  it("looks often where the server speaks no HTTP/2", async function () {
    this.timeout(START_LIMIT_MS);
    const old = await startApiServer({ name: PEER, crds: false, flags: ["--disable-http2-serving"] });
    try {
      relay = await startRelay(() => old.url);
      checks.ensure(PEER, at(old.kubeconfig));
      await reaches(({ answers }) => answers);
      relay.freeze();
      await reaches(({ answers }) => !answers);
      relay.thaw();
      await reaches(({ answers }) => answers);
    } finally {
      await old.stop();
    }
  });

  function at(kubeconfig: string): string {
    return kubeconfig.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${relay.port}`);
  }

  function throughProxy(kubeconfig: string): string {
    const config = parse(kubeconfig) as { clusters: { cluster: Record<string, string> }[] };
    for (const { cluster } of config.clusters) cluster["proxy-url"] = `http://127.0.0.1:${relay.port}`;
    return stringify(config);
  }

  function reaches(isReached: (state: ApiServerState) => boolean): Promise<ApiServerState> {
    return until("the state of the peer", DEADLINE_MS, () => {
      const state = checks.state(PEER);
      if (state && isReached(state)) return state;
      throw new Error(JSON.stringify(state));
    });
  }
});
