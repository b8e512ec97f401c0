import { expect } from "chai";
import {
  FirewallConfigurationResource,
  FirewallSubcategory,
  Labels,
  RouteConfigurationResource,
  RuleCategory,
  type FirewallConfiguration,
  type FirewallConfigurationSpec,
  type HostCondition,
  type RouteConfiguration,
  type RouteConfigurationSpec,
} from "../../../agent/api/index.js";
import { HostRules } from "../../../agent/host-rules/index.js";
import { tableNumber } from "../../../agent/host-rules/routing-plan.js";
import { FastPathTable } from "../../../agent/gateway/fast-path-table.js";
import { createLogger, type KubeClient, type Logger, type ResourceType } from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { waitFor } from "../../support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { GATEWAY_STATE } from "../../support/gateway-state.js";
import { SILENCE_MS, call, echoServer } from "./support/echo.js";
import { Namespace, connect } from "./support/namespaces.js";

const NAMESPACE = "default";
const PORT = 8080;
const TABLE = "partner-routes";
const NODE_ROUTES = { [Labels.routeCategory]: RuleCategory.fabric };
const NODE_FIREWALL = {
  [Labels.firewallCategory]: RuleCategory.fabric,
  [Labels.firewallSubcategory]: FirewallSubcategory.singleNode,
  [Labels.firewallUnique]: "n1",
};

/** What somebody else has on the host. */
const FOREIGN = `
ip route add 192.0.2.0/24 via 10.9.0.2 table 999 && ip rule add from 10.1.0.0/16 lookup 999 priority 600
nft add table ip others && nft add chain ip others keep && nft add rule ip others keep counter drop`;

function quiet(): Logger {
  const logger = createLogger("test");
  logger.level = process.env["LOG_LEVEL"] ?? "error";
  return logger;
}

describe("routes and firewall rules that users bring, on a host", function () {
  this.timeout(120_000);
  let server: ApiServer;
  let client: KubeClient;
  let host: Namespace;
  let outside: Namespace;
  let rules: HostRules;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    if (process.getuid?.() !== 0) this.skip();
    server = await startApiServer();
    client = server.client;
    host = await Namespace.create("host");
    outside = await Namespace.create("outside");
    await connect(host, "eth0", outside, "eth0");
    await host.sh(`ip addr add 10.9.0.1/24 dev eth0 && ip route add default via 10.9.0.2 && ${FOREIGN}`);
    await outside.sh("ip addr add 10.9.0.2/24 dev eth0 && ip addr add 10.8.1.7/32 dev lo");
    await echoServer(outside, PORT);
    rules = start("fabric-1");
  });

  after(async () => {
    await rules?.stop();
    await Namespace.closeAll();
    await server?.stop();
  });

  function start(hostName: string): HostRules {
    const logger = quiet();
    const hostRules = new HostRules({
      client,
      run: host.run,
      logger,
      host: { node: "n1" },
      hostName,
      owner: "n1",
      defaultPriority: 479,
    });
    hostRules.start();
    return hostRules;
  }

  function apply(spec: RouteConfigurationSpec, labels = NODE_ROUTES): Promise<RouteConfiguration> {
    const object = RouteConfigurationResource.build({
      metadata: { name: "partner", namespace: NAMESPACE, labels },
      spec,
    });
    return client.apply(RouteConfigurationResource, object, { fieldManager: "test" });
  }

  function applyFirewall(
    name: string,
    table: FirewallConfigurationSpec["table"],
    labels: Record<string, string> = NODE_FIREWALL,
  ) {
    const object = FirewallConfigurationResource.build({
      metadata: { name, namespace: NAMESPACE, labels },
      spec: { table },
    });
    return client.apply(FirewallConfigurationResource, object, { fieldManager: "test" });
  }

  /** The host's condition, once it fits. */
  function condition<T extends RouteConfiguration | FirewallConfiguration>(
    type: ResourceType<T>,
    name: string,
    isWanted: (conditions: HostCondition[]) => boolean,
  ): Promise<HostCondition[]> {
    const describe = (all: T[]): string => JSON.stringify(all.map(({ status }) => status));
    const options = {
      fieldSelector: `metadata.name=${name}`,
      timeoutMs: 40_000,
      what: `${name}'s condition`,
      describe,
    };
    return waitFor(client, type, options, ([object]) => {
      const conditions = object?.status?.conditions ?? [];
      return isWanted(conditions) && conditions;
    });
  }

  const applied = ([first]: HostCondition[]): boolean => first?.status === "True";
  const hostRoutes = () => host.sh(`ip route show table ${tableNumber(TABLE)} 2>/dev/null || true`);
  const hostRules = () => host.sh("ip rule show");
  const ruleset = () => host.sh("nft list ruleset");
  const eventually = (what: string, look: () => Promise<boolean>) =>
    until(what, 40_000, async () => (await look()) || undefined);

  it("number a table as Liqo does", () => {
    expect(tableNumber(TABLE)).to.be.within(256, 2 ** 31 - 1);
    expect(tableNumber("a")).to.equal(Buffer.from([0xca, 0x97 | 1, 0x81, 0x12 >> 1]).readUInt32LE());
  });

  it("are carried out, told of, changed in place, and leave what others have alone", async () => {
    const route = { dst: "192.0.2.0/24", gw: "10.9.0.2", dev: "eth0" };
    await apply({ table: { name: TABLE, rules: [{ dst: "192.0.2.0/24", fwmark: 7, routes: [route] }] } });
    const [told] = await condition(RouteConfigurationResource, "partner", applied);
    expect(told).to.include({ type: "Applied", host: "fabric-1" });
    expect(await hostRoutes()).to.equal("192.0.2.0/24 via 10.9.0.2 dev eth0 proto 77 \n");
    expect(await hostRules()).to.contain(
      `479:	from all to 192.0.2.0/24 fwmark 0x7 lookup ${tableNumber(TABLE)} proto 77`,
    );
    const changed = { dst: "198.51.100.1/32", gw: "203.0.113.1", dev: "eth0", onlink: true };
    const rule = { src: "10.0.0.0/8", iif: "not-there", priority: 300, routes: [changed] };
    await apply({ table: { name: TABLE, rules: [rule] } });
    await eventually("the changed route", async () =>
      (await hostRoutes()).startsWith("198.51.100.1 via 203.0.113.1 dev eth0 proto 77 onlink"),
    );
    await eventually("the changed rule", async () => {
      const text = await hostRules();
      return !text.includes("fwmark") && text.includes("300:	from 10.0.0.0/8 iif not-there [detached]");
    });
    expect(await hostRoutes()).to.not.contain("192.0.2.0/24");
    expect(await host.sh("ip route show table 999")).to.contain("192.0.2.0/24");
    expect(await hostRules()).to.contain("600:	from 10.1.0.0/16 lookup 999");
  });

  it("say what stands in the way, and are carried out once it is gone", async () => {
    const route = { dst: "192.0.2.0/24", dev: "later" };
    await apply({ table: { name: TABLE, rules: [{ dst: "192.0.2.0/24", routes: [route] }] } });
    const [told] = await condition(RouteConfigurationResource, "partner", ([first]) => first?.status === "False");
    expect(told?.message).to.contain("later");
    await host.sh("ip link add later type bridge && ip link set later up");
    await condition(RouteConfigurationResource, "partner", applied);
  });

  it("translate and filter real packets", async () => {
    await applyFirewall("partner", {
      name: '1 partner\'s "table"',
      family: "IPV4",
      chains: [
        {
          name: "drop",
          type: "nat",
          hook: "output",
          policy: "accept",
          priority: -100,
          rules: {
            natRules: [
              {
                name: "prefix",
                natType: "dnat",
                to: "10.8.1.0/24",
                match: [{ op: "eq", ip: { value: "10.77.1.0/24", position: "dst" } }],
              },
            ],
          },
        },
        {
          name: "guard",
          type: "filter",
          hook: "output",
          policy: "accept",
          priority: 0,
          rules: {
            filterRules: [
              {
                name: "no UDP",
                action: "drop",
                counter: true,
                match: [
                  { op: "eq", proto: { value: "udp" } },
                  { op: "eq", port: { value: "8000-8100", position: "dst" }, dev: { value: "eth0", position: "out" } },
                  { op: "neq", ip: { value: "10.9.0.200-10.9.0.210", position: "dst" } },
                ],
              },
            ],
          },
        },
      ],
    });
    await condition(FirewallConfigurationResource, "partner", applied);
    expect(await call(host, "tcp", "10.77.1.7", PORT)).to.equal("10.9.0.1 5");
    expect(await call(host, "udp", "10.9.0.2", PORT, 5, SILENCE_MS)).to.equal("timeout");
    expect(await ruleset()).to.match(/counter packets [1-9]\d* bytes \d+ drop comment "no UDP"/);
  });

  it("are mended when somebody takes them off", async () => {
    await host.sh("nft 'delete table ip others'; ip rule flush; ip rule add lookup main; nft flush ruleset");
    await host.sh(FOREIGN.replace("ip route add", "ip route replace"));
    rules.trigger();
    await eventually("the table", async () => (await ruleset()).includes("no UDP"));
    await eventually("the rule", async () => (await hostRules()).includes("proto 77"));
    expect(await call(host, "tcp", "10.77.1.7", PORT)).to.equal("10.9.0.1 5");
  });

  it("never take a table that is not theirs, nor one another's", async () => {
    for (const [name, family] of [
      ["others", "IPV4"],
      ["liqo", "IPV4"],
      ["liqo", "NETDEV"],
      ['1 partner\'s "table"', "IPV4"],
    ] as const) {
      await applyFirewall("second", { name, family, chains: [] });
      const [told] = await condition(FirewallConfigurationResource, "second", ([first]) => first?.status === "False");
      expect(told?.message).to.match(/is not ours|agent's own table|that of FirewallConfiguration default\/partner/);
      await client.delete(FirewallConfigurationResource, { name: "second", namespace: NAMESPACE });
    }
    expect(await ruleset()).to.match(/chain keep \{\s+counter packets \d+ bytes \d+ drop/);
  });

  it("go where the labels no longer mean the host, with what it has said", async () => {
    await client.mergePatch(
      FirewallConfigurationResource,
      { name: "partner", namespace: NAMESPACE },
      { metadata: { labels: { [Labels.firewallUnique]: "n2" } } },
    );
    await condition(FirewallConfigurationResource, "partner", (conditions) => conditions.length === 0);
    expect(await ruleset()).to.not.contain("no UDP");
    expect(await call(host, "udp", "10.9.0.2", PORT)).to.equal("10.9.0.1 5");
  });

  it("stay while nobody watches, and go once a host is back that was down when they were deleted", async () => {
    await rules.stop();
    expect(await hostRules()).to.contain("proto 77");
    await client.delete(RouteConfigurationResource, { name: "partner", namespace: NAMESPACE });
    await applyFirewall("partner", { name: "kept", family: "INET", chains: [] }, { ...NODE_FIREWALL });
    rules = start("fabric-2");
    const conditions = await condition(FirewallConfigurationResource, "partner", applied);
    expect(conditions.map(({ host: name }) => name)).to.deep.equal(["fabric-2"]);
    await eventually("no rule of the deleted one", async () => !(await hostRules()).includes("proto 77"));
    expect(await hostRoutes()).to.equal("");
    await client.delete(FirewallConfigurationResource, { name: "partner", namespace: NAMESPACE });
    await eventually("no table of the deleted one", async () => !(await ruleset()).includes("kept"));
    expect(await ruleset()).to.contain("table ip others");
  });

  it("close a gateway's short way before they are carried out, and it opens when they have gone", async () => {
    const gateway = await Namespace.create("gateway");
    await gateway.sh(
      `for l in liqo.n1 ${GATEWAY_STATE.tunnel.device}; do ip link add $l type veth peer name p.$l; done`,
    );
    const { run } = gateway;
    const logger = quiet();
    const more = { hostName: "gw", owner: "t-gw", defaultPriority: 99, makeWay: () => fastPath.remove() };
    const ofGateway = new HostRules({ client, run, logger, host: { node: "n1", remoteClusterID: "peer" }, ...more });
    const fastPath: FastPathTable = new FastPathTable(run, () => ofGateway.isUnused, logger);
    const isOpen = async (): Promise<boolean> => {
      await fastPath.apply(GATEWAY_STATE);
      return (await gateway.sh("nft list tables")).includes("table netdev liqo");
    };
    expect(await isOpen()).to.equal(false); // Nothing is known yet.
    ofGateway.start();
    await eventually("the short way", isOpen);
    const labels = { [Labels.firewallCategory]: RuleCategory.gateway, [Labels.firewallUnique]: "peer" };
    await applyFirewall("of-gateway", { name: "own", family: "INET", chains: [] }, labels);
    await eventually("the rules", async () => (await gateway.sh("nft list tables")).includes("table inet own"));
    expect(await gateway.sh("nft list tables")).to.equal("table inet own\n");
    expect(await isOpen()).to.equal(false);
    await client.delete(FirewallConfigurationResource, { name: "of-gateway", namespace: NAMESPACE });
    await eventually("the short way once more", isOpen);
    await ofGateway.stop();
  });
});
